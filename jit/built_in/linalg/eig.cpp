// Reduces a matrix to Hessenberg's form and that to a triangle, by shifted QR steps, as EISPACK's orthes and
// hqr2 do (Wilkinson and Reinsch, Handbook for Automatic Computation, volume 2).
#include "jit/built_in/linalg/eig.hpp"

#include <algorithm>
#include <cmath>

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_eig(const CallSpec& spec, std::span<const Meta> operands) {
  return infer_eigen(spec, operands, !(spec.as<MatrixAttributes>().flags & kEigenvaluesOnly));
}

constexpr double kEpsilon = 0x1p-52;

class Schur {
 public:
  explicit Schur(int64_t n)
      : n_(n), h_(static_cast<size_t>(n * n)), v_(h_.size(), 0), d_(static_cast<size_t>(n)) {
    for (int64_t i = 0; i < n; ++i) v(i, i) = 1;
  }
  double& h(int64_t i, int64_t j) { return h_[static_cast<size_t>(i * n_ + j)]; }
  double& v(int64_t i, int64_t j) { return v_[static_cast<size_t>(i * n_ + j)]; }
  double value(int64_t i) const { return d_[static_cast<size_t>(i)]; }

  enum class Outcome { found, complex, not_converged };
  double imaginary = 0;  // of the eigenvalue that is complex

  /// Makes h triangular, with the eigenvalues on its diagonal.
  Outcome triangle() {
    hessenberg();
    norm_ = 0;
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = std::max<int64_t>(i - 1, 0); j < n_; ++j) norm_ += std::abs(h(i, j));
    int iterations = 0;
    for (int64_t end = n_ - 1; end >= 0;) {
      const int64_t l = start_of_block(end);
      if (l == end) {
        h(end, end) += shift_;
        d_[static_cast<size_t>(end)] = h(end, end);
        --end, iterations = 0;
      } else if (l == end - 1) {
        if (!split(end)) return Outcome::complex;
        end -= 2, iterations = 0;
      } else {
        if (iterations == 300) return Outcome::not_converged;
        step(l, end, iterations++);
      }
    }
    return Outcome::found;
  }
  /// Turns the columns of v into eigenvectors of length 1.
  void vectors() {
    for (int64_t c = n_; c-- > 0;) {
      h(c, c) = 1;
      for (int64_t i = c; i-- > 0;) {
        double sum = 0;
        for (int64_t j = i + 1; j <= c; ++j) sum += h(i, j) * h(j, c);
        double gap = value(i) - value(c);
        if (gap == 0) gap = kEpsilon * norm_;
        h(i, c) = gap == 0 ? 0 : -sum / gap;
        const double t = std::abs(h(i, c));
        if (kEpsilon * t * t > 1)
          for (int64_t j = i; j <= c; ++j) h(j, c) /= t;
      }
    }
    for (int64_t c = n_; c-- > 0;) {
      double squares = 0;
      for (int64_t i = 0; i < n_; ++i) {
        double sum = 0;
        for (int64_t j = 0; j <= c; ++j) sum += v(i, j) * h(j, c);
        v(i, c) = sum;
        squares += sum * sum;
      }
      for (int64_t i = 0; i < n_; ++i) v(i, c) /= std::sqrt(squares);
    }
  }

 private:
  void hessenberg() {
    std::vector<double> u(static_cast<size_t>(n_));
    for (int64_t m = 1; m + 1 < n_; ++m) {
      double scale = 0, squares = 0;
      for (int64_t i = m; i < n_; ++i) scale += std::abs(h(i, m - 1));
      if (scale == 0) continue;
      const auto at = [&](int64_t i) -> double& { return u[static_cast<size_t>(i)]; };
      for (int64_t i = m; i < n_; ++i) at(i) = h(i, m - 1) / scale, squares += at(i) * at(i);
      const double g = -std::copysign(std::sqrt(squares), at(m));
      squares -= at(m) * g;
      at(m) -= g;
      for (int64_t j = m; j < n_; ++j) {
        double f = 0;
        for (int64_t i = m; i < n_; ++i) f += at(i) * h(i, j);
        for (int64_t i = m; i < n_; ++i) h(i, j) -= f / squares * at(i);
      }
      const auto from_right = [&](auto&& row) {
        double f = 0;
        for (int64_t j = m; j < n_; ++j) f += at(j) * row(j);
        for (int64_t j = m; j < n_; ++j) row(j) -= f / squares * at(j);
      };
      for (int64_t i = 0; i < n_; ++i) {
        from_right([&](int64_t j) -> double& { return h(i, j); });
        from_right([&](int64_t j) -> double& { return v(i, j); });
      }
      h(m, m - 1) = scale * g;
      for (int64_t i = m + 1; i < n_; ++i) h(i, m - 1) = 0;
    }
  }
  int64_t start_of_block(int64_t end) {
    int64_t l = end;
    for (; l > 0; --l) {
      const double s = std::abs(h(l - 1, l - 1)) + std::abs(h(l, l));
      if (std::abs(h(l, l - 1)) < kEpsilon * (s == 0 ? norm_ : s) || h(l, l - 1) == 0) break;
    }
    return l;
  }
  /// Splits the block of two rows that ends at `end` into two real eigenvalues; false if they are complex.
  bool split(int64_t end) {
    const double w = h(end, end - 1) * h(end - 1, end), p = (h(end - 1, end - 1) - h(end, end)) / 2;
    const double q = p * p + w;
    if (q < 0) {
      imaginary = std::sqrt(-q);
      return false;
    }
    h(end, end) += shift_;
    h(end - 1, end - 1) += shift_;
    const double x = h(end, end), z = p + std::copysign(std::sqrt(q), p);
    d_[static_cast<size_t>(end - 1)] = x + z;
    d_[static_cast<size_t>(end)] = z != 0 ? x - w / z : x + z;
    const double length = std::hypot(h(end, end - 1), z), sine = h(end, end - 1) / length,
                 cosine = z / length;
    const auto turn = [&](double& a, double& b) {
      const double old = a;
      a = cosine * old + sine * b;
      b = cosine * b - sine * old;
    };
    for (int64_t j = end - 1; j < n_; ++j) turn(h(end - 1, j), h(end, j));
    for (int64_t i = 0; i <= end; ++i) turn(h(i, end - 1), h(i, end));
    for (int64_t i = 0; i < n_; ++i) turn(v(i, end - 1), v(i, end));
    return true;
  }
  /// Does one step of Francis's method with two shifts on rows l to end.
  void step(int64_t l, int64_t end, int iteration) {
    double x = h(end, end), y = h(end - 1, end - 1), w = h(end, end - 1) * h(end - 1, end);
    if (iteration % 20 == 10) {  // an exceptional shift, where the usual ones lead nowhere
      shift_ += x;
      for (int64_t i = 0; i <= end; ++i) h(i, i) -= x;
      const double s = std::abs(h(end, end - 1)) + std::abs(h(end - 1, end - 2));
      x = y = 0.75 * s;
      w = -0.4375 * s * s;
    }
    double p = 0, q = 0, r = 0;
    int64_t m = end - 2;
    for (;; --m) {
      const double z = h(m, m), a = x - z, b = y - z;
      p = (a * b - w) / h(m + 1, m) + h(m, m + 1);
      q = h(m + 1, m + 1) - z - a - b;
      r = h(m + 2, m + 1);
      const double s = std::abs(p) + std::abs(q) + std::abs(r);
      p /= s, q /= s, r /= s;
      if (m == l ||
          std::abs(h(m, m - 1)) * (std::abs(q) + std::abs(r)) <
              kEpsilon * std::abs(p) * (std::abs(h(m - 1, m - 1)) + std::abs(z) + std::abs(h(m + 1, m + 1))))
        break;
    }
    for (int64_t i = m + 2; i <= end; ++i) {
      h(i, i - 2) = 0;
      if (i > m + 2) h(i, i - 3) = 0;
    }
    for (int64_t k = m; k < end; ++k)
      if (!chase(k, m, l, end, p, q, r)) return;
  }
  /// Reflects rows and columns k to k + 2; false where nothing is left to chase.
  bool chase(int64_t k, int64_t m, int64_t l, int64_t end, double& p, double& q, double& r) {
    const bool three = k != end - 1;
    double x = 0;
    if (k != m) {
      p = h(k, k - 1), q = h(k + 1, k - 1), r = three ? h(k + 2, k - 1) : 0;
      x = std::abs(p) + std::abs(q) + std::abs(r);
      if (x == 0) return false;
      p /= x, q /= x, r /= x;
    }
    const double s = std::copysign(std::sqrt(p * p + q * q + r * r), p);
    if (s == 0) return true;
    if (k != m) h(k, k - 1) = -s * x;
    else if (l != m) h(k, k - 1) = -h(k, k - 1);
    p += s;
    const double f = p / s, g = q / s, z = r / s;
    q /= p, r /= p;
    for (int64_t j = k; j < n_; ++j) {
      const double t = h(k, j) + q * h(k + 1, j) + (three ? r * h(k + 2, j) : 0);
      h(k, j) -= t * f;
      h(k + 1, j) -= t * g;
      if (three) h(k + 2, j) -= t * z;
    }
    const auto from_right = [&](auto&& row) {
      const double t = f * row(k) + g * row(k + 1) + (three ? z * row(k + 2) : 0);
      row(k) -= t;
      row(k + 1) -= t * q;
      if (three) row(k + 2) -= t * r;
    };
    for (int64_t i = 0; i <= std::min(end, k + 3); ++i)
      from_right([&](int64_t j) -> double& { return h(i, j); });
    for (int64_t i = 0; i < n_; ++i) from_right([&](int64_t j) -> double& { return v(i, j); });
    return true;
  }

  const int64_t n_;
  std::vector<double> h_, v_, d_;
  double norm_ = 0, shift_ = 0;  // shift_: what has been subtracted from the diagonal
};

template <class T>
void eig_all(const CallRun& r) {
  const Batch b(r.operands[0].shape);
  const int64_t n = b.rows;
  for (int64_t m = 0; m < b.count; ++m) {
    const T* const x = input<T>(r, 0) + m * n * n;
    double most = 0;  // elements are divided by it, so that squares stay in range
    for (int64_t i = 0; i < n * n; ++i) most = std::max(most, std::abs(static_cast<double>(x[i])));
    if (most == 0) most = 1;
    Schur schur(n);
    for (int64_t i = 0; i < n * n; ++i) schur.h(i / n, i % n) = static_cast<double>(x[i]) / most;
    switch (schur.triangle()) {
      case Schur::Outcome::complex: fail_complex(r, m, schur.imaginary * most);
      case Schur::Outcome::not_converged: fail_to_converge(r, m);
      case Schur::Outcome::found: break;
    }
    for (int64_t i = 0; r.out[0] && i < n; ++i)
      output<T>(r, 0)[m * n + i] = static_cast<T>(schur.value(i) * most);
    if (r.outputs.size() < 2 || !r.out[1]) continue;
    schur.vectors();
    for (int64_t i = 0; i < n * n; ++i)
      output<T>(r, 1)[m * n * n + i] = static_cast<T>(schur.v(i % n, i / n));
  }
}

void run_eig(const CallRun& r) {
  need_finite(r);
  by_dtype(r, [&](auto zero) { eig_all<decltype(zero)>(r); });
}

}  // namespace

void fail_complex(const CallRun& r, int64_t index, double imaginary) {
  fail_for(r, index,
           "has complex eigenvalues (the imaginary part of one is " + std::to_string(imaginary) + ")");
}

void fail_to_converge(const CallRun& r, int64_t index) {
  fail_for(r, index, "can't be decomposed: the iteration does not converge");
}

constinit const CallDefinition kEig{
    .name = "eig", .traits = call_trait::kNotUnique, .infer = infer_eig, .run = run_eig};

}  // namespace lazy::jit::calls
