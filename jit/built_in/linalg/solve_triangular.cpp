#include "jit/built_in/linalg/solve_triangular.hpp"

#include <algorithm>

#include "jit/built_in/linalg/planes.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_solve_triangular(const CallSpec& spec, std::span<const Meta> operands) {
  check_matrices(spec, operands, 2, true);
  if (operands[0].shape.back() != operands[1].shape.back())
    throw ShapeError("solve_triangular: a right-hand side does not have as many elements as the matrix rows");
  return {CallOutput::like(1, operands[1], operands[1].dtype)};
}

template <class T>
void solve_triangular_all(const CallRun& r) {
  const uint32_t flags = r.spec.as<MatrixAttributes>().flags;
  const Batch a(r.operands[0].shape), b(r.operands[1].shape);
  for (int64_t m = 0; m < a.count; ++m) {
    const T* const matrix = input<T>(r, 0) + m * a.size();
    const T* const from = input<T>(r, 1) + m * b.size();
    T* const to = output<T>(r, 0) + m * b.size();
    if (const int64_t order = zero_on_diagonal(matrix, a.rows, flags)) fail_triangular(r, m, order);
    if (from != to) std::copy_n(from, b.size(), to);
    for (int64_t i = 0; i < b.rows; ++i) substitute(matrix, a.rows, flags, to + i * b.columns);
  }
}

void run_solve_triangular(const CallRun& r) {
  if (!r.out[0]) return;
  by_dtype(r, [&](auto zero) { solve_triangular_all<decltype(zero)>(r); });
}

}  // namespace

void fail_triangular(const CallRun& r, int64_t index, int64_t order) {
  const std::string i = std::to_string(order - 1);
  fail_for(r, index, "is singular (it has 0 at [" + i + ", " + i + "])");
}

template <class T>
void substitute(const T* a, int64_t n, uint32_t flags, T* x) {
  const bool transposed = (flags & kTransposed) != 0;
  const int64_t row = transposed ? 1 : n, column = transposed ? n : 1;
  const bool from_end = ((flags & kUpper) != 0) != transposed;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = from_end ? n - 1 - step : step;
    const int64_t begin = from_end ? i + 1 : 0, end = from_end ? n : i;
    T sum = x[i];
    for (int64_t j = begin; j < end; ++j) sum -= times(a[i * row + j * column], x[j]);
    x[i] = flags & kUnit ? sum : sum / a[i * n + i];
  }
}
template void substitute(const float*, int64_t, uint32_t, float*);
template void substitute(const double*, int64_t, uint32_t, double*);
template void substitute(const std::complex<float>*, int64_t, uint32_t, std::complex<float>*);
template void substitute(const std::complex<double>*, int64_t, uint32_t, std::complex<double>*);

constinit const CallDefinition kSolveTriangular{.name = "solve_triangular",
                                                .traits = call_trait::kNotUnique,
                                                .infer = infer_planes,
                                                .run = run_whole<run_solve_triangular>,
                                                .in_place = over_operand<1>,
                                                .infer_complex = infer_solve_triangular};

}  // namespace lazy::jit::calls
