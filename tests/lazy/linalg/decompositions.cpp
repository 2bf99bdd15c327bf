// Tests decompositions by what they have to fulfil; tests/golden has NumPy's values where they are unique.
#include "lazy/linalg/linalg.hpp"
#include "tests/lazy/linalg/matrices.hpp"

using namespace linear;
using check::close;
using check::equal;

namespace {

using Sizes = std::vector<std::pair<int64_t, int64_t>>;
const Sizes kSizes{{1, 1}, {2, 5}, {5, 2}, {7, 7}, {23, 11}, {11, 23}, {37, 37}};

/// Returns v as diagonal matrices.
Tensor scaled_columns(const Tensor& x, const Tensor& v) { return x * expand_dims(v, -2); }

void check_svd(const Tensor& x) {
  const int64_t m = x.size(-2), n = x.size(-1), k = std::min(m, n);
  for (const bool full : {false, true}) {
    const SVD d = svd(x, full);
    BOOST_TEST(d.U.size(-1) == (full ? m : k));
    BOOST_TEST(d.Vh.size(-2) == (full ? n : k));
    BOOST_TEST(d.S.size(-1) == k);
    BOOST_TEST((d.S.dtype() == finfo(x.dtype()).dtype));
    orthonormal(d.U);
    orthonormal(adjoint(d.Vh));
    gives(matmul(scaled_columns(std::as_const(d.U)(ellipsis, slice(0, k)), d.S),
                 std::as_const(d.Vh)(ellipsis, slice(0, k), _)),
          x);
    BOOST_TEST(units(d.S, svdvals(x), std::max(m, n), largest(d.S)) < 10);
    BOOST_TEST(!bool(any(d.S < 0)));
    if (k > 1)
      BOOST_TEST(!bool(
          any(std::as_const(d.S)(ellipsis, slice(1, none)) > std::as_const(d.S)(ellipsis, slice(0, -1)))));
  }
}

void check_eigh(const Tensor& x, char uplo, const Tensor& whole) {
  const Eigh d = eigh(x, uplo);
  orthonormal(d.eigenvectors);
  BOOST_TEST((d.eigenvalues.dtype() == finfo(x.dtype()).dtype));
  gives(matmul(scaled_columns(d.eigenvectors, d.eigenvalues), adjoint(d.eigenvectors)), whole);
  BOOST_TEST(units(d.eigenvalues, eigvalsh(x, uplo), x.size(-1), largest(d.eigenvalues)) < 10);
  BOOST_TEST(units(d.eigenvalues, lazy::sort(d.eigenvalues).values, 1, 1) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_decompositions)

BOOST_AUTO_TEST_CASE(orthogonal_and_triangular) {
  for (const DType t : kNumbers)
    for (const auto& [m, n] : kSizes)
      for (const Shape& batch : kBatches) {
        const Tensor x = normal(with(batch, {m, n}), t, 5);
        for (const char* mode : {"reduced", "complete"}) {
          const QR d = qr(x, mode);
          BOOST_TEST(d.Q.size(-1) == (mode[0] == 'c' ? m : std::min(m, n)));
          orthonormal(d.Q);
          BOOST_TEST(largest(tril(d.R, -1)) == 0);
          gives(matmul(d.Q, d.R), x);
        }
        BOOST_TEST(bool(all(qr(x, "r").R == qr(x).R)));
        BOOST_TEST(largest(imag(diagonal(qr(x).R, 0, -2, -1))) == 0);
        BOOST_TEST(!qr(x, "r").Q.defined());
      }
  equal(qr(zeros({3, 0}), "complete").Q, float32, {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  equal(qr(zeros({3, 0})).Q, float32, {3, 0}, {});
  equal(qr(zeros({0, 2})).R, float32, {0, 2}, {});
  // Signs as LAPACK's: the diagonal of R is against that of x.
  equal(qr(eye(2, 2, 0, float64)).R, float64, {2, 2}, {1, 0, 0, 1});
  close(qr(tensor({3., 4.}, float64).reshape({2, 1})).R, {-5}, 1e-15);
  gives(matmul(qr(ones({4, 4}, float64)).Q, qr(ones({4, 4}, float64)).R), ones({4, 4}, float64));
  gives(matmul(qr(ones({4, 3}, float64) * 1e200).Q, qr(ones({4, 3}, float64) * 1e200).R),
        ones({4, 3}, float64) * 1e200);
}

BOOST_AUTO_TEST_CASE(singular_value_decompositions) {
  for (const DType t : kNumbers)
    for (const auto& [m, n] : kSizes)
      for (const Shape& batch : kBatches) check_svd(normal(with(batch, {m, n}), t, 5));
  for (const Shape& s : {Shape{3, 3}, Shape{4, 2}, Shape{2, 5}}) {
    check_svd(zeros(s, float64));
    check_svd(ones(s, float64));  // of rank 1
    check_svd(ones(s, float64) * 1e-200);
    check_svd(ones(s, float64) * 1e200);
  }
  equal(svd(zeros({2, 0})).U, float32, {2, 2}, {1, 0, 0, 1});
  equal(svd(zeros({2, 0})).Vh, float32, {0, 0}, {});
  equal(svd(zeros({0, 2}), false).Vh, float32, {0, 2}, {});
  equal(svdvals(zeros({3, 0, 2})), float32, {3, 0}, {});
}

BOOST_AUTO_TEST_CASE(symmetric_matrices) {
  for (const DType t : kNumbers)
    for (const int64_t n : {1, 2, 5, 17, 41})
      for (const Shape& batch : kBatches) {
        const Tensor x = normal(with(batch, {n, n}), t, 5), whole = x + adjoint(x);
        check_eigh(tril(whole) + triu(x, 1) * 0 + triu(ones_like(x), 1) * 99, 'L', whole);
        if (is_complex(x))  // nor imaginary parts of the diagonal
          check_eigh(whole + eye(n, n, 0, t) * std::complex<double>(0, 7), 'L', whole);
        check_eigh(triu(whole) + tril(ones_like(x), -1) * 99, 'U', whole);
      }
  check_eigh(eye(5, 5, 0, float64), 'L', eye(5, 5, 0, float64));
  check_eigh(zeros({4, 4}), 'u', zeros({4, 4}));
  check_eigh(ones({6, 6}, float64), 'l', ones({6, 6}, float64));
  equal(eigvalsh(zeros({2, 0, 0})), float32, {2, 0}, {});
  equal(eigh(zeros({0, 0})).eigenvectors, float32, {0, 0}, {});
  // Only the named triangle is read.
  const Tensor odd = tensor({2., check::NaN, 0., 3.}, float64).reshape({2, 2});
  equal(eigvalsh(odd), float64, {2}, {2, 3});
  BOOST_CHECK_THROW(eigvalsh(odd, 'U').eval(), Error);
}

BOOST_AUTO_TEST_CASE(spectra) {
  for (const DType t : kNumbers)
    for (const int64_t n : {1, 2, 6, 19})
      for (const Shape& batch : {Shape{}, Shape{3}, Shape{0}}) {
        // Similar to a diagonal matrix, so the eigenvalues are known.
        const Tensor v = normal(with(batch, {n, n}), t, 4) + eye(n, n, 0, t) * static_cast<double>(2 * n);
        const Tensor x = matmul(scaled_columns(v, arange(1, n + 1, 1, t)), inv(v));
        const Eig d = eig(x);
        BOOST_TEST((d.eigenvalues.dtype() == result_type(t, complex64)));
        BOOST_TEST(to_string(d.eigenvalues.shape()) == to_string(with(batch, {n})));
        gives(scaled_columns(d.eigenvectors, d.eigenvalues), matmul(x, d.eigenvectors), 100);
        close(sum(square(abs(d.eigenvectors)), -2),
              std::vector<double>(static_cast<size_t>(numel(batch) * n), 1), 1e-5);
        const double bound = finfo(t).dtype == float32 ? 1e-3 : 1e-11;
        const std::vector<double> sorted = lazy::sort(real(eigvals(x))).values.to_vector<double>();
        for (size_t i = 0; i < sorted.size(); ++i)
          BOOST_TEST(std::abs(sorted[i] - double(i % size_t(n)) - 1) < bound);
        BOOST_TEST(largest(imag(eigvals(x))) < bound);
      }
  const Tensor upper = triu(normal({9, 9}, float64, 6));
  close(lazy::sort(real(eigvals(upper))).values, lazy::sort(diagonal(upper)).values.to_vector<double>(),
        1e-14);
  equal(imag(eigvals(zeros({0, 0}))), float32, {0}, {});
}

BOOST_AUTO_TEST_CASE(complex_spectra_of_real_matrices) {
  const Tensor turn = tensor({0., -1., 1., 0.}, float64).reshape({2, 2}),
               batch = stack({eye(2, 2, 0, float64) * 3, turn});
  const Eig d = eig(batch);
  close(real(d.eigenvalues), {3, 3, 0, 0}, 1e-14);
  close(lazy::sort(imag(d.eigenvalues)(1)).values, {-1, 1}, 1e-14);
  gives(scaled_columns(d.eigenvectors, d.eigenvalues), matmul(batch, d.eigenvectors), 10);
  for (const DType t : {float32, float64})
    for (const int64_t n : {2, 3, 8, 31}) {
      const Tensor x = normal({2, n, n}, t, 3);
      const Eig of = eig(x);
      gives(scaled_columns(of.eigenvectors, of.eigenvalues), matmul(x, of.eigenvectors), 100);
      BOOST_TEST(units(sum(of.eigenvalues, -1), trace(x, 0, -2, -1) + 0 * of.eigenvalues(0, 0), n, n) < 20);
      // Those that are not real come in pairs.
      BOOST_TEST(largest(sum(imag(of.eigenvalues), -1)) < (t == float32 ? 1e-4 : 1e-12));
    }
  // A block of Jordan's has one eigenvector.
  const Tensor jordan = tensor({2., 1., 0., 2.}, float64).reshape({2, 2});
  BOOST_TEST(largest(eigvals(jordan) - 2) < 1e-7);
  BOOST_TEST(std::abs(largest(eig(jordan).eigenvectors(0)) - 1) < 1e-7);
  // Hermitian ones have real eigenvalues, the same as eigvalsh.
  const Tensor m = normal({5, 5}, complex128, 2), h = m + adjoint(m);
  BOOST_TEST(largest(lazy::sort(real(eigvals(h))).values - eigvalsh(h)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite) {
  const Tensor one = eye(3, 3, 0, float64);
  for (const auto& [v, imaginary] : std::vector<std::pair<double, bool>>{{check::NaN, false},
                                                                         {check::inf, false},
                                                                         {-check::inf, false},
                                                                         {check::NaN, true},
                                                                         {check::inf, true}}) {
    const Tensor part = stack({one, one * v}), x = imaginary ? complex(stack({one, one}), part) : part;
    x.eval();
    const std::string what = ": matrix [1] of the batch has NaN or an infinity";
    THROWS(Error, svdvals(x).eval(), "svdvals" + what);
    THROWS(Error, svd(x).U.eval(), "svd" + what);
    THROWS(Error, eigvalsh(x).eval(), "eigvalsh" + what);
    THROWS(Error, eigh(x).eigenvectors.eval(), "eigh" + what);
    THROWS(Error, eigvals(x).eval(), "eigvals" + what);
    THROWS(Error, eig(x).eigenvectors.eval(), "eig" + what);
    THROWS(Error, pinv(x).eval(), "pinv" + what);
    THROWS(Error, lstsq(x, ones({3}, float64)).rank.eval(), "lstsq" + what);
    THROWS(Error, matrix_rank(x).eval(), "matrix_rank" + what);
    THROWS(Error, cond(x).eval(), "cond" + what);
    THROWS(Error, matrix_norm(x, "nuc").eval(), "matrix_norm" + what);
  }
}

BOOST_AUTO_TEST_CASE(pseudo_inverses_and_ranks) {
  for (const DType t : kNumbers)
    for (const auto& [m, n] : kSizes)
      for (const Shape& batch : kBatches) {
        const Tensor x = normal(with(batch, {m, n}), t, 8), p = pinv(x);
        BOOST_TEST(to_string(p.shape()) == to_string(with(batch, {n, m})));
        gives(matmul(x, matmul(p, x)), x, 200);
        close(matrix_rank(x), std::vector<double>(static_cast<size_t>(numel(batch)), double(std::min(m, n))),
              0);
      }
  for (const DType t : {float64, complex128}) {
    const Tensor low = matmul(normal({2, 9, 3}, t, 1), normal({2, 3, 8}, t, 2));
    equal(matrix_rank(low), int64, {2}, {3, 3});
    gives(matmul(low, matmul(pinv(low), low)), low, 200);
    const Tensor symmetric = matmul(low, adjoint(low));
    equal(matrix_rank(symmetric, {}, true), int64, {2}, {3, 3});
    BOOST_TEST(largest(pinv(symmetric, 1e-10, true) - pinv(symmetric, 1e-10)) < 1e-10);
  }
  const Tensor signs = tensor({2., 0., 0., -4.}, float64).reshape({2, 2});
  close(pinv(signs, {}, true), {0.5, 0, 0, -0.25}, 1e-15);
  BOOST_TEST(matrix_rank(signs, 0.6).item<int64_t>() == 1);
  BOOST_TEST(matrix_rank(signs, {}, false, 3).item<int64_t>() == 1);
  BOOST_TEST(matrix_rank(signs, {}, false, 1).item<int64_t>() == 2);
  equal(matrix_rank(zeros({2, 3, 3})), int64, {2}, {0, 0});
  equal(matrix_rank(zeros({2, 0, 3})), int64, {2}, {0, 0});
  close(pinv(zeros({2, 3})), std::vector<double>(6, 0), 0);
}

BOOST_AUTO_TEST_CASE(layouts_of_decompositions) {
  for (const DType t : {float64, complex128}) {
    const Tensor a = normal({3, 13, 7}, t, 1);
    const Tensor columns = swapaxes(swapaxes(a, -1, -2).copy(), -1, -2), turned = flip(a).copy();
    columns.eval();
    turned.eval();
    for (const Tensor& x : {columns, flip(turned), a * 1, conj(conj(a))}) {
      close(svdvals(x), svdvals(a).to_vector<double>(), 1e-13);
      BOOST_TEST(largest(qr(x).R - qr(a).R) < 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(decompositions_eager_and_verified) {
  for (const char* how : {"LAZY_EAGER", "LAZY_VERIFY"}) {
    const config::Override on(how, "1");
    reset_metrics();
    for (const DType t : {float64, complex128}) {
      const Tensor x = normal({2, 9, 9}, t, 3), hermitian = x + adjoint(x);
      check_svd(x);
      check_eigh(hermitian, 'L', hermitian);
      gives(matmul(qr(x).Q, qr(x).R), x);
      gives(scaled_columns(eig(x).eigenvectors, eig(x).eigenvalues), matmul(x, eig(x).eigenvectors), 100);
    }
    BOOST_TEST(metrics().verify_failures == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
