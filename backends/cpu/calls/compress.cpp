// Keeps what a mask selects: without a branch that depends on the mask, by several threads where it is long.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/backend/backend.hpp"
#include "jit/built_in/compress.hpp"

namespace lazy::cpu_backend {
namespace {

using jit::CallRun;

constexpr int64_t kBlock = 64;  // elements of the mask whose results are stored without a look at the end
constexpr double kNanoseconds = 0.6;  // for an element of the mask, once its line is in the cache

/// Holds a part of the mask, and the part of the output that is its.
struct Share {
  const uint8_t* mask;
  int64_t first, last;  // elements of the mask
  int64_t begin, end;   // elements of the output
};

int64_t count(const uint8_t* mask, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += mask[i] != 0;
  return sum;
}

/// Stores value(i) for each i that is selected, in order.
template <class T, class F>
void store_selected(const Share& s, T* out, F value) {
  int64_t k = s.begin, i = s.first;
  for (; i + kBlock <= s.last && k + kBlock <= s.end; i += kBlock)
    for (int64_t j = i; j < i + kBlock; ++j) {
      out[k] = value(j);
      k += s.mask[j] != 0;
    }
  for (; i < s.last && k < s.end; ++i)
    if (s.mask[i]) out[k++] = value(i);
}

template <class T>
void copy_selected(const Share& s, char* out, const char* in) {
  const T* const from = reinterpret_cast<const T*>(in);
  store_selected(s, reinterpret_cast<T*>(out), [from](int64_t i) { return from[i]; });
}

void copy_rows(const Share& s, char* out, const char* in, size_t bytes) {
  int64_t k = s.begin;
  for (int64_t i = s.first; bytes && i < s.last && k < s.end; ++i)
    if (s.mask[i])
      std::memcpy(out + static_cast<size_t>(k++) * bytes, in + static_cast<size_t>(i) * bytes, bytes);
}

class CpuCompress final : public jit::CallKernel {
 public:
  void run(const CallRun& r) const override {
    if (!r.out[0] || numel(r.outputs[0].shape) == 0) return;
    const auto* const mask = reinterpret_cast<const uint8_t*>(r.in[0]);
    const int64_t n = r.operands[0].shape[0], total = r.outputs[0].shape[0];
    const auto copied =
        static_cast<double>(numel(r.outputs[0].shape)) * static_cast<double>(size_of(r.outputs[0].dtype));
    const double cost = static_cast<double>(n) * kNanoseconds + copied / kBytesInNanosecond;
    const int64_t pieces = worth_threads(cost) ? std::min<int64_t>(thread_count(), n) : 1;
    if (pieces == 1) return copy(r, {mask, 0, n, 0, total});
    std::vector<int64_t> before(static_cast<size_t>(pieces) + 1, 0);  // the mask's elements of earlier pieces
    const auto edge = [&](int64_t p) { return n / pieces * p + std::min(p, n % pieces); };
    r.backend.for_each(pieces, [&](int64_t p) {
      before[static_cast<size_t>(p) + 1] = count(mask + edge(p), edge(p + 1) - edge(p));
    });
    for (size_t p = 1; p < before.size(); ++p) before[p] = std::min(before[p] + before[p - 1], total);
    r.backend.for_each(pieces, [&](int64_t p) {
      const auto at = static_cast<size_t>(p);
      copy(r, {mask, edge(p), edge(p + 1), before[at], before[at + 1]});
    });
  }
  std::string schedule() const override { return "selects"; }

 private:
  static constexpr double kBytesInNanosecond = 10;  // bytes per nanosecond, of rows that are copied

  static void copy(const CallRun& r, const Share& s) {
    if (r.operands.size() == 2)
      return store_selected(s, reinterpret_cast<int64_t*>(r.out[0]), [](int64_t i) { return i; });
    size_t bytes = size_of(r.outputs[0].dtype);
    for (int i = 1; i < r.outputs[0].shape.size(); ++i) bytes *= static_cast<size_t>(r.outputs[0].shape[i]);
    switch (bytes) {
      case 1: return copy_selected<uint8_t>(s, r.out[0], r.in[2]);
      case 2: return copy_selected<uint16_t>(s, r.out[0], r.in[2]);
      case 4: return copy_selected<uint32_t>(s, r.out[0], r.in[2]);
      case 8: return copy_selected<uint64_t>(s, r.out[0], r.in[2]);
      default: return copy_rows(s, r.out[0], r.in[2], bytes);
    }
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_compress() { return std::make_unique<CpuCompress>(); }

}  // namespace lazy::cpu_backend
