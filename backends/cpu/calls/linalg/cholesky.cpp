// Computes Cholesky's factors by blocks. Matrices of a batch are shared among threads, else a matrix's own
// parts.
#include "jit/built_in/linalg/cholesky.hpp"

#include "backends/cpu/calls/linalg/linalg.hpp"
#include "backends/cpu/calls/linalg/lu_blocks.hpp"
#include "backends/cpu/calls/linalg/matrices.hpp"

namespace lazy::cpu_backend {
namespace {

using namespace jit::calls;
using jit::CallRun;

struct CholeskyWork {
  static constexpr const char* kSchedule = "blocks of columns";

  template <class T>
  static void all(const CallRun& r) {
    const Batch b(r.operands[0].shape);
    const int64_t n = b.rows;
    if (!r.out[0] || n == 0) return;
    const EachPiece each = each_of(r, b.count);
    Outcomes failed(b.count);  // order of the minor that is not positive
    const auto side = static_cast<double>(n);
    share_matrices(r, b.count, side * side * side / 3 + 100, [&](int64_t first, int64_t last) {
      for (int64_t m = first; m < last; ++m) {
        const T* const from = input<T>(r, 0) + m * n * n;
        T* const to = output<T>(r, 0) + m * n * n;
        if (from != to) std::copy_n(from, n * n, to);
        failed[m] = static_cast<int>(factor_cholesky_by_blocks(to, n, each));
        for (int64_t i = 0; i < n; ++i) std::fill(to + i * n + i + 1, to + (i + 1) * n, T{0});
      }
    });
    failed.tell([&](int64_t m, int order) { not_positive_definite(r, m, order); });
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_cholesky() { return std::make_unique<MatrixCall<CholeskyWork>>(); }

}  // namespace lazy::cpu_backend
