#include "jit/built_in/linalg/cholesky.hpp"

#include <cmath>

#include "jit/built_in/linalg/planes.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_cholesky(const CallSpec& spec, std::span<const Meta> operands) {
  check_matrices(spec, operands, 1, true);
  return {CallOutput::like(0, operands[0], operands[0].dtype)};
}

/// Factorises row by row, as in textbooks.
template <class T>
void factor(const CallRun& r) {
  const Shape& shape = r.operands[0].shape;
  const int64_t n = shape.back(), matrices = n ? numel(shape) / (n * n) : 0;
  for (int64_t m = 0; m < matrices; ++m) {
    const T* const x = reinterpret_cast<const T*>(r.in[0]) + m * n * n;
    std::vector<T> l(static_cast<size_t>(n * n), T{0});
    const auto at = [&](int64_t i, int64_t j) -> T& { return l[static_cast<size_t>(i * n + j)]; };
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        T sum = x[i * n + j];
        for (int64_t k = 0; k < j; ++k) sum -= times(at(i, k), conjugate(at(j, k)));
        if (i != j) at(i, j) = sum / real_part(at(j, j));
        else if (real_part(sum) > 0) at(i, i) = std::sqrt(real_part(sum));
        else not_positive_definite(r, m, i + 1);
      }
    if (r.out[0])
      std::memcpy(r.out[0] + m * n * n * static_cast<int64_t>(sizeof(T)), l.data(), l.size() * sizeof(T));
  }
}

void run_cholesky(const CallRun& r) {
  by_dtype(r, [&](auto zero) { factor<decltype(zero)>(r); });
}

}  // namespace

void not_positive_definite(const CallRun& r, int64_t index, int64_t order) {
  fail_for(
      r, index,
      "is not positive definite (its leading minor of order " + std::to_string(order) + " is not positive)");
}

constinit const CallDefinition kCholesky{.name = "cholesky",
                                         .infer = infer_planes,
                                         .run = run_whole<run_cholesky>,
                                         .in_place = over_operand<0>,
                                         .infer_complex = infer_cholesky};

}  // namespace lazy::jit::calls
