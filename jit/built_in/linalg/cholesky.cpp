#include "jit/built_in/linalg/cholesky.hpp"

#include <cmath>

#include "jit/built_in/linalg/matrices.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_cholesky(const CallSpec&, std::span<const Meta> operands) {
  if (operands.size() != 1) throw ShapeError("cholesky: one operand is needed");
  const Meta& x = operands[0];
  const int rank = x.shape.size();
  if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2])
    throw ShapeError("cholesky: a square matrix, or a batch of them, is needed; the shape is " +
                     to_string(x.shape));
  if (x.dtype != DType::float32 && x.dtype != DType::float64)
    throw DtypeError(std::string("cholesky: float32 or float64 is needed, not ") + name_of(x.dtype));
  return {CallOutput::like(0, x, x.dtype)};
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
        for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
        if (i != j) at(i, j) = sum / at(j, j);
        else if (sum > 0) at(i, i) = std::sqrt(sum);
        else not_positive_definite(r, m, i + 1);
      }
    if (r.out[0])
      std::memcpy(r.out[0] + m * n * n * static_cast<int64_t>(sizeof(T)), l.data(), l.size() * sizeof(T));
  }
}

void run_cholesky(const CallRun& r) {
  if (r.operands[0].dtype == DType::float32) factor<float>(r);
  else factor<double>(r);
}

int in_place_cholesky(const CallSpec&, int) { return 0; }

}  // namespace

void not_positive_definite(const CallRun& r, int64_t index, int64_t order) {
  fail_for(
      r, index,
      "is not positive definite (its leading minor of order " + std::to_string(order) + " is not positive)");
}

constinit const CallDefinition kCholesky{
    .name = "cholesky", .infer = infer_cholesky, .run = run_cholesky, .in_place = in_place_cholesky};

}  // namespace lazy::jit::calls
