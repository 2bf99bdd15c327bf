// Computes Cholesky by LAPACK: row-major lower is column-major upper. Matrices of a batch are shared among
// threads.
#include "jit/calls/cholesky.hpp"

#include <algorithm>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/calls/lapack.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cpu_backend {
namespace {

using jit::CallRun;

constexpr double kWorthAThread = 50000;  // multiplications

template <class T, class Potrf>
int factor(Potrf potrf, const T* from, T* to, int64_t n) {
  if (from != to) std::copy_n(from, n * n, to);
  const int info = potrf(Lapack::kColumnMajor, 'U', static_cast<int32_t>(n), to, static_cast<int32_t>(n));
  for (int64_t i = 0; i < n; ++i) std::fill(to + i * n + i + 1, to + (i + 1) * n, T{0});
  return info;
}

template <class T, class Potrf>
void factor_all(const CallRun& r, Potrf potrf) {
  const jit::Meta& x = r.operands[0];
  const int64_t n = x.shape.back(), matrices = n ? numel(x.shape) / (n * n) : 0;
  if (matrices == 0 || !r.out[0]) return;
  const auto* const in = reinterpret_cast<const T*>(r.in[0]);
  auto* const out = reinterpret_cast<T*>(r.out[0]);
  const auto work = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / 6;
  const auto worth = static_cast<int64_t>(1 + static_cast<double>(matrices) * work / kWorthAThread);
  const int64_t pieces = std::min({matrices, worth, int64_t{thread_count()}});
  auto* const failed = reinterpret_cast<int*>(r.workspace);  // by matrix: order of the bad minor, or 0
  const auto share = [&](int64_t p) {
    for (int64_t m = matrices * p / pieces; m < matrices * (p + 1) / pieces; ++m)
      failed[m] = factor(potrf, in + m * n * n, out + m * n * n, n);
  };
  if (pieces == 1) share(0);
  else r.backend.for_each(pieces, share);
  for (int64_t m = 0; m < matrices; ++m)
    if (failed[m]) jit::calls::not_positive_definite(r, m, failed[m]);
}

class CpuCholesky final : public jit::CallKernel {
 public:
  size_t workspace(std::span<const jit::Meta> operands, std::span<const jit::Meta>) const override {
    const Shape& s = operands[0].shape;
    const int64_t n = s.back();
    return n ? static_cast<size_t>(numel(s) / (n * n)) * sizeof(int) : 0;
  }
  void run(const CallRun& r) const override {
    const Lapack& library = lapack("cholesky", r.site);
    if (r.operands[0].dtype == DType::float32) factor_all<float>(r, library.spotrf);
    else factor_all<double>(r, library.dpotrf);
  }
  std::string schedule() const override { return "LAPACKE_xpotrf"; }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_cholesky() { return std::make_unique<CpuCholesky>(); }

}  // namespace lazy::cpu_backend
