// Reduces a matrix to Hessenberg's form and that to a triangle, by QR steps with one complex shift (Golub and
// Van Loan, Matrix Computations, 7.4 and 7.5).
#include "jit/built_in/linalg/eig.hpp"

#include <algorithm>
#include <cmath>

#include "jit/built_in/linalg/planes.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_eig(const CallSpec& spec, std::span<const Meta> operands) {
  const bool vectors = !(spec.as<MatrixAttributes>().flags & kEigenvaluesOnly);
  const DType t = complex_type(operands.empty() ? DType{} : operands[0].dtype);
  return infer_eigen(spec, operands, t, vectors ? std::optional(t) : std::nullopt);
}

using C = std::complex<double>;
constexpr double kEpsilon = 0x1p-52;

/// Holds x = V H V^H with a unitary V.
class Schur {
 public:
  explicit Schur(int64_t n) : n_(n), h_(static_cast<size_t>(n * n)), v_(h_.size()) {
    for (int64_t i = 0; i < n; ++i) v(i, i) = 1;
  }
  C& h(int64_t i, int64_t j) { return h_[static_cast<size_t>(i * n_ + j)]; }
  C& v(int64_t i, int64_t j) { return v_[static_cast<size_t>(i * n_ + j)]; }

  /// Makes h triangular, with the eigenvalues on its diagonal; false if that does not converge.
  bool triangle() {
    hessenberg();
    norm_ = 0;
    for (const C x : h_) norm_ = std::max(norm_, magnitude(x));
    int iterations = 0;
    for (int64_t end = n_ - 1; end > 0;) {
      const int64_t begin = start_of_block(end);
      if (begin == end) {
        --end, iterations = 0;
      } else {
        if (iterations == 300) return false;
        step(begin, end, iterations++);
      }
    }
    return true;
  }
  /// Turns the columns of v into eigenvectors of length 1, whose largest element is real.
  void vectors() {
    for (int64_t c = n_; c-- > 0;) {
      const C value = h(c, c);
      std::vector<C> x(static_cast<size_t>(n_));
      const auto at = [&](int64_t i) -> C& { return x[static_cast<size_t>(i)]; };
      at(c) = 1;
      for (int64_t i = c; i-- > 0;) {
        C sum = 0;
        for (int64_t j = i + 1; j <= c; ++j) sum += times(h(i, j), at(j));
        C gap = h(i, i) - value;
        if (magnitude(gap) < kEpsilon * norm_) gap = kEpsilon * norm_;
        at(i) = gap == C{} ? C{} : -sum / gap;
        if (const double size = magnitude(at(i)); size > 1e100)
          for (C& e : x) e /= size;
      }
      std::vector<C> all(static_cast<size_t>(n_));
      for (int64_t i = 0; i < n_; ++i)
        for (int64_t j = 0; j <= c; ++j) all[static_cast<size_t>(i)] += times(v(i, j), at(j));
      double squares = 0;
      C largest = 0;
      for (const C e : all) {
        squares += squared(e);
        if (squared(e) > squared(largest)) largest = e;
      }
      const C by = std::conj(direction(largest)) / std::sqrt(squares);
      for (int64_t i = 0; i < n_; ++i) v(i, c) = times(all[static_cast<size_t>(i)], by);
    }
  }

 private:
  /// Zeroes what is below the first subdiagonal, by a reflection for each column.
  void hessenberg() {
    std::vector<C> u(static_cast<size_t>(n_));
    const auto at = [&](int64_t i) -> C& { return u[static_cast<size_t>(i)]; };
    for (int64_t m = 1; m + 1 < n_; ++m) {
      double squares = 0;
      for (int64_t i = m; i < n_; ++i) at(i) = h(i, m - 1), squares += squared(at(i));
      if (squares == squared(at(m))) continue;
      at(m) += direction(at(m)) * std::sqrt(squares);
      double length = 0;
      for (int64_t i = m; i < n_; ++i) length += squared(at(i));
      const auto reflect = [&](auto&& element, auto&& coefficient) {
        C sum = 0;
        for (int64_t i = m; i < n_; ++i) sum += times(conjugate(coefficient(i)), element(i));
        sum *= 2 / length;
        for (int64_t i = m; i < n_; ++i) element(i) -= times(sum, coefficient(i));
      };
      const auto conjugated = [&](int64_t i) { return std::conj(at(i)); };
      for (int64_t j = m - 1; j < n_; ++j) reflect([&](int64_t i) -> C& { return h(i, j); }, at);
      for (int64_t i = 0; i < n_; ++i) {
        reflect([&](int64_t j) -> C& { return h(i, j); }, conjugated);
        reflect([&](int64_t j) -> C& { return v(i, j); }, conjugated);
      }
      for (int64_t i = m + 1; i < n_; ++i) h(i, m - 1) = 0;
    }
  }
  int64_t start_of_block(int64_t end) {
    int64_t l = end;
    for (; l > 0; --l) {
      const double size = magnitude(h(l - 1, l - 1)) + magnitude(h(l, l));
      if (magnitude(h(l, l - 1)) <= kEpsilon * (size == 0 ? norm_ : size)) break;
    }
    if (l > 0) h(l, l - 1) = 0;
    return l;
  }
  /// Returns the eigenvalue of the last two rows that is nearer to the last element (Wilkinson's shift).
  C shift(int64_t end) {
    const C a = h(end - 1, end - 1), d = h(end, end), bc = times(h(end - 1, end), h(end, end - 1));
    const C half = (a - d) / 2.0, root = std::sqrt(times(half, half) + bc);
    const C divisor = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
    return divisor == C{} ? d : d - bc / divisor;
  }
  /// Does one step on rows begin to end: h - s = Q R, and then R Q + s.
  void step(int64_t begin, int64_t end, int iteration) {
    // An exceptional shift, where the usual ones lead nowhere.
    const C s = iteration % 20 == 10 ? C{magnitude(h(end, end - 1)) + magnitude(h(end, end))} : shift(end);
    for (int64_t i = begin; i <= end; ++i) h(i, i) -= s;
    std::vector<std::pair<C, C>> turns;
    const auto turn = [](C& x, C& y, C c, C t) {
      const C old = x;
      x = times(std::conj(c), old) + times(std::conj(t), y);
      y = times(c, y) - times(t, old);
    };
    for (int64_t k = begin; k < end; ++k) {
      const double length = std::hypot(std::abs(h(k, k)), std::abs(h(k + 1, k)));
      const C c = length == 0 ? C{1} : h(k, k) / length, t = length == 0 ? C{} : h(k + 1, k) / length;
      for (int64_t j = k; j < n_; ++j) turn(h(k, j), h(k + 1, j), c, t);
      turns.emplace_back(c, t);
    }
    for (int64_t k = begin; k < end; ++k) {
      const auto [c, t] = turns[static_cast<size_t>(k - begin)];
      for (int64_t i = 0; i <= std::min(k + 1, end); ++i)
        turn(h(i, k), h(i, k + 1), std::conj(c), std::conj(t));
      for (int64_t i = 0; i < n_; ++i) turn(v(i, k), v(i, k + 1), std::conj(c), std::conj(t));
    }
    for (int64_t i = begin; i <= end; ++i) h(i, i) += s;
  }

  const int64_t n_;
  std::vector<C> h_, v_;
  double norm_ = 0;
};

template <class T>
void eig_all(const CallRun& r) {
  using R = RealOf<T>;
  const Batch b(r.operands[0].shape);
  const int64_t n = b.rows;
  const auto narrowed = [](C x) {
    return std::complex<R>(static_cast<R>(x.real()), static_cast<R>(x.imag()));
  };
  for (int64_t m = 0; m < b.count; ++m) {
    const T* const x = input<T>(r, 0) + m * n * n;
    double most = 0;  // elements are divided by it, so that squares stay in range
    for (int64_t i = 0; i < n * n; ++i) most = std::max(most, magnitude(C(x[i])));
    if (most == 0) most = 1;
    Schur schur(n);
    for (int64_t i = 0; i < n * n; ++i) schur.h(i / n, i % n) = C(x[i]) / most;
    if (!schur.triangle()) fail_to_converge(r, m);
    for (int64_t i = 0; r.out[0] && i < n; ++i)
      output<std::complex<R>>(r, 0)[m * n + i] = narrowed(schur.h(i, i) * most);
    if (r.outputs.size() < 2 || !r.out[1]) continue;
    schur.vectors();
    for (int64_t i = 0; i < n * n; ++i)
      output<std::complex<R>>(r, 1)[m * n * n + i] = narrowed(schur.v(i % n, i / n));
  }
}

void run_eig(const CallRun& r) {
  need_finite(r);
  by_dtype(r, [&](auto zero) { eig_all<decltype(zero)>(r); });
}

}  // namespace

void fail_to_converge(const CallRun& r, int64_t index) {
  fail_for(r, index, "can't be decomposed: the iteration does not converge");
}

constinit const CallDefinition kEig{.name = "eig",
                                    .traits = call_trait::kNotUnique,
                                    .infer = infer_planes,
                                    .run = run_whole<run_eig>,
                                    .infer_complex = infer_eig};

}  // namespace lazy::jit::calls
