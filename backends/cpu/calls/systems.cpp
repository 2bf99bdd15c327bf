// Factors and solves by LAPACK. Small matrices are factored by plain loops, which take less time than the
// library needs to begin.
#include <limits>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/calls/matrices.hpp"
#include "jit/calls/lu.hpp"
#include "jit/calls/solve_triangular.hpp"

namespace lazy::cpu_backend {
namespace {

using namespace jit::calls;
using jit::CallRun;

constexpr int64_t kSmall = 16;  // rows

double cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }
int32_t i32(int64_t n) { return static_cast<int32_t>(n); }

/// The factors' memory is what LAPACK makes of the operand's transpose.
struct Lu {
  static constexpr const char* kSchedule = "LAPACKE_xgetrf";
  static const char* name(const CallRun& r) { return asked(r); }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    const Batch b(r.operands[0].shape);
    const int64_t k = std::min(b.rows, b.columns);
    share_matrices(r, b.count, cube(k), [&](int64_t first, int64_t last) {
      const auto spare = scratch<T>(r.out[0] ? 0 : b.size());
      const auto pivots = scratch<int32_t>(k);
      for (int64_t m = first; m < last; ++m) {
        T* const a = r.out[0] ? output<T>(r, 0) + m * b.size() : spare.get();
        transpose(input<T>(r, 0) + m * b.size(), b.rows, b.columns, a);
        if (k) library.getrf(library.kColumnMajor, i32(b.rows), i32(b.columns), a, i32(b.rows), pivots.get());
        if (r.out[1]) std::copy_n(pivots.get(), k, output<int32_t>(r, 1) + m * k);
        if (r.out[2]) order_of(pivots.get(), k, b.rows, output<int64_t>(r, 2) + m * b.rows);
      }
    });
  }
};

template <class T>
const T* taken(const T* from, T* to, int64_t count) {
  if (from != to) std::copy_n(from, count, to);
  return to;
}

struct Solve {
  static constexpr const char* kSchedule = "LAPACKE_xgetrf, LAPACKE_xgetrs";
  static const char* name(const CallRun& r) { return asked(r); }

  /// Factors and solves one matrix, in scratch memory; returns the place of a 0 on U's diagonal.
  template <class T>
  static int64_t one(const Lapack<T>& library, const T* from, int64_t n, int64_t count, T* a, int32_t* pivots,
                     T* x) {
    if (n <= kSmall) {
      std::copy_n(from, n * n, a);
      const int64_t order = factor_lu(a, n, n, pivots);
      for (int64_t i = 0; !order && i < count; ++i) substitute_lu(a, n, pivots, x + i * n);
      return order;
    }
    transpose(from, n, n, a);
    const int64_t order = library.getrf(library.kColumnMajor, i32(n), i32(n), a, i32(n), pivots);
    if (!order && count)
      library.getrs(library.kColumnMajor, 'N', i32(n), i32(count), a, i32(n), pivots, x, i32(n));
    return order;
  }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    const Batch a(r.operands[0].shape), b(r.operands[1].shape);
    const int64_t n = a.rows;
    if (!r.out[0] || n == 0) return;
    Outcomes singular(a.count);
    const double flops = cube(n) * 2 / 3 + 2 * static_cast<double>(n) * static_cast<double>(b.size()) + 100;
    const bool infinite = (r.spec.as<MatrixAttributes>().flags & kInfinite) != 0;
    share_matrices(r, a.count, flops, [&](int64_t first, int64_t last) {
      const auto lu = scratch<T>(n * n);
      const auto pivots = scratch<int32_t>(n);
      for (int64_t m = first; m < last; ++m) {
        T* const x = output<T>(r, 0) + m * b.size();
        taken(input<T>(r, 1) + m * b.size(), x, b.size());
        const int64_t order = one(library, input<T>(r, 0) + m * n * n, n, b.rows, lu.get(), pivots.get(), x);
        if (order && infinite) std::fill_n(x, b.size(), std::numeric_limits<T>::infinity());
        else singular[m] = static_cast<int>(order);
      }
    });
    singular.tell([&](int64_t m, int order) { fail_singular(r, m, order); });
  }
};

struct LuSolve {
  static constexpr const char* kSchedule = "LAPACKE_xgetrs";
  static const char* name(const CallRun& r) { return asked(r); }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    const Batch a(r.operands[0].shape), b(r.operands[2].shape);
    const int64_t n = a.rows;
    if (!r.out[0] || n == 0) return;
    for (int64_t m = 0; m < a.count; ++m)
      check_factors(r, m, input<T>(r, 0) + m * n * n, input<int32_t>(r, 1) + m * n, n);
    const double flops = 2 * static_cast<double>(n) * static_cast<double>(b.size()) + 100;
    share_matrices(r, a.count, flops, [&](int64_t first, int64_t last) {
      for (int64_t m = first; m < last; ++m) {
        T* const x = output<T>(r, 0) + m * b.size();
        taken(input<T>(r, 2) + m * b.size(), x, b.size());
        if (b.rows)
          library.getrs(library.kColumnMajor, 'N', i32(n), i32(b.rows), input<T>(r, 0) + m * n * n, i32(n),
                        input<int32_t>(r, 1) + m * n, x, i32(n));
      }
    });
  }
};

/// Column-major, the operand is its transpose: its upper triangle is the lower one.
struct Triangular {
  static constexpr const char* kSchedule = "LAPACKE_xtrtrs";
  static const char* name(const CallRun& r) { return asked(r); }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    const Batch a(r.operands[0].shape), b(r.operands[1].shape);
    const int64_t n = a.rows;
    const uint32_t flags = r.spec.as<MatrixAttributes>().flags;
    if (!r.out[0] || n == 0) return;
    const char uplo = flags & kUpper ? 'L' : 'U', trans = flags & kTransposed ? 'N' : 'T',
               diagonal = flags & kUnit ? 'U' : 'N';
    Outcomes singular(a.count);
    const double flops = static_cast<double>(n) * static_cast<double>(b.size()) + 100;
    share_matrices(r, a.count, flops, [&](int64_t first, int64_t last) {
      for (int64_t m = first; m < last; ++m) {
        const T* const matrix = input<T>(r, 0) + m * n * n;
        T* const x = output<T>(r, 0) + m * b.size();
        taken(input<T>(r, 1) + m * b.size(), x, b.size());
        if (n <= kSmall) {
          singular[m] = static_cast<int>(zero_on_diagonal(matrix, n, flags));
          for (int64_t i = 0; !singular[m] && i < b.rows; ++i) substitute(matrix, n, flags, x + i * n);
        } else if (b.rows) {
          singular[m] = library.trtrs(library.kColumnMajor, uplo, trans, diagonal, i32(n), i32(b.rows),
                                      matrix, i32(n), x, i32(n));
        }
      }
    });
    singular.tell([&](int64_t m, int order) { fail_triangular(r, m, order); });
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_lu() { return std::make_unique<LapackCall<Lu>>(); }
std::unique_ptr<jit::CallKernel> make_lu_solve() { return std::make_unique<LapackCall<LuSolve>>(); }
std::unique_ptr<jit::CallKernel> make_solve() { return std::make_unique<LapackCall<Solve>>(); }
std::unique_ptr<jit::CallKernel> make_solve_triangular() {
  return std::make_unique<LapackCall<Triangular>>();
}

}  // namespace lazy::cpu_backend
