#include "jit/built_in/linalg/eigh.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_eigh(const CallSpec& spec, std::span<const Meta> operands) {
  return infer_eigen(spec, operands, !(spec.as<MatrixAttributes>().flags & kValuesOnly));
}

/// Diagonalises one symmetric matrix by Jacobi's rotations (Golub and Van Loan, Matrix Computations, 8.5).
struct Jacobi {
  int64_t n;
  std::vector<double> a, v;  // the matrix; its eigenvectors, which are rows

  void run() {
    v.assign(a.size(), 0);
    for (int64_t i = 0; i < n; ++i) v[index(i, i)] = 1;
    for (int sweep = 0; sweep < 100; ++sweep) {
      double off = 0, all = 0;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const double s = a[index(i, j)] * a[index(i, j)];
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

  /// Makes the element at [p, q] 0.
  void rotate(int64_t p, int64_t q) {
    if (a[index(p, q)] == 0) return;
    const double tau = (a[index(q, q)] - a[index(p, p)]) / (2 * a[index(p, q)]);
    const double t = std::copysign(1, tau) / (std::abs(tau) + std::hypot(1, tau));
    const double c = 1 / std::hypot(1, t), s = t * c;
    const auto turn = [&](double& x, double& y) {
      const double old = x;
      x = c * old - s * y;
      y = s * old + c * y;
    };
    for (int64_t k = 0; k < n; ++k) turn(a[index(k, p)], a[index(k, q)]);
    for (int64_t k = 0; k < n; ++k) turn(a[index(p, k)], a[index(q, k)]);
    for (int64_t k = 0; k < n; ++k) turn(v[index(p, k)], v[index(q, k)]);
    a[index(p, q)] = a[index(q, p)] = 0;
  }
};

template <class T>
void eigh_all(const CallRun& r) {
  const uint32_t flags = r.spec.as<MatrixAttributes>().flags;
  const Batch b(r.operands[0].shape);
  const int64_t n = b.rows;
  Jacobi jacobi{n, std::vector<double>(static_cast<size_t>(n * n)), {}};
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t m = 0; m < b.count; ++m) {
    const T* const x = input<T>(r, 0) + m * n * n;
    double most = 0;  // elements are divided by it, so that squares stay in range
    for (int64_t i = 0; i < n * n; ++i) most = std::max(most, std::abs(static_cast<double>(x[i])));
    if (most == 0) most = 1;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const bool given = flags & kUpperTriangle ? i <= j : i >= j;
        jacobi.a[static_cast<size_t>(i * n + j)] =
            static_cast<double>(given ? x[i * n + j] : x[j * n + i]) / most;
      }
    jacobi.run();
    const auto value = [&](int64_t i) { return jacobi.a[static_cast<size_t>(i * n + i)]; };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return value(i) < value(j); });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t from = order[static_cast<size_t>(i)];
      if (r.out[0]) output<T>(r, 0)[m * n + i] = static_cast<T>(value(from) * most);
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

constinit const CallDefinition kEigh{
    .name = "eigh", .traits = call_trait::kNotUnique, .infer = infer_eigh, .run = run_eigh};

}  // namespace lazy::jit::calls
