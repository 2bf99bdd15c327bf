#include "jit/built_in/linalg/lu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/built_in/linalg/planes.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_lu(const CallSpec& spec, std::span<const Meta> operands) {
  check_matrices(spec, operands, 1, false);
  const Batch b(operands[0].shape);
  const int64_t k = std::min(b.rows, b.columns);
  return {batched(operands, operands[0].dtype, {{b.columns, 0, 1}, {b.rows, 0, 2}}),
          batched(operands, DType::int32, {{k}}), batched(operands, DType::int64, {{b.rows, 0, 2}})};
}

std::vector<CallOutput> infer_solve(const CallSpec& spec, std::span<const Meta> operands) {
  check_matrices(spec, operands, 2, true);
  const Batch a(operands[0].shape), b(operands[1].shape);
  if (a.columns != b.columns)
    throw ShapeError("solve: a right-hand side has " + std::to_string(b.columns) + " elements, the matrix " +
                     std::to_string(a.rows) + " rows");
  return {CallOutput::like(1, operands[1], operands[1].dtype)};
}

std::vector<CallOutput> infer_lu_solve(const CallSpec& spec, std::span<const Meta> operands) {
  if (operands.size() != 3) throw ShapeError("lu_solve: three operands are needed");
  const Meta both[] = {operands[0], operands[2]};
  check_matrices(spec, both, 2, true);
  const Shape& a = operands[0].shape;
  const Meta& p = operands[1];
  if (p.dtype != DType::int32) throw DtypeError("lu_solve: pivots of int32 are needed");
  if (p.shape.size() != a.size() - 1 || !std::equal(p.shape.begin(), p.shape.end(), a.begin()))
    throw ShapeError("lu_solve: the pivots' shape is " + to_string(p.shape) + ", the factors' " +
                     to_string(a));
  if (operands[2].shape.back() != a.back())
    throw ShapeError("lu_solve: a right-hand side does not have as many elements as the matrix has rows");
  return {CallOutput::like(2, operands[2], operands[2].dtype)};
}

template <class T>
void lu_all(const CallRun& r) {
  const Batch b(r.operands[0].shape);
  const int64_t k = std::min(b.rows, b.columns);
  std::vector<T> a(static_cast<size_t>(b.size()));
  std::vector<int32_t> pivots(static_cast<size_t>(k));
  for (int64_t m = 0; m < b.count; ++m) {
    std::copy_n(input<T>(r, 0) + m * b.size(), b.size(), a.begin());
    factor_lu(a.data(), b.rows, b.columns, pivots.data());
    if (r.out[0]) transpose(a.data(), b.rows, b.columns, output<T>(r, 0) + m * b.size());
    if (r.out[1]) std::copy(pivots.begin(), pivots.end(), output<int32_t>(r, 1) + m * k);
    if (r.out[2]) order_of(pivots.data(), k, b.rows, output<int64_t>(r, 2) + m * b.rows);
  }
}

/// Solves for each right-hand side of matrix m, whose factors are `a`; `of_b` is the operand that has them.
template <class T>
void solve_rows(const CallRun& r, int of_b, int64_t m, const T* a, const int32_t* pivots) {
  const Batch b(r.operands[static_cast<size_t>(of_b)].shape);
  const T* const from = input<T>(r, of_b) + m * b.size();
  T* const to = output<T>(r, 0) + m * b.size();
  if (from != to) std::copy_n(from, b.size(), to);
  for (int64_t i = 0; i < b.rows; ++i) substitute_lu(a, b.columns, pivots, to + i * b.columns);
}

template <class T>
void solve_all(const CallRun& r) {
  const Batch a(r.operands[0].shape), b(r.operands[1].shape);
  std::vector<T> lu(static_cast<size_t>(a.size()));
  std::vector<int32_t> pivots(static_cast<size_t>(a.rows));
  for (int64_t m = 0; m < a.count; ++m) {
    std::copy_n(input<T>(r, 0) + m * a.size(), a.size(), lu.begin());
    if (const int64_t order = factor_lu(lu.data(), a.rows, a.rows, pivots.data())) {
      if (!(r.spec.as<MatrixAttributes>().flags & kInfinite)) fail_singular(r, m, order);
      std::fill_n(output<T>(r, 0) + m * b.size(), b.size(), T{std::numeric_limits<RealOf<T>>::infinity()});
    } else {
      solve_rows(r, 1, m, lu.data(), pivots.data());
    }
  }
}

template <class T>
void lu_solve_all(const CallRun& r) {
  const Batch a(r.operands[0].shape);
  const int64_t n = a.rows;
  std::vector<T> lu(static_cast<size_t>(a.size()));
  for (int64_t m = 0; m < a.count; ++m) {
    transpose(input<T>(r, 0) + m * a.size(), n, n, lu.data());
    check_factors(r, m, lu.data(), input<int32_t>(r, 1) + m * n, n);
    solve_rows(r, 2, m, lu.data(), input<int32_t>(r, 1) + m * n);
  }
}

/// Calls the function for the dtype unless there is nothing to compute.
void run_lu(const CallRun& r) {
  by_dtype(r, [&](auto zero) { lu_all<decltype(zero)>(r); });
}
void run_solve(const CallRun& r) {
  if (!r.out[0]) return;
  by_dtype(r, [&](auto zero) { solve_all<decltype(zero)>(r); });
}
void run_lu_solve(const CallRun& r) {
  if (!r.out[0]) return;
  by_dtype(r, [&](auto zero) { lu_solve_all<decltype(zero)>(r); });
}

}  // namespace

template <class T>
void check_factors(const CallRun& r, int64_t m, const T* a, const int32_t* pivots, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (a[i * n + i] == T{0}) fail_singular(r, m, i + 1);
    if (pivots[i] < 1 || pivots[i] > n)
      fail_for(r, m,
               "has pivot " + std::to_string(pivots[i]) + ", which is not in [1, " + std::to_string(n) + "]");
  }
}

template <class T>
int64_t factor_lu(T* a, int64_t m, int64_t n, int32_t* pivots) {
  int64_t singular = 0;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    int64_t p = j;
    RealOf<T> most = magnitude(a[j * n + j]);
    for (int64_t i = j + 1; i < m; ++i)
      if (const RealOf<T> v = magnitude(a[i * n + j]); v > most) most = v, p = i;
    pivots[j] = static_cast<int32_t>(p + 1);
    if (most == 0) {
      if (!singular) singular = j + 1;
      continue;
    }
    if (p != j) std::swap_ranges(a + p * n, a + (p + 1) * n, a + j * n);
    const T* const row = a + j * n;
    for (int64_t i = j + 1; i < m; ++i) {
      T* const to = a + i * n;
      const T l = to[j] / row[j];
      to[j] = l;
      for (int64_t c = j + 1; c < n; ++c) to[c] -= times(l, row[c]);
    }
  }
  return singular;
}

template <class T>
void substitute_lu(const T* a, int64_t n, const int32_t* pivots, T* x) {
  for (int64_t i = 0; i < n; ++i) std::swap(x[i], x[pivots[i] - 1]);
  for (int64_t i = 1; i < n; ++i) {
    T sum = x[i];
    for (int64_t j = 0; j < i; ++j) sum -= times(a[i * n + j], x[j]);
    x[i] = sum;
  }
  for (int64_t i = n; i-- > 0;) {
    T sum = x[i];
    for (int64_t j = i + 1; j < n; ++j) sum -= times(a[i * n + j], x[j]);
    x[i] = sum / a[i * n + i];
  }
}

void order_of(const int32_t* pivots, int64_t count, int64_t rows, int64_t* order) {
  for (int64_t i = 0; i < rows; ++i) order[i] = i;
  for (int64_t i = 0; i < count; ++i) std::swap(order[i], order[pivots[i] - 1]);
}

#define LAZY_LU(T)                                                    \
  template int64_t factor_lu(T*, int64_t, int64_t, int32_t*);         \
  template void substitute_lu(const T*, int64_t, const int32_t*, T*); \
  template void check_factors(const CallRun&, int64_t, const T*, const int32_t*, int64_t);
LAZY_LU(float)
LAZY_LU(double)
LAZY_LU(std::complex<float>)
LAZY_LU(std::complex<double>)
#undef LAZY_LU

using namespace call_trait;
constinit const CallDefinition kLu{.name = "lu",
                                   .traits = kNotUnique,
                                   .infer = infer_planes,
                                   .run = run_whole<run_lu>,
                                   .infer_complex = infer_lu};
constinit const CallDefinition kLuSolve{.name = "lu_solve",
                                        .traits = kNotUnique,
                                        .infer = infer_planes,
                                        .run = run_whole<run_lu_solve>,
                                        .in_place = over_operand<2>,
                                        .infer_complex = infer_lu_solve};
constinit const CallDefinition kSolve{.name = "solve",
                                      .traits = kNotUnique,
                                      .infer = infer_planes,
                                      .run = run_whole<run_solve>,
                                      .in_place = over_operand<1>,
                                      .infer_complex = infer_solve};

}  // namespace lazy::jit::calls
