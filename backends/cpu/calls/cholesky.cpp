// Computes Cholesky by LAPACK: row-major lower is column-major upper. Matrices of a batch are shared among
// threads.
#include "jit/calls/cholesky.hpp"

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/calls/matrices.hpp"

namespace lazy::cpu_backend {
namespace {

using namespace jit::calls;
using jit::CallRun;

struct Work {
  static constexpr const char* kSchedule = "LAPACKE_xpotrf";
  static const char* name(const CallRun&) { return "cholesky"; }

  template <class T>
  static int factor(const Lapack<T>& library, const T* from, T* to, int64_t n) {
    if (from != to) std::copy_n(from, n * n, to);
    const auto i32 = static_cast<int32_t>(n);
    const int info = library.potrf(library.kColumnMajor, 'U', i32, to, i32);
    for (int64_t i = 0; i < n; ++i) std::fill(to + i * n + i + 1, to + (i + 1) * n, T{0});
    return info;
  }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    const Batch b(r.operands[0].shape);
    const int64_t n = b.rows;
    if (!r.out[0] || n == 0) return;
    Outcomes failed(b.count);  // order of the minor that is not positive
    const auto side = static_cast<double>(n);
    share_with_library(r, b.count, side * side * side / 3, [&](int64_t first, int64_t last) {
      for (int64_t m = first; m < last; ++m)
        failed[m] = factor(library, input<T>(r, 0) + m * n * n, output<T>(r, 0) + m * n * n, n);
    });
    failed.tell([&](int64_t m, int order) { not_positive_definite(r, m, order); });
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_cholesky() { return std::make_unique<LapackCall<Work>>(); }

}  // namespace lazy::cpu_backend
