// Factors and solves: small matrices by plain loops, larger ones by blocks, triangular ones by LAPACK.
#include <limits>

#include "backends/cpu/calls/linalg/linalg.hpp"
#include "backends/cpu/calls/linalg/lu_blocks.hpp"
#include "backends/cpu/calls/linalg/matrices.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/solve_triangular.hpp"

namespace lazy::cpu_backend {
namespace {

using namespace jit::calls;
using jit::CallRun;

constexpr int64_t kSmall = 16;  // rows

double cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

/// Factors a row-major matrix in place; returns the place of a 0 on U's diagonal.
template <class T>
int64_t factor(T* a, int64_t m, int64_t n, int32_t* pivots, const EachPiece& each) {
  return std::min(m, n) <= kSmall ? factor_lu(a, m, n, pivots) : factor_lu_by_blocks(a, m, n, pivots, each);
}

/// Solves in place for right-hand sides that are rows, by factors. `columns` has room for them.
template <class T>
void substitute_rows(const T* a, int64_t n, const int32_t* pivots, T* x, int64_t count, T* columns,
                     const EachPiece& each) {
  if (n <= kSmall) {
    for (int64_t i = 0; i < count; ++i) substitute_lu(a, n, pivots, x + i * n);
  } else if (count == 1) {
    solve_lu_by_blocks(a, n, pivots, x, 1, each);
  } else {
    transpose(x, count, n, columns);
    solve_lu_by_blocks(a, n, pivots, columns, count, each);
    transpose(columns, n, count, x);
  }
}

struct Lu {
  static constexpr const char* kSchedule = "blocks of columns";

  template <class T>
  static void all(const CallRun& r) {
    const Batch b(r.operands[0].shape);
    const int64_t k = std::min(b.rows, b.columns);
    const EachPiece each = each_of(r, b.count);
    share_matrices(r, b.count, cube(k) + 100, [&](int64_t first, int64_t last) {
      const auto a = scratch<T>(b.size());
      const auto pivots = scratch<int32_t>(k);
      for (int64_t m = first; m < last; ++m) {
        std::copy_n(input<T>(r, 0) + m * b.size(), b.size(), a.get());
        factor(a.get(), b.rows, b.columns, pivots.get(), each);
        if (r.out[0]) transpose(a.get(), b.rows, b.columns, output<T>(r, 0) + m * b.size());
        if (r.out[1]) std::copy_n(pivots.get(), k, output<int32_t>(r, 1) + m * k);
        if (r.out[2]) order_of(pivots.get(), k, b.rows, output<int64_t>(r, 2) + m * b.rows);
      }
    });
  }
};

/// Copies elements unless they are there already.
template <class T>
void take(const T* from, T* to, int64_t count) {
  if (from != to) std::copy_n(from, count, to);
}

struct Solve {
  static constexpr const char* kSchedule = "blocks of columns";

  template <class T>
  static void all(const CallRun& r) {
    const Batch a(r.operands[0].shape), b(r.operands[1].shape);
    const int64_t n = a.rows;
    if (!r.out[0] || n == 0) return;
    Outcomes singular(a.count);
    const EachPiece each = each_of(r, a.count);
    const double flops = cube(n) * 2 / 3 + 2 * static_cast<double>(n) * static_cast<double>(b.size()) + 100;
    const bool infinite = (r.spec.as<MatrixAttributes>().flags & kInfinite) != 0;
    share_matrices(r, a.count, flops, [&](int64_t first, int64_t last) {
      const auto lu = scratch<T>(n * n), columns = scratch<T>(n > kSmall && b.rows > 1 ? b.size() : 0);
      const auto pivots = scratch<int32_t>(n);
      for (int64_t m = first; m < last; ++m) {
        T* const x = output<T>(r, 0) + m * b.size();
        take(input<T>(r, 1) + m * b.size(), x, b.size());
        std::copy_n(input<T>(r, 0) + m * n * n, n * n, lu.get());
        const int64_t order = factor(lu.get(), n, n, pivots.get(), each);
        if (!order) substitute_rows(lu.get(), n, pivots.get(), x, b.rows, columns.get(), each);
        else if (infinite) std::fill_n(x, b.size(), T{std::numeric_limits<RealOf<T>>::infinity()});
        else singular[m] = static_cast<int>(order);
      }
    });
    singular.tell([&](int64_t m, int order) { fail_singular(r, m, order); });
  }
};

struct LuSolve {
  static constexpr const char* kSchedule = "blocks of columns";

  template <class T>
  static void all(const CallRun& r) {
    const Batch a(r.operands[0].shape), b(r.operands[2].shape);
    const int64_t n = a.rows;
    if (!r.out[0] || n == 0) return;
    for (int64_t m = 0; m < a.count; ++m)
      check_factors(r, m, input<T>(r, 0) + m * n * n, input<int32_t>(r, 1) + m * n, n);
    const EachPiece each = each_of(r, a.count);
    const double flops = 2 * static_cast<double>(n) * static_cast<double>(b.size()) + 100;
    share_matrices(r, a.count, flops, [&](int64_t first, int64_t last) {
      const auto lu = scratch<T>(n * n), columns = scratch<T>(b.size());
      for (int64_t m = first; m < last; ++m) {
        T* const x = output<T>(r, 0) + m * b.size();
        take(input<T>(r, 2) + m * b.size(), x, b.size());
        transpose(input<T>(r, 0) + m * n * n, n, n, lu.get());
        substitute_rows(lu.get(), n, input<int32_t>(r, 1) + m * n, x, b.rows, columns.get(), each);
      }
    });
  }
};

/// Column-major, the operand is its transpose: its upper triangle is the lower one.
struct Triangular {
  static constexpr const char* kSchedule = "LAPACKE_xtrtrs";

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
    share_with_library(r, a.count, flops, [&](int64_t first, int64_t last) {
      for (int64_t m = first; m < last; ++m) {
        const T* const matrix = input<T>(r, 0) + m * n * n;
        T* const x = output<T>(r, 0) + m * b.size();
        take(input<T>(r, 1) + m * b.size(), x, b.size());
        if (n <= kSmall) {
          singular[m] = static_cast<int>(zero_on_diagonal(matrix, n, flags));
          for (int64_t i = 0; !singular[m] && i < b.rows; ++i) substitute(matrix, n, flags, x + i * n);
        } else if (b.rows) {
          singular[m] = library.trtrs(uplo, trans, diagonal, i32(n), i32(b.rows), matrix, i32(n), x, i32(n));
        }
      }
    });
    singular.tell([&](int64_t m, int order) { fail_triangular(r, m, order); });
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_lu() { return std::make_unique<MatrixCall<Lu>>(); }
std::unique_ptr<jit::CallKernel> make_lu_solve() { return std::make_unique<MatrixCall<LuSolve>>(); }
std::unique_ptr<jit::CallKernel> make_solve() { return std::make_unique<MatrixCall<Solve>>(); }
std::unique_ptr<jit::CallKernel> make_solve_triangular() {
  return std::make_unique<LapackCall<Triangular>>();
}

}  // namespace lazy::cpu_backend
