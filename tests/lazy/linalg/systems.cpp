// Tests solutions by what they have to fulfil; tests/golden has NumPy's values.
#include "lazy/linalg/linalg.hpp"
#include "tests/lazy/linalg/matrices.hpp"

using namespace linear;
using check::close;
using check::equal;

namespace {

/// Returns well-conditioned matrices.
Tensor regular(const Shape& batch, int64_t n, DType t, uint64_t seed) {
  const Tensor x = normal(with(batch, {n, n}), t, seed) + eye(n, n, 0, t) * static_cast<double>(2 * n);
  x.eval();
  return x;
}

/// Checks that the residual of a solution is of rounding's size.
void solves(const Tensor& a, const Tensor& x, const Tensor& b, Site s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line() << ", shapes " << to_string(a.shape())
                                  << to_string(b.shape())) {
    BOOST_TEST((x.dtype() == a.dtype()));
    BOOST_TEST(units(matmul(a, x), b, a.size(-1), largest(a) * largest(x)) < 10);
  }
}

void solve_sizes(DType t) {
  for (const int64_t n : {1, 2, 3, 7, 16, 17, 31, 67, 131})
    for (const Shape& batch : kBatches)
      for (const int64_t k : {1, 2, 5}) {
        const Tensor a = regular(batch, n, t, 7), b = normal(with(batch, {n, k}), t, 8), x = solve(a, b);
        BOOST_TEST(to_string(x.shape()) == to_string(b.shape()));
        solves(a, x, b);
      }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_systems)

BOOST_AUTO_TEST_CASE(solutions) {
  for (const DType t : kNumbers) solve_sizes(t);
  const Tensor a = regular({2, 1}, 5, float64, 1), b = normal({3, 5, 2}, float64, 2);
  solves(a, solve(a, b), b);
  BOOST_TEST(to_string(solve(a, b).shape()) == "[2, 3, 5, 2]");
  const Tensor one = regular({}, 5, float64, 3);
  solves(one, solve(one, b), b);  // factored once
  const Tensor v = normal({5}, float64, 4);
  solves(a, expand_dims(solve(a, v), -1), broadcast_to(expand_dims(v, -1), {2, 1, 5, 1}));
  BOOST_TEST(to_string(solve(a, v).shape()) == "[2, 1, 5]");
  BOOST_TEST(to_string(solve(one, v).shape()) == "[5]");
}

BOOST_AUTO_TEST_CASE(complex_systems) {
  const Tensor a = regular({2, 1}, 5, complex128, 1), b = normal({3, 5, 2}, float64, 2);
  solves(a, solve(a, b), b + 0.0 * a(0, 0, 0, 0));  // real right-hand sides
  const Tensor real_matrix = regular({}, 5, float64, 3), c = normal({5, 2}, complex128, 4);
  solves(real_matrix + 0.0 * c(0, 0), solve(real_matrix, c), c);
  BOOST_TEST((solve(real_matrix, astype(c, complex64)).dtype() == complex128));
  const Tensor parts = normal({4, 19, 19}, complex128, 1), x = normal({4, 19, 3}, complex128, 2);
  for (const Tensor& view :
       {swapaxes(swapaxes(parts, -1, -2).copy(), -1, -2), flip(flip(parts).copy()), conj(conj(parts))})
    BOOST_TEST(largest(solve(view, x) - solve(parts, x)) < 1e-12);
  const Tensor bad = complex(ones({2, 2}, float64), ones({2, 2}, float64));
  THROWS(Error, inv(bad).eval(), "inv: matrix is singular (U of its factors has 0 at [1, 1])");
  THROWS(Error, cholesky(-eye(2, 2, 0, complex128)).eval(),
         "cholesky: matrix is not positive definite (its leading minor of order 1 is not positive)");
  equal(real(inv(zeros({0, 0}, complex64))), float32, {0, 0}, {});
  equal(real(det(zeros({2, 0, 0}, complex128))), float64, {2}, {1, 1});
  const Tensor none = normal({1, 1}, complex128, 9);
  BOOST_TEST(largest(inv(none) * none - 1) < 1e-15);
}

BOOST_AUTO_TEST_CASE(layouts_of_systems) {
  const Tensor a = regular({4}, 19, float64, 1), b = normal({4, 19, 3}, float64, 2);
  const std::vector<double> expected = solve(a, b).to_vector<double>();
  const Tensor columns = swapaxes(swapaxes(a, -1, -2).copy(), -1, -2);
  columns.eval();
  close(solve(columns, b), expected, 1e-12);
  const Tensor turned = flip(a).copy(), turned_b = flip(b).copy();
  turned.eval();
  close(solve(flip(turned), flip(turned_b)), expected, 1e-12);
  const Tensor first = std::as_const(a)(0);
  first.eval();
  const Tensor repeated = solve(broadcast_to(first, {4, 19, 19}), b), once = solve(a, b);
  close(repeated(0), once(0).to_vector<double>(), 1e-12);
  close(solve(a * 2 / 2, b + 0), expected, 1e-12);  // not computed yet
}

BOOST_AUTO_TEST_CASE(empty_systems) {
  equal(solve(zeros({0, 0}, float64), zeros({0, 3}, float64)), float64, {0, 3}, {});
  equal(solve(zeros({2, 0, 0}, float64), zeros({0}, float64)), float64, {2, 0}, {});
  equal(solve(eye(3, 3, 0, float64), zeros({3, 0}, float64)), float64, {3, 0}, {});
  equal(solve(zeros({0, 2, 2}), zeros({2, 1})), float32, {0, 2, 1}, {});
  equal(inv(zeros({0, 0}, float64)), float64, {0, 0}, {});
  equal(det(zeros({2, 0, 0}, float64)), float64, {2}, {1, 1});
  equal(slogdet(zeros({0, 0}, float64)).logabsdet, float64, {}, {0});
  equal(lu(zeros({0, 3})).P, float32, {0, 0}, {});
  equal(lu(zeros({2, 0})).P, float32, {2, 2}, {1, 0, 0, 1});
  equal(lu_factor(zeros({3, 0})).pivots, int32, {0}, {});
  equal(lstsq(zeros({3, 0}), ones({3})).solution, float32, {0}, {});
  equal(lstsq(zeros({3, 0}), ones({3})).residuals, float32, {}, {3});
  equal(lstsq(zeros({0, 2}), zeros({0, 1})).solution, float32, {2, 1}, {0, 0});
  equal(pinv(zeros({2, 0, 3}, float64)), float64, {2, 3, 0}, {});
  equal(cholesky_inverse(zeros({0, 0})), float32, {0, 0}, {});
  equal(solve_triangular(zeros({0, 0}), zeros({0, 2}), true), float32, {0, 2}, {});
}

BOOST_AUTO_TEST_CASE(integers_are_converted) {
  const Tensor a = tensor({2, 1, 1, 1}).reshape({2, 2});
  equal(solve(a, tensor({3, 2})), float32, {2}, {1, 1});
  equal(det(a), float32, {}, {1});
  const check::DefaultDType wide(float64);
  equal(inv(a), float64, {2, 2}, {1, -1, -1, 2});
  equal(inv(ones({1, 1}, bool_)), float64, {1, 1}, {1});
  BOOST_TEST((solve(a, ones({2}, float32)).dtype() == float32));
}

BOOST_AUTO_TEST_CASE(singular_matrices) {
  const Tensor bad = tensor({1., 2., 2., 4.}, float64).reshape({2, 2}), good = eye(2, 2, 0, float64);
  const Tensor batch = stack({stack({good, good, good}), stack({good, bad, bad})});
  batch.eval();
  THROWS(Error, solve(batch, good).eval(),
         "solve: matrix [1, 1] of the batch is singular (U of its factors has 0 at [1, 1])");
  THROWS(Error, inv(batch).eval(),
         "inv: matrix [1, 1] of the batch is singular (U of its factors has 0 at [1, 1])");
  THROWS(Error, inv(bad).eval(), "inv: matrix is singular (U of its factors has 0 at [1, 1])");
  THROWS(Error, tensorinv(bad, 1).eval(), "tensorinv: matrix is singular (U of its factors has 0 at [1, 1])");
  THROWS(Error, matrix_power(bad, -2).eval(),
         "matrix_power: matrix is singular (U of its factors has 0 at [1, 1])");
  THROWS(Error, solve_triangular(good * tensor({1., 0.}, float64), good, false).eval(),
         "solve_triangular: matrix is singular (it has 0 at [1, 1])");
  THROWS(Error, cholesky_solve(good, good * 0).eval(),
         "cholesky_solve: matrix is singular (it has 0 at [0, 0])");
  close(det(batch), {1, 1, 1, 1, 0, 0}, 0);
  const SlogDet s = slogdet(bad);
  BOOST_TEST(s.sign.item<double>() == 0);
  BOOST_TEST(s.logabsdet.item<double>() == -check::inf);
  equal(solve_triangular(good * 0, good, false, true, true), float64, {2, 2}, {1, 0, 0, 1});
  for (const int64_t n : {20, 40}) {  // LAPACK's own
    const Tensor x = inv(stack({eye(n), zeros({n, n}), eye(n)}));
    BOOST_CHECK_EXCEPTION(x.eval(), Error, [](const Error& e) {
      return std::string(e.what()).starts_with(
          "inv: matrix [1] of the batch is singular (U of its factors has 0");
    });
    const Tensor t = solve_triangular(eye(n) - eye(n) * 1, ones({n, 1}), true);
    BOOST_CHECK_THROW(t.eval(), Error);
  }
}

BOOST_AUTO_TEST_CASE(nan_goes_through_arithmetic) {
  for (const int64_t n : {2, 40}) {
    const Tensor x = eye(n, n, 0, float64) * check::NaN;
    BOOST_TEST(std::isnan(det(x).item<double>()));
    BOOST_TEST(std::isnan(largest(solve(x, ones({n}, float64)))));
    BOOST_TEST(std::isnan(largest(qr(x).R)));
    BOOST_TEST(std::isnan(largest(matrix_exp(x))));
    const Tensor big = eye(n, n, 0, float64) * check::inf;
    (void)largest(solve(big, ones({n}, float64)));  // ends
    (void)largest(qr(big).Q);
  }
}

BOOST_AUTO_TEST_CASE(inverses) {
  for (const DType t : kNumbers)
    for (const int64_t n : {1, 2, 5, 16, 17, 43})
      for (const Shape& batch : kBatches) {
        const Tensor a = regular(batch, n, t, 5);
        const Tensor one = broadcast_to(eye(n, n, 0, t), a.shape());
        BOOST_TEST(units(matmul(a, inv(a)), one, n, 1) < 20);
      }
  // The inverse of Hilbert's matrix has integers; the condition number is 1.5e7.
  const Tensor i = arange(0, 6, 1, float64), hilbert = 1 / (expand_dims(i, 1) + i + 1);
  const Tensor h = inv(hilbert);
  BOOST_TEST(std::abs(std::as_const(h)(0, 0).item<double>() - 36) < 1e-6);
  BOOST_TEST(std::abs(std::as_const(h)(4, 4).item<double>() - 4410000) < 1);
}

BOOST_AUTO_TEST_CASE(triangles) {
  for (const DType t : kNumbers)
    for (const int64_t n : {1, 3, 16, 29})
      for (const Shape& batch : kBatches) {
        const Tensor a = regular(batch, n, t, 5), b = normal(with(batch, {n, 4}), t, 6),
                     row = normal(with(batch, {2, n}), t, 7);
        for (const bool upper : {false, true}) {
          const Tensor triangle = upper ? triu(a) : tril(a);
          solves(triangle, solve_triangular(a, b, upper), b);
          const Tensor right = solve_triangular(a, row, upper, false);
          BOOST_TEST(units(matmul(right, triangle), row, n, largest(a) * largest(right)) < 10);
          const Tensor small = a / static_cast<double>(4 * n);
          const Tensor unit = (upper ? triu(small, 1) : tril(small, -1)) + eye(n, n, 0, t);
          solves(unit, solve_triangular(small, b, upper, true, true), b);
        }
      }
  const Tensor a = regular({}, 5, float64, 1), b = normal({2, 3, 5, 2}, float64, 2);
  solves(tril(a), solve_triangular(a, b, false), b);
  const Tensor many = regular({3, 1, 1}, 5, float64, 1);
  BOOST_TEST(to_string(solve_triangular(many, b, true).shape()) == "[3, 2, 3, 5, 2]");
  solves(triu(many), solve_triangular(many, b, true), b);
}

BOOST_AUTO_TEST_CASE(factors) {
  for (const DType t : kNumbers)
    for (const auto& [m, n] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {5, 5}, {7, 3}, {3, 7}, {37, 23}, {101, 67}, {33, 140}})
      for (const Shape& batch : kBatches) {
        const Tensor x = normal(with(batch, {m, n}), t, 3);
        const LU f = lu(x);
        gives(matmul(f.P, matmul(f.L, f.U)), x);
        BOOST_TEST(largest(triu(f.L, 1)) == 0);
        BOOST_TEST(largest(tril(f.U, -1)) == 0);
        // Pivots are the largest by |re| + |im|.
        BOOST_TEST(largest(f.L) <= (numel(batch) == 0 ? 0 : is_complex(x) ? 1.415 : 1));
        const LUFactors packed = lu_factor(x);
        const Tensor left = std::as_const(packed.LU)(ellipsis, slice(0, std::min(m, n)));
        BOOST_TEST(bool(all(left == tril(f.L, -1) + triu(left))));
        BOOST_TEST((packed.pivots.dtype() == int32));
        if (m != n) continue;
        const Tensor b = normal({2, 1, n, 3}, t, 4);
        if (batch.size() != 2) {
          const Tensor got = lu_solve(packed.LU, packed.pivots, b);
          BOOST_TEST(units(matmul(x, got), b, n, largest(x) * largest(got)) < 10);
        }
      }
  const Tensor singular = zeros({2, 2}, float64),
               got = lu_solve(singular, tensor({1, 2}), ones({2, 1}, float64));
  BOOST_CHECK_THROW(got.eval(), Error);
  const Tensor odd = lu_solve(eye(2), tensor({1, 3}), ones({2, 1}));
  BOOST_CHECK_THROW(odd.eval(), Error);
}

BOOST_AUTO_TEST_CASE(by_a_cholesky_factor) {
  for (const DType t : kNumbers)
    for (const int64_t n : {1, 4, 23})
      for (const Shape& batch : kBatches) {
        const Tensor m = normal(with(batch, {n, n}), t, 9);
        const Tensor x = matmul(m, adjoint(m)) + eye(n, n, 0, t) * static_cast<double>(n);
        const Tensor b = normal(with(batch, {n, 2}), t, 10);
        for (const bool upper : {false, true}) {
          const Tensor l = cholesky(upper ? triu(x) : tril(x), upper);
          BOOST_TEST(largest(upper ? tril(l, -1) : triu(l, 1)) == 0);
          gives(upper ? matmul(adjoint(l), l) : matmul(l, adjoint(l)), x);
          solves(x, cholesky_solve(b, l, upper), b);
          solves(x, cholesky_inverse(l, upper), broadcast_to(eye(n, n, 0, t), x.shape()));
        }
      }
}

BOOST_AUTO_TEST_CASE(determinants) {
  for (const DType t : kNumbers)
    for (const int64_t n : {1, 2, 5, 9}) {
      const Tensor a = regular({3}, n, t, 1), b = regular({3}, n, t, 2);
      BOOST_TEST(largest(det(matmul(a, b)) / (det(a) * det(b)) - 1) < (finfo(t).eps * 1000));
      const SlogDet s = slogdet(a);
      BOOST_TEST((s.logabsdet.dtype() == finfo(t).dtype));
      BOOST_TEST((s.sign.dtype() == t));
      BOOST_TEST(largest(s.sign * exp(s.logabsdet) / det(a) - 1) < (finfo(t).eps * 1000));
    }
  const Tensor x = tensor({0., 1., 1., 0., 2., 1., 7., 4.}, float64).reshape({2, 2, 2});
  close(det(x), {-1, 1}, 1e-15);
  const SlogDet s = slogdet(x);
  equal(s.sign, float64, {2}, {-1, 1});
  close(s.logabsdet, {0, 0}, 1e-15);
  // Too large for a determinant, not for its logarithm.
  const SlogDet large = slogdet(eye(300, 300, 0, float64) * -100);
  BOOST_TEST(large.sign.item<double>() == 1);
  BOOST_TEST(std::abs(large.logabsdet.item<double>() - 300 * std::log(100)) < 1e-9);
  BOOST_TEST(det(eye(300, 300, 0, float64) * -100).item<double>() == check::inf);
  // A permutation's determinant is its parity.
  const Tensor cycle = roll(eye(30, 30, 0, float64), 1, 0);
  BOOST_TEST(det(cycle).item<double>() == -1);
}

BOOST_AUTO_TEST_CASE(least_squares) {
  for (const DType t : kNumbers)
    for (const auto& [m, n] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {9, 4}, {4, 9}, {31, 31}})
      for (const Shape& batch : kBatches) {
        const Tensor a = normal(with(batch, {m, n}), t, 5), b = normal(with(batch, {m, 3}), t, 6);
        const LeastSquares s = lstsq(a, b);
        BOOST_TEST(to_string(s.solution.shape()) == to_string(with(batch, {n, 3})));
        BOOST_TEST(to_string(s.residuals.shape()) == to_string(with(batch, {3})));
        // What is left is orthogonal to the columns.
        const Tensor left = b - matmul(a, s.solution);
        BOOST_TEST(units(matmul(adjoint(a), left), zeros_like(s.solution), m + n,
                         largest(a) * largest(a) * std::max(1.0, largest(s.solution))) < 20);
        close(s.rank, std::vector<double>(static_cast<size_t>(numel(batch)), double(std::min(m, n))), 0);
        check::close(s.residuals, sum(square(abs(left)), -2).to_vector<double>(), 1e-4);
      }
  // Of rank 1: the shortest solution is along the rows.
  const Tensor a = outer(tensor({1., 2., 3.}, float64), tensor({1., 1.}, float64));
  const LeastSquares s = lstsq(a, tensor({2., 4., 6.}, float64));
  close(s.solution, {1, 1}, 1e-14);
  BOOST_TEST(s.rank.item<int64_t>() == 1);
  close(s.singular_values, {std::sqrt(28), 0}, 1e-14);
  BOOST_TEST(lstsq(eye(2) * tensor({1.f, 0.01f}), ones({2}), 0.1).rank.item<int64_t>() == 1);
  BOOST_TEST(to_string(lstsq(zeros({2, 3, 2}), ones({4, 1, 3, 1})).solution.shape()) == "[4, 2, 2, 1]");
}

BOOST_AUTO_TEST_CASE(tensors_as_matrices) {
  const Tensor a = regular({}, 6, float64, 1).reshape({2, 3, 6}), b = normal({2, 3}, float64, 2);
  const Tensor x = tensorsolve(a, b);
  BOOST_TEST(to_string(x.shape()) == "[6]");
  close(tensordot(a, x, 1), b.to_vector<double>(), 1e-13);
  const Tensor i = tensorinv(a, 2);
  BOOST_TEST(to_string(i.shape()) == "[6, 2, 3]");
  close(tensordot(i, b, 2), x.to_vector<double>(), 1e-13);
  BOOST_TEST(to_string(tensorinv(a.reshape({6, 3, 2}), 1).shape()) == "[3, 2, 6]");
}

BOOST_AUTO_TEST_CASE(threads_give_the_same_bits) {
  for (const DType t : {float64, complex128})
    for (const auto& [count, n] : std::vector<std::pair<int64_t, int64_t>>{{500, 12}, {1, 100}}) {
      const Tensor a = regular({count}, n, t, 1), b = normal({count, n, 2}, t, 2);
      const Tensor positive = matmul(a, adjoint(a)).eval();
      std::vector<double> first;
      for (const char* threads : {"1", "2", "7"}) {
        const config::Override set("LAZY_NUM_THREADS", threads);
        std::vector<double> v;
        for (const Tensor& y : {solve(a, b), det(a), qr(a).Q, svdvals(a), cholesky(positive)})
          for (const Tensor& part : {real(y), imag(y)})
            for (const double e : part.to_vector<double>()) v.push_back(e);
        if (first.empty()) first = v;
        BOOST_TEST((v == first));
      }
    }
}

// Right-hand sides are solved in groups of strips, of as many columns as threads leave: less than a strip,
// less than a group, one column more than some.
BOOST_AUTO_TEST_CASE(any_number_of_right_hand_sides) {
  for (const DType t : {float32, float64, complex64, complex128}) {
    const Tensor a = regular({}, 131, t, 1), all = normal({131, 193}, t, 2).eval();
    for (const char* threads : {"1", "3"}) {
      const config::Override set("LAZY_NUM_THREADS", threads);
      const Tensor whole = solve(a, all).eval();
      solves(a, whole, all);
      for (const int64_t count : {1, 5, 6, 12, 13, 24, 25, 48, 97, 192}) {
        const Tensor some = solve(a, all(_, slice(0, count)));
        BOOST_TEST(abs(some - whole(_, slice(0, count))).max().item<double>() == 0, t << " " << count);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(systems_eager_and_verified) {
  for (const char* how : {"LAZY_EAGER", "LAZY_VERIFY"}) {
    const config::Override on(how, "1");
    reset_metrics();
    for (const DType t : {float64, complex128}) {
      const Tensor a = regular({2}, 20, t, 1), b = normal({2, 20, 2}, t, 2);
      solves(a, solve(a, b), b);
      gives(matmul(lu(a).P, matmul(lu(a).L, lu(a).U)), a);
      BOOST_TEST(largest(det(a) / exp(slogdet(a).logabsdet) - slogdet(a).sign) < 1e-12);
    }
    BOOST_TEST(metrics().verify_failures == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
