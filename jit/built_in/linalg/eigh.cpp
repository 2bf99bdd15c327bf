#include "jit/built_in/linalg/eigh.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "jit/built_in/linalg/planes.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_eigh(const CallSpec& spec, std::span<const Meta> operands) {
  const bool vectors = !(spec.as<MatrixAttributes>().flags & kValuesOnly);
  const DType t = operands.empty() ? DType{} : operands[0].dtype;
  return infer_eigen(spec, operands, plane_type(t), vectors ? std::optional(t) : std::nullopt);
}

/// Diagonalises one symmetric or Hermitian matrix by Jacobi's rotations (Golub and Van Loan, Matrix
/// Computations, 8.5).
template <class W>
struct Jacobi {
  int64_t n;
  std::vector<W> a, v;  // the matrix; its eigenvectors, whose conjugates are rows

  void run() {
    v.assign(a.size(), W{0});
    for (int64_t i = 0; i < n; ++i) v[index(i, i)] = W{1};
    for (int sweep = 0; sweep < 100; ++sweep) {
      double off = 0, all = 0;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const double s = squared(a[index(i, j)]);
          all += s;
          if (i != j) off += s;
        }
      if (off <= 1e-36 * all) return;
      for (int64_t p = 0; p < n; ++p)
        for (int64_t q = p + 1; q < n; ++q) rotate(p, q);
    }
  }

 private:
  size_t index(int64_t i, int64_t j) const { return static_cast<size_t>(i * n + j); }

  /// Makes the element at [p, q] 0: makes it real, by a factor of row and column q, and turns both.
  void rotate(int64_t p, int64_t q) {
    if (a[index(p, q)] == W{0}) return;
    const W phase = direction(a[index(p, q)]);
    const double gap = real_part(a[index(q, q)]) - real_part(a[index(p, p)]);
    const double tau = gap / (2 * std::abs(a[index(p, q)]));
    const double t = std::copysign(1, tau) / (std::abs(tau) + std::hypot(1, tau));
    const double c = 1 / std::hypot(1, t), s = t * c;
    const auto turn = [&](W& x, W& y, W factor) {
      const W old = x, other = times(y, factor);
      x = c * old - s * other;
      y = s * old + c * other;
    };
    for (int64_t k = 0; k < n; ++k) turn(a[index(k, p)], a[index(k, q)], conjugate(phase));
    for (int64_t k = 0; k < n; ++k) turn(a[index(p, k)], a[index(q, k)], phase);
    for (int64_t k = 0; k < n; ++k) turn(v[index(p, k)], v[index(q, k)], phase);
    a[index(p, q)] = a[index(q, p)] = W{0};
  }
};

template <class T>
void eigh_all(const CallRun& r) {
  const uint32_t flags = r.spec.as<MatrixAttributes>().flags;
  const Batch b(r.operands[0].shape);
  const int64_t n = b.rows;
  using W = WideOf<T>;
  Jacobi<W> jacobi{n, std::vector<W>(static_cast<size_t>(n * n)), {}};
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t m = 0; m < b.count; ++m) {
    const T* const x = input<T>(r, 0) + m * n * n;
    double most = 0;  // elements are divided by it, so that squares stay in range
    for (int64_t i = 0; i < n * n; ++i) most = std::max(most, magnitude(static_cast<W>(x[i])));
    if (most == 0) most = 1;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const bool given = flags & kUpperTriangle ? i <= j : i >= j;
        const W element(given ? x[i * n + j] : conjugate(x[j * n + i]));
        jacobi.a[static_cast<size_t>(i * n + j)] = (i == j ? W{real_part(element)} : element) / most;
      }
    jacobi.run();
    const auto value = [&](int64_t i) { return real_part(jacobi.a[static_cast<size_t>(i * n + i)]); };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return value(i) < value(j); });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t from = order[static_cast<size_t>(i)];
      if (r.out[0]) output<RealOf<T>>(r, 0)[m * n + i] = static_cast<RealOf<T>>(value(from) * most);
      if (r.outputs.size() > 1 && r.out[1])
        for (int64_t j = 0; j < n; ++j)
          output<T>(r, 1)[m * n * n + i * n + j] =
              static_cast<T>(jacobi.v[static_cast<size_t>(from * n + j)]);
    }
  }
}

void run_eigh(const CallRun& r) {
  need_finite(r, read_by(r.spec));
  by_dtype(r, [&](auto zero) { eigh_all<decltype(zero)>(r); });
}

}  // namespace

Triangle read_by(const CallSpec& spec) {
  return spec.as<MatrixAttributes>().flags & kUpperTriangle ? Triangle::upper : Triangle::lower;
}

constinit const CallDefinition kEigh{.name = "eigh",
                                     .traits = call_trait::kNotUnique,
                                     .infer = infer_planes,
                                     .run = run_whole<run_eigh>,
                                     .infer_complex = infer_eigh};

}  // namespace lazy::jit::calls
