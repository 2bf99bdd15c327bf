#include "jit/built_in/linalg/qr.hpp"

#include <algorithm>
#include <cmath>

#include "jit/built_in/linalg/planes.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_qr(const CallSpec& spec, std::span<const Meta> operands) {
  check_matrices(spec, operands, 1, false);
  const Batch b(operands[0].shape);
  const DType t = operands[0].dtype;
  if (spec.as<MatrixAttributes>().flags & kComplete)
    return {batched(operands, t, {{b.rows, 0, 2}, {b.rows, 0, 2}}),
            batched(operands, t, {{b.rows, 0, 2}, {b.columns, 0, 1}})};
  const int64_t k = std::min(b.rows, b.columns);
  return {batched(operands, t, {{b.rows, 0, 2}, {k}}), batched(operands, t, {{k}, {b.columns, 0, 1}})};
}

/// Factors one matrix of double or complex<double> as LAPACK does: each reflection makes the diagonal real,
/// of a sign opposite to that of its real part.
template <class W>
struct Reflections {
  int64_t m, n;
  std::vector<W> a;    // row-major: R, and below the diagonal the reflections, whose first element is 1
  std::vector<W> tau;  // x -> x - tau v (v^H x), and with conj(tau) where x becomes R

  void factor() {
    tau.assign(static_cast<size_t>(std::min(m, n)), W{0});
    for (int64_t j = 0; j < std::min(m, n); ++j) {
      double most = 0, squares = 0;
      for (int64_t i = j + 1; i < m; ++i) most = std::max(most, magnitude(at(i, j)));
      for (int64_t i = j + 1; i < m; ++i)
        squares += squared(most > 0 ? at(i, j) / most : at(i, j));  // NaN stays
      const W head = at(j, j);
      if (squares == 0 && imaginary_part(head) == 0) continue;
      const double norm = most > 0 ? most * std::sqrt(squares) : squares;
      const double beta = -std::copysign(std::hypot(std::abs(head), norm), real_part(head));
      const W factor = (beta - head) / beta;
      for (int64_t i = j + 1; i < m; ++i) at(i, j) /= head - beta;
      for (int64_t c = j + 1; c < n; ++c)
        reflect(j, conjugate(factor), [&](int64_t i) -> W& { return at(i, c); });
      tau[static_cast<size_t>(j)] = factor;
      at(j, j) = beta;
    }
  }
  /// Applies reflection j to a column.
  template <class Column>
  void reflect(int64_t j, W factor, Column&& column) const {
    W sum = column(j);
    for (int64_t i = j + 1; i < m; ++i) sum += times(conjugate(a[static_cast<size_t>(i * n + j)]), column(i));
    sum = times(sum, factor);
    column(j) -= sum;
    for (int64_t i = j + 1; i < m; ++i) column(i) -= times(sum, a[static_cast<size_t>(i * n + j)]);
  }
  W& at(int64_t i, int64_t j) { return a[static_cast<size_t>(i * n + j)]; }
};

template <class T>
void qr_all(const CallRun& r) {
  const Batch b(r.operands[0].shape), q(r.outputs[0].shape), upper(r.outputs[1].shape);
  using W = WideOf<T>;
  Reflections<W> h{b.rows, b.columns, {}, {}};
  std::vector<W> columns(static_cast<size_t>(q.size()));
  for (int64_t m = 0; m < b.count; ++m) {
    const T* const x = input<T>(r, 0) + m * b.size();
    h.a.assign(x, x + b.size());
    h.factor();
    if (r.out[1])
      for (int64_t i = 0; i < upper.rows; ++i)
        for (int64_t j = 0; j < upper.columns; ++j)
          output<T>(r, 1)[m * upper.size() + i * upper.columns + j] =
              static_cast<T>(j < i ? W{0} : h.at(i, j));
    if (!r.out[0]) continue;
    std::fill(columns.begin(), columns.end(), W{0});
    for (int64_t c = 0; c < q.columns; ++c) {
      W* const column = columns.data() + c * q.rows;
      column[c] = 1;
      for (int64_t j = std::min(b.rows, b.columns); j-- > 0;)
        h.reflect(j, h.tau[static_cast<size_t>(j)], [&](int64_t i) -> W& { return column[i]; });
    }
    transpose(columns.data(), q.columns, q.rows, output<T>(r, 0) + m * q.size());
  }
}

void run_qr(const CallRun& r) {
  by_dtype(r, [&](auto zero) { qr_all<decltype(zero)>(r); });
}

}  // namespace

constinit const CallDefinition kQr{.name = "qr",
                                   .traits = call_trait::kNotUnique,
                                   .infer = infer_planes,
                                   .run = run_whole<run_qr>,
                                   .infer_complex = infer_qr};

}  // namespace lazy::jit::calls
