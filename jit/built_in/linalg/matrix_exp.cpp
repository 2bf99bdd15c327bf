// Scales the matrix by a power of two until its norm is small, takes Padé's approximant of degree 13 and
// squares it as often (N. J. Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited,
// SIAM J. Matrix Anal. Appl. 26, 2005).
#include "jit/built_in/linalg/matrix_exp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/backend/backend.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/planes.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_matrix_exp(const CallSpec& spec, std::span<const Meta> operands) {
  check_matrices(spec, operands, 1, true);
  return {CallOutput::like(0, operands[0], operands[0].dtype)};
}

constexpr double kLargestNorm = 5.371920351148152;  // theta 13 of the paper
constexpr double kPade[] = {64764752532480000.,
                            32382376266240000.,
                            7771770303897600.,
                            1187353796428800.,
                            129060195264000.,
                            10559470521600.,
                            670442572800.,
                            33522128640.,
                            1323241920.,
                            40840800.,
                            960960.,
                            16380.,
                            182.,
                            1.};
constexpr int64_t kWorthSharing = 64;  // rows; products of smaller matrices stay on one thread

/// Computes with matrices of n x n, of double or complex<double>, sharing rows among the backend's threads if
/// `shared`.
template <class W>
struct Algebra {
  using Matrix = std::vector<W>;

  int64_t n;
  Backend& backend;
  bool shared;

  Matrix product(const Matrix& a, const Matrix& b) const {
    Matrix c(a.size(), W{0});
    const auto rows = [&](int64_t begin, int64_t end) {
      constexpr int64_t kDepth = 64;  // rows of b that stay in the cache
      for (int64_t k0 = 0; k0 < n; k0 += kDepth)
        for (int64_t i = begin; i < end; ++i)
          for (int64_t k = k0; k < std::min(n, k0 + kDepth); ++k) {
            const W f = a[static_cast<size_t>(i * n + k)];
            const W* const from = b.data() + k * n;
            W* const to = c.data() + i * n;
            for (int64_t j = 0; j < n; ++j) to[j] += times(f, from[j]);
          }
    };
    const int64_t pieces = shared && n >= kWorthSharing ? n / 16 : 1;
    if (pieces == 1) rows(0, n);
    else backend.for_each(pieces, [&](int64_t p) { rows(n * p / pieces, n * (p + 1) / pieces); });
    return c;
  }
  /// Returns the sum of matrices times factors, plus a multiple of the identity.
  Matrix sum(std::initializer_list<std::pair<double, const Matrix*>> terms, double identity) const {
    Matrix c(static_cast<size_t>(n * n), W{0});
    for (const auto& [f, m] : terms)
      for (size_t i = 0; i < c.size(); ++i) c[i] += f * (*m)[i];
    for (int64_t i = 0; i < n; ++i) c[static_cast<size_t>(i * n + i)] += identity;
    return c;
  }
  /// Returns the inverse of q, times p.
  Matrix quotient(Matrix q, const Matrix& p) const {
    std::vector<int32_t> pivots(static_cast<size_t>(n));
    factor_lu(q.data(), n, n, pivots.data());
    Matrix columns(p.size()), result(p.size());
    transpose(p.data(), n, n, columns.data());
    const auto solve = [&](int64_t c) { substitute_lu(q.data(), n, pivots.data(), columns.data() + c * n); };
    if (shared && n >= kWorthSharing) backend.for_each(n, solve);
    else
      for (int64_t c = 0; c < n; ++c) solve(c);
    transpose(columns.data(), n, n, result.data());
    return result;
  }

  Matrix exponential(Matrix a) const {
    double norm = 0;  // the largest sum of a column's magnitudes
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::abs(a[static_cast<size_t>(i * n + j)]);
      norm = std::max(norm, std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum);
    }
    if (!std::isfinite(norm)) return Matrix(a.size(), W{std::numeric_limits<double>::quiet_NaN()});
    int squarings = 0;
    if (norm > kLargestNorm) {
      squarings = std::max(0, static_cast<int>(std::ceil(std::log2(norm / kLargestNorm))));
      for (W& v : a) v *= std::ldexp(1.0, -squarings);
    }
    const double* const b = kPade;
    const Matrix a2 = product(a, a), a4 = product(a2, a2), a6 = product(a4, a2);
    const Matrix high_odd = product(a6, sum({{b[13], &a6}, {b[11], &a4}, {b[9], &a2}}, 0));
    const Matrix u = product(a, sum({{1, &high_odd}, {b[7], &a6}, {b[5], &a4}, {b[3], &a2}}, b[1]));
    const Matrix high_even = product(a6, sum({{b[12], &a6}, {b[10], &a4}, {b[8], &a2}}, 0));
    const Matrix v = sum({{1, &high_even}, {b[6], &a6}, {b[4], &a4}, {b[2], &a2}}, b[0]);
    Matrix r = quotient(sum({{1, &v}, {-1, &u}}, 0), sum({{1, &v}, {1, &u}}, 0));
    for (int i = 0; i < squarings; ++i) r = product(r, r);
    return r;
  }
};

template <class T>
void matrix_exp_all(const CallRun& r) {
  const Batch b(r.operands[0].shape);
  const Algebra<WideOf<T>> algebra{b.rows, r.backend, b.count == 1};
  const auto one = [&](int64_t m) {
    const T* const x = input<T>(r, 0) + m * b.size();
    const auto e = algebra.exponential({x, x + b.size()});
    std::transform(e.begin(), e.end(), output<T>(r, 0) + m * b.size(),
                   [](auto v) { return static_cast<T>(v); });
  };
  const int64_t pieces = std::min<int64_t>(b.count, b.count * b.size() / 1024 + 1);
  if (pieces == 1)
    for (int64_t m = 0; m < b.count; ++m) one(m);
  else
    r.backend.for_each(pieces, [&](int64_t p) {
      for (int64_t m = b.count * p / pieces; m < b.count * (p + 1) / pieces; ++m) one(m);
    });
}

void run_matrix_exp(const CallRun& r) {
  if (r.out[0] && numel(r.outputs[0].shape))
    by_dtype(r, [&](auto zero) { matrix_exp_all<decltype(zero)>(r); });
}

}  // namespace

constinit const CallDefinition kMatrixExp{.name = "matrix_exp",
                                          .traits = call_trait::kNotUnique,
                                          .infer = infer_planes,
                                          .run = run_whole<run_matrix_exp>,
                                          .in_place = over_operand<0>,
                                          .infer_complex = infer_matrix_exp};

}  // namespace lazy::jit::calls
