#include "jit/built_in/linalg/svd.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "jit/built_in/linalg/planes.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_svd(const CallSpec& spec, std::span<const Meta> operands) {
  check_matrices(spec, operands, 1, false);
  const uint32_t flags = spec.as<MatrixAttributes>().flags;
  const Batch b(operands[0].shape);
  const DType t = operands[0].dtype;
  const int64_t k = std::min(b.rows, b.columns);
  const CallOutput values = batched(operands, plane_type(t), {{k}});
  if (flags & kSingularValuesOnly) return {values};
  const LastAxis rows{b.rows, 0, 2}, columns{b.columns, 0, 1};
  if (flags & kFullMatrices)
    return {batched(operands, t, {rows, rows}), values, batched(operands, t, {columns, columns})};
  return {batched(operands, t, {rows, {k}}), values, batched(operands, t, {{k}, columns})};
}

template <class W>
using Vector = std::vector<W>;

/// Returns the inner product: conj(a) b.
template <class W>
W product(const Vector<W>& a, const Vector<W>& b) {
  W sum{0};
  for (size_t i = 0; i < a.size(); ++i) sum += times(conjugate(a[i]), b[i]);
  return sum;
}
template <class W>
double square(const Vector<W>& a) {
  return real_part(product(a, a));
}

/// Replaces the vectors that are not `given`, and appends more until there are `count`: by unit vectors that
/// are orthogonal to all others. Those given are orthonormal.
template <class W>
void complete(std::vector<Vector<W>>& basis, std::vector<bool> given, size_t count, size_t length) {
  basis.resize(count);
  given.resize(count, false);
  Vector<double> left(length, 1);  // of each axis, the square of what is orthogonal to the vectors so far
  const auto take = [&](const Vector<W>& g) {
    for (size_t j = 0; j < length; ++j) left[j] -= squared(g[j]);
  };
  for (size_t i = 0; i < count; ++i)
    if (given[i]) take(basis[i]);
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    Vector<W> v(length, W{0});
    v[static_cast<size_t>(std::max_element(left.begin(), left.end()) - left.begin())] = 1;
    for (int twice = 0; twice < 2; ++twice)
      for (size_t k = 0; k < count; ++k) {
        if (!given[k]) continue;
        const W along = product(basis[k], v);
        for (size_t j = 0; j < length; ++j) v[j] -= times(along, basis[k][j]);
      }
    const double norm = std::sqrt(square(v));
    for (W& e : v) e /= norm;
    take(v);
    basis[i] = std::move(v);
    given[i] = true;
  }
}

/// Makes vectors orthogonal to each other by rotations of pairs, Hestenes's one-sided method of Jacobi's
/// (Golub and Van Loan, Matrix Computations, 8.6).
template <class W>
struct Hestenes {
  std::vector<Vector<W>> w, v;  // w[i]: sum of the original vectors times v's elements

  void run() {
    const size_t k = w.size();
    v.assign(k, Vector<W>(k, W{0}));
    double all = 0;
    for (size_t i = 0; i < k; ++i) v[i][i] = W{1}, all += square(w[i]);
    bool turned = true;
    for (int sweep = 0; turned && sweep < 60; ++sweep) {
      turned = false;
      for (size_t p = 0; p < k; ++p)
        for (size_t q = p + 1; q < k; ++q) turned |= rotate(p, q, all * 1e-34);
    }
  }

 private:
  bool rotate(size_t p, size_t q, double negligible) {
    const W inner = product(w[p], w[q]), phase = conjugate(direction(inner));
    const double a = square(w[p]), b = square(w[q]), c = std::abs(inner);
    if (c <= 1e-16 * std::sqrt(a) * std::sqrt(b) || a <= negligible || b <= negligible) return false;
    const double zeta = (b - a) / (2 * c);
    const double t = std::copysign(1, zeta) / (std::abs(zeta) + std::hypot(1, zeta));
    const double cosine = 1 / std::hypot(1, t), sine = t * cosine;
    const auto turn = [&](Vector<W>& x, Vector<W>& y) {
      for (size_t i = 0; i < x.size(); ++i) {
        const W old = x[i], other = times(y[i], phase);
        x[i] = cosine * old - sine * other;
        y[i] = sine * old + cosine * other;
      }
    };
    turn(w[p], w[q]);
    turn(v[p], v[q]);
    return true;
  }
};

/// Holds the decomposition of one matrix whose shorter side is made of vectors.
template <class W>
struct Decomposed {
  Vector<double> s;
  std::vector<Vector<W>> longer, shorter;  // singular vectors of either side
};

template <class T, class W = WideOf<T>>
Decomposed<W> decompose(const T* x, int64_t m, int64_t n, bool vectors, bool full) {
  const bool tall = m >= n;
  const auto k = static_cast<size_t>(std::min(m, n)), length = static_cast<size_t>(std::max(m, n));
  double most = 0;  // elements are divided by it, so that squares stay in range
  for (int64_t i = 0; i < m * n; ++i) most = std::max(most, magnitude(static_cast<W>(x[i])));
  if (most == 0) most = 1;
  Hestenes<W> h{std::vector<Vector<W>>(k, Vector<W>(length)), {}};
  for (size_t i = 0; i < k; ++i)
    for (size_t j = 0; j < length; ++j)
      h.w[i][j] = static_cast<W>(x[tall ? j * k + i : i * length + j]) / most;
  h.run();
  Vector<double> norms(k);
  for (size_t i = 0; i < k; ++i) norms[i] = std::sqrt(square(h.w[i]));
  std::vector<size_t> order(k);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return norms[i] > norms[j]; });
  Decomposed<W> d;
  std::vector<bool> given;
  for (const size_t i : order) {
    d.s.push_back(norms[i] * most);
    if (!vectors) continue;
    given.push_back(norms[i] > 1e-15 * static_cast<double>(k) * norms[order[0]]);
    for (W& e : h.w[i]) e /= given.back() ? norms[i] : 1;
    for (W& e : h.v[i]) e = conjugate(e);
    d.longer.push_back(std::move(h.w[i]));
    d.shorter.push_back(std::move(h.v[i]));
  }
  if (vectors) complete(d.longer, given, full ? length : k, length);
  return d;
}

template <class T>
void svd_all(const CallRun& r) {
  const uint32_t flags = r.spec.as<MatrixAttributes>().flags;
  const bool vectors = !(flags & kSingularValuesOnly);
  const Batch b(r.operands[0].shape);
  const int64_t k = std::min(b.rows, b.columns);
  auto* const s = output<RealOf<T>>(r, vectors ? 1 : 0);
  for (int64_t m = 0; m < b.count; ++m) {
    const auto d =
        decompose(input<T>(r, 0) + m * b.size(), b.rows, b.columns, vectors, (flags & kFullMatrices) != 0);
    for (int64_t i = 0; s && i < k; ++i) s[m * k + i] = static_cast<RealOf<T>>(d.s[static_cast<size_t>(i)]);
    if (!vectors) continue;
    const bool tall = b.rows >= b.columns;
    const auto &u = tall ? d.longer : d.shorter, &v = tall ? d.shorter : d.longer;
    const Batch of_u(r.outputs[0].shape), of_v(r.outputs[2].shape);
    for (size_t i = 0; r.out[0] && i < u.size(); ++i)
      for (size_t j = 0; j < u[i].size(); ++j)
        output<T>(r, 0)[m * of_u.size() + static_cast<int64_t>(j * u.size() + i)] = static_cast<T>(u[i][j]);
    for (size_t i = 0; r.out[2] && i < v.size(); ++i)
      for (size_t j = 0; j < v[i].size(); ++j)
        output<T>(r, 2)[m * of_v.size() + static_cast<int64_t>(i * v[i].size() + j)] =
            static_cast<T>(v[i][j]);
  }
}

void run_svd(const CallRun& r) {
  need_finite(r);
  by_dtype(r, [&](auto zero) { svd_all<decltype(zero)>(r); });
}

}  // namespace

constinit const CallDefinition kSvd{.name = "svd",
                                    .traits = call_trait::kNotUnique,
                                    .infer = infer_planes,
                                    .run = run_whole<run_svd>,
                                    .infer_complex = infer_svd};

}  // namespace lazy::jit::calls
