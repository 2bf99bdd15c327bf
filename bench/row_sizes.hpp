// Lists the sizes at which kernels that reduce along rows are measured: from rows of which several fit a few
// vectors to rows larger than a second-level cache's share, about a million elements in all.
#pragma once
#include <cstdint>
#include <string>

namespace bench {

constexpr int64_t kRowColumns[] = {64, 96, 128, 200, 256, 512, 768, 1000, 1024, 4096, 16384, 65536};
constexpr int64_t rows_of(int64_t columns) { return (1 << 20) / columns; }
inline std::string row_size(int64_t columns) {
  return std::to_string(rows_of(columns)) + "x" + std::to_string(columns);
}

/// Calls each of these with the rows and columns of every size at which its kernels are measured.
template <class Softmax, class Norms, class Reductions>
void each_row_size(Softmax softmax, Norms norms, Reductions reductions) {
  softmax(4096, 1024);
  softmax(64, 50257);
  norms(4096, 768);
  reductions(4096, 1024);
  for (const int64_t n : kRowColumns) {
    softmax(rows_of(n), n);
    norms(rows_of(n), n);
    reductions(rows_of(n), n);
  }
}

}  // namespace bench
