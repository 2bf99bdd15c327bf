// Shares the matrices of a batch among threads.
#pragma once
#include <algorithm>
#include <memory>

#include "backends/cpu/calls/linalg/lapack.hpp"
#include "backends/cpu/calls/linalg/lu_blocks.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/backend/backend.hpp"
#include "jit/built_in/linalg/planes.hpp"

namespace lazy::cpu_backend {

/// Returns among how many threads so many matrices are shared.
inline int64_t pieces_of(int64_t matrices, double flops_of_one) {
  constexpr double kWorthAThread = 100000;  // flops
  const double worth = 1 + static_cast<double>(matrices) * flops_of_one / kWorthAThread;
  const int64_t most = std::min(matrices, int64_t{thread_count()});
  return worth < static_cast<double>(most) ? static_cast<int64_t>(worth) : most;
}

/// Calls f(first, last) for ranges that make up all matrices, on several threads if so many flops are worth
/// it.
template <class F>
void share_matrices(const jit::CallRun& r, int64_t matrices, double flops_of_one, F&& f) {
  const int64_t pieces = pieces_of(matrices, flops_of_one);
  if (pieces > 1)
    r.backend.for_each(pieces, [&](int64_t p) { f(matrices * p / pieces, matrices * (p + 1) / pieces); });
  else f(int64_t{0}, matrices);
}

/// Works likewise for an f that calls LAPACK, which stays on the thread that calls it.
template <class F>
void share_with_library(const jit::CallRun& r, int64_t matrices, double flops_of_one, F&& f) {
  const OneLibraryThread one;
  share_matrices(r, matrices, flops_of_one, f);
}

/// Returns how a matrix's own parts are shared: among threads, unless the matrices of the batch are.
inline EachPiece each_of(const jit::CallRun& r, int64_t matrices) {
  if (matrices == 1)
    return [&r](int64_t pieces, const std::function<void(int64_t)>& f) { r.backend.for_each(pieces, f); };
  return [](int64_t pieces, const std::function<void(int64_t)>& f) {
    for (int64_t p = 0; p < pieces; ++p) f(p);
  };
}

/// Holds uninitialised memory for elements, of the allocator's: fresh pages of the system's cost as much as a
/// tenth of a factorisation.
template <class T>
class ScratchOf {
 public:
  explicit ScratchOf(int64_t count)
      : memory_(std::max<int64_t>(count, 1) * static_cast<int64_t>(sizeof(T))) {}
  T* get() const { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](int64_t i) const { return get()[i]; }

 private:
  Scratch memory_;
};
template <class T>
ScratchOf<T> scratch(int64_t count) {
  return ScratchOf<T>(count);
}

/// Holds what LAPACK said of each matrix: 0, or what went wrong.
class Outcomes {
 public:
  explicit Outcomes(int64_t matrices)
      : info_(std::make_unique<int[]>(static_cast<size_t>(matrices))), n_(matrices) {}
  int& operator[](int64_t m) { return info_[static_cast<size_t>(m)]; }
  /// Calls f(index, info) for the first matrix of which something is to be told.
  template <class F>
  void tell(F&& f) const {
    for (int64_t m = 0; m < n_; ++m)
      if (info_[static_cast<size_t>(m)]) return f(m, info_[static_cast<size_t>(m)]);
  }

 private:
  const std::unique_ptr<int[]> info_;
  const int64_t n_;
};

/// Returns the length of the work memory that a query has put into a floating-point number, which may have
/// rounded it down.
template <class T>
int32_t queried(T length) {
  return static_cast<int32_t>(static_cast<double>(jit::calls::real_part(length)) * (1 + 0x1p-22)) + 1;
}

/// Runs Work::all<T>(run) for the dtype, where there is something to compute.
template <class Work>
class MatrixCall final : public jit::CallKernel {
 public:
  void run(const jit::CallRun& r) const override {
    if (!jit::calls::Batch(r.operands[0].shape).count) return;
    jit::calls::on_whole(r, [](const jit::CallRun& whole) {
      jit::calls::by_dtype(whole, [&](auto zero) { Work::template all<decltype(zero)>(whole); });
    });
  }
  std::string schedule() const override { return Work::kSchedule; }
};

/// Runs Work::all<T>(run, functions of LAPACK) for the dtype, where there is something to compute.
template <class Work>
class LapackCall final : public jit::CallKernel {
 public:
  void run(const jit::CallRun& r) const override {
    if (!jit::calls::Batch(r.operands[0].shape).count) return;
    jit::calls::on_whole(r, [](const jit::CallRun& whole) {
      jit::calls::by_dtype(whole, [&](auto zero) {
        using T = decltype(zero);
        Work::template all<T>(whole, lapack<T>(whole.function, whole.site));
      });
    });
  }
  std::string schedule() const override { return Work::kSchedule; }
};

}  // namespace lazy::cpu_backend
