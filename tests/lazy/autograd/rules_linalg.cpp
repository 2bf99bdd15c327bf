// Compares the rules of linear algebra with differences, to the second order.
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using check::gradients;
using check::random_values;
using check::two_orders;
using List = const std::vector<Tensor>&;

namespace {

Tensor transposed(const Tensor& x) { return swapaxes(x, -1, -2); }
Tensor symmetric(const Tensor& x) { return (x + transposed(x)) * 0.5; }
/// Returns symmetric matrices with eigenvalues above 1, as a function of any.
Tensor positive(const Tensor& x) {
  return matmul(x, transposed(x)) + eye(x.size(-1), x.size(-1), 0, float64);
}
/// Returns matrices far from singular.
Tensor regular(std::mt19937& g, const Shape& s) {
  return random_values(g, s, -1, 1) + eye(s[s.size() - 1], s[s.size() - 1], 0, float64) * 3.0;
}
/// Returns matrices whose eigenvalues are apart, and real.
Tensor apart(const Tensor& x) { return symmetric(x) + diag(arange(x.size(-1)).astype(float64) * 5.0); }

const Shape kSquares[] = {{1, 1}, {3, 3}, {2, 3, 3}};
const Shape kMatrices[] = {{1, 1}, {3, 3}, {5, 3}, {3, 5}, {2, 4, 2}, {1, 3}, {3, 1}};

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd_rules_linalg)

BOOST_AUTO_TEST_CASE(triangles) {
  std::mt19937 g(11);
  for (const Shape& s : kSquares) {
    const Tensor x = random_values(g, s, -1, 1), a = regular(g, s),
                 b = random_values(g, {s.back(), 2}, -1, 1);
    for (const bool upper : {false, true}) {
      two_orders("cholesky", [&](List x) { return cholesky(positive(x[0]), upper); }, {x});
      two_orders(
          "cholesky_inverse", [&](List x) { return cholesky_inverse(x[0], upper); }, {a}, 1e-5);
      two_orders(
          "cholesky_solve", [&](List x) { return cholesky_solve(x[0], x[1], upper); }, {b, a}, 1e-5);
      for (const bool ones : {false, true}) {
        two_orders("solve_triangular",
                   [&](List x) { return solve_triangular(x[0], x[1], upper, true, ones); }, {a, b});
        two_orders("solve_triangular from the right",
                   [&](List x) { return solve_triangular(x[0], x[1], upper, false, ones); }, {a, b.T()});
      }
    }
  }
  // Only the lower triangle is read; the gradient is that of the symmetric matrix.
  const Tensor x = positive(random_values(g, {4, 4}, -1, 1));
  const Tensor back = vjp([](List x) { return cholesky(x[0]); }, {x})(random_values(g, {4, 4}, -1, 1))[0];
  BOOST_TEST(max(abs(back - back.T())).item<double>() < 1e-14);
}

BOOST_AUTO_TEST_CASE(systems) {
  std::mt19937 g(12);
  for (const Shape& s : kSquares) {
    const Tensor a = regular(g, s), b = random_values(g, {s.back(), 2}, -1, 1),
                 v = random_values(g, {s.back()}, -1, 1);
    two_orders("solve", [](List x) { return solve(x[0], x[1]); }, {a, b});
    two_orders("solve for a vector", [](List x) { return solve(x[0], x[1]); }, {a, v});
    two_orders("inv", [](List x) { return inv(x[0]); }, {a});
    two_orders("det", [](List x) { return det(x[0]); }, {a});
    two_orders("slogdet", [](List x) { return slogdet(x[0]).logabsdet; }, {a});
    two_orders("lu_solve",
               [](List x) {
                 const LUFactors f = lu_factor(x[0]);
                 return lu_solve(f.LU, f.pivots, x[1]);
               },
               {flip(a, {-2}), b});
    two_orders("matrix_power", [](List x) { return matrix_power(x[0], -2); }, {a});
    two_orders("cond", [](List x) { return cond(x[0], 1); }, {a});
  }
  const Tensor one = regular(g, {3, 3}), many = random_values(g, {4, 3, 2}, -1, 1);
  two_orders("one matrix for a batch", [](List x) { return solve(x[0], x[1]); }, {one, many});
  two_orders("tensorsolve", [](List x) { return tensorsolve(x[0], x[1]); },
             {regular(g, {6, 6}).reshape({2, 3, 6}), random_values(g, {2, 3}, -1, 1)});
  two_orders("tensorinv", [](List x) { return tensorinv(x[0], 1); }, {regular(g, {6, 6}).reshape({6, 2, 3})});
}

BOOST_AUTO_TEST_CASE(determinants_of_singular_matrices) {
  // The gradient is the cofactors, of which a matrix whose rank lacks one has some that are not 0.
  const auto minors = [](const std::vector<double>& values, int64_t n) {
    gradients("det", [](List x) { return det(x[0]); }, {reshape(asarray(values), {n, n})});
  };
  minors({1, 2, 2, 4}, 2);
  minors({1, 2, 3, 4, 5, 6, 5, 7, 9}, 3);
  minors({0, 1, 0, 2}, 2);
  minors({0, 1, 0, 0}, 2);
  minors({0, 3e-9, 0, 5e-9}, 2);
  minors({0, 0, 0, 0}, 2);
  minors({2, 0, 0, 0, 3, 0, 0, 0, 0}, 3);
  minors({0}, 1);
}

BOOST_AUTO_TEST_CASE(factors) {
  std::mt19937 g(13);
  for (const Shape& s : kMatrices) {
    const Tensor x = random_values(g, s, -1, 1);
    two_orders(
        "lu",
        [](List x) {
          const LU d = lu(x[0]);
          return concat({reshape(d.L, {-1}), reshape(d.U, {-1})});
        },
        {x}, 1e-4);
    two_orders("lu, P", [](List x) { return matmul(lu(x[0]).P, sin(x[0])); }, {x});
    two_orders(
        "lu_factor", [](List x) { return lu_factor(x[0]).LU; }, {x}, 1e-4);
    two_orders(
        "qr",
        [](List x) {
          const QR d = qr(x[0]);
          return concat({reshape(d.Q, {-1}), reshape(d.R, {-1})});
        },
        {x}, 1e-4);
    two_orders(
        "R", [](List x) { return qr(x[0], "r").R; }, {x}, 1e-4);
    two_orders(
        "R, complete", [](List x) { return qr(x[0], "complete").R; }, {x}, 1e-4);
  }
  two_orders(
      "Q, complete", [](List x) { return qr(x[0], "complete").Q; }, {random_values(g, {3, 4}, -1, 1)}, 1e-4);
  const Tensor tall = random_values(g, {4, 3}, -1, 1);
  const Pullback back = vjp([](List x) { return qr(x[0], "complete").Q; }, {tall});
  BOOST_CHECK_EXCEPTION(back(ones({4, 4}, float64)), Error, [](const Error& e) {
    return std::string(e.what()).find("qr: Q of the mode \"complete\" has no derivative") !=
           std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(singular_values) {
  std::mt19937 g(14);
  for (const Shape& s : kMatrices) {
    Tensor x = random_values(g, s, -1, 1);
    const int64_t k = std::min(s.back(), s[s.size() - 2]);
    x(ellipsis, slice(0, k), slice(0, k)) += diag(arange(k).astype(float64) * 3.0 + 1.0);
    for (const bool full : {false, true}) {
      two_orders(
          "svd",
          [&](List x) {
            const SVD d = svd(x[0], full);
            return concat({reshape(std::as_const(d.U)(ellipsis, slice(0, k)), {-1}), reshape(d.S, {-1}),
                           reshape(std::as_const(d.Vh)(ellipsis, slice(0, k), _), {-1})});
          },
          {x}, 1e-4);
      two_orders(
          "U", [&](List x) { return square(svd(x[0], full).U(ellipsis, slice(0, k))); }, {x}, 1e-4);
      two_orders(
          "Vh", [&](List x) { return svd(x[0], full).Vh(ellipsis, slice(0, k), _); }, {x}, 1e-4);
    }
    two_orders(
        "svdvals", [](List x) { return svdvals(x[0]); }, {x}, 1e-5);
    two_orders(
        "pinv", [](List x) { return pinv(x[0]); }, {x}, 1e-4);
    two_orders(
        "nuclear norm", [](List x) { return matrix_norm(x[0], "nuc"); }, {x}, 1e-5);
    two_orders(
        "spectral norm", [](List x) { return matrix_norm(x[0], 2); }, {x}, 1e-5);
    two_orders(
        "cond", [](List x) { return cond(x[0]); }, {x}, 1e-4);
    two_orders(
        "lstsq",
        [](List x) {
          const LeastSquares d = lstsq(x[0], x[1]);
          return concat({reshape(d.solution, {-1}), reshape(d.residuals, {-1})});
        },
        {x, random_values(g, {s[s.size() - 2], 2}, -1, 1)}, 1e-4);
  }
  // Equal singular values: nothing is divided by their difference.
  two_orders(
      "pinv of an orthogonal matrix", [](List x) { return pinv(x[0]); }, {eye(3, 3, 0, float64) * 2.0}, 1e-5);
  two_orders(
      "lstsq of it", [](List x) { return lstsq(x[0], x[1]).solution; },
      {eye(3, 2, 0, float64), random_values(g, {3}, -1, 1)}, 1e-5);
  // Values alone have a derivative where they are equal.
  gradients("equal values", [](List x) { return sum(svdvals(x[0])); }, {eye(3, 3, 0, float64)});
}

BOOST_AUTO_TEST_CASE(eigenvalues) {
  std::mt19937 g(15);
  for (const Shape& s : kSquares) {
    const Tensor x = random_values(g, s, -1, 1);
    for (const char uplo : {'L', 'U'}) {
      two_orders(
          "eigvalsh", [&](List x) { return eigvalsh(apart(x[0]), uplo); }, {x}, 1e-5);
      two_orders(
          "eigh",
          [&](List x) {
            const Eigh d = eigh(apart(x[0]), uplo);
            return concat({reshape(d.eigenvalues, {-1}), reshape(d.eigenvectors, {-1})});
          },
          {x}, 1e-4);
    }
    two_orders(
        "hermitian pinv", [](List x) { return pinv(apart(x[0]), {}, true); }, {x}, 1e-3);
    const Tensor real = apart(x) + random_values(g, s, -0.2, 0.2);
    two_orders(
        "eigvals", [](List x) { return view_as_real(eigvals(x[0])); }, {real}, 1e-5);
    two_orders(
        "eig", [](List x) { return view_as_real(eig(x[0]).eigenvectors); }, {real}, 1e-4);
    two_orders(
        "matrix_exp", [](List x) { return matrix_exp(x[0]); }, {x}, 1e-5);
  }
  const Tensor back = vjp([](List x) { return eigh(x[0]).eigenvectors; },
                          {apart(random_values(g, {4, 4}, -1, 1))})(random_values(g, {4, 4}, -1, 1))[0];
  BOOST_TEST(max(abs(back - back.T())).item<double>() < 1e-13);
  gradients("equal eigenvalues", [](List x) { return square(sum(eigvalsh(symmetric(x[0])))); },
            {eye(3, 3, 0, float64)});
}

BOOST_AUTO_TEST_CASE(no_elements_and_float32) {
  for (const Shape& s : {Shape{0, 0}, Shape{0, 3, 3}, Shape{2, 0, 0}}) {
    const Tensor x = zeros(s, float64);
    const TensorFunction all[] = {[](List x) { return cholesky(x[0]); },
                                  [](List x) { return inv(x[0]); },
                                  [](List x) { return det(x[0]); },
                                  [](List x) { return qr(x[0]).R; },
                                  [](List x) { return svd(x[0]).S; },
                                  [](List x) { return eigh(x[0]).eigenvalues; },
                                  [](List x) { return lu(x[0]).U; },
                                  [](List x) { return view_as_real(eigvals(x[0])); },
                                  [](List x) { return matrix_exp(x[0]); },
                                  [](List x) { return pinv(x[0]); },
                                  [](List x) { return lstsq(x[0], x[0]).solution; }};
    for (const TensorFunction& f : all) {
      const Pullback p = vjp(f, {x});
      check::same(p(zeros(p.value.shape(), float64))[0], zeros(s, float64));
    }
  }
  std::mt19937 g(16);
  const Tensor x = regular(g, {3, 3});
  const auto at = [&](DType t) {
    const auto f = [](List x) { return matmul(inv(x[0]), svd(x[0]).U) + matrix_exp(x[0] * 0.1); };
    return vjp(f, {x.astype(t)})(ones({3, 3}, t))[0];
  };
  BOOST_TEST((at(float32).dtype() == float32));
  BOOST_TEST(max(abs(at(float32).astype(float64) - at(float64))).item<double>() < 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()
