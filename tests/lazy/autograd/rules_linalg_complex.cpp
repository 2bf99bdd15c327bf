// Compares the rules of linear algebra with differences, of complex matrices, to the second order: values are
// functions of both parts, and of vectors that any factor of length 1 may turn only what it leaves as it is.
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using check::gradients;
using check::random_values;
using check::two_orders;
using List = const std::vector<Tensor>&;

namespace {

using Function = std::function<Tensor(List)>;

Tensor drawn(std::mt19937& g, const Shape& s) {
  return complex(random_values(g, s, -1, 1), random_values(g, s, -1, 1)).eval();
}
Tensor one(const Shape& s) { return eye(s.back(), s.back(), 0, complex128); }
/// Returns matrices far from singular.
Tensor regular(std::mt19937& g, const Shape& s) { return (drawn(g, s) + one(s) * 4.0).eval(); }
Tensor hermitian(const Tensor& x) { return (x + adjoint(x)) * 0.5; }
Tensor positive(const Tensor& x) { return matmul(x, adjoint(x)) + one(x.shape()); }
/// Returns Hermitian matrices whose eigenvalues are apart.
Tensor apart(const Tensor& x) { return hermitian(x) + diag(arange(x.size(-1)).astype(complex128) * 5.0); }

/// Returns a value's parts as real numbers, side by side.
Tensor parts(const Tensor& y) { return reshape(is_complex(y) ? view_as_real(y) : y, -1); }

/// Gives f(x) for operands whose parts are given as real tensors, one after the other.
TensorFunction of_parts(const Function& f) {
  return [f](List p) {
    std::vector<Tensor> x;
    for (size_t i = 0; i < p.size(); i += 2) x.push_back(complex(p[i], p[i + 1]));
    return parts(f(x));
  };
}
std::vector<Tensor> given(List x) {
  std::vector<Tensor> p;
  for (const Tensor& t : x)
    for (const Tensor& part : {real(t), imag(t)}) p.push_back(part.copy().eval());
  return p;
}
void both(const char* what, const Function& f, List x, double tolerance = 1e-6) {
  two_orders(what, of_parts(f), given(x), tolerance);
}
/// Checks the first derivative alone.
void first(const char* what, const Function& f, List x, double tolerance = 1e-6) {
  gradients(what, of_parts(f), given(x), tolerance);
}

const Shape kSquares[] = {{1, 1}, {3, 3}, {2, 2, 2}};
const Shape kMatrices[] = {{1, 1}, {3, 3}, {4, 2}, {2, 4}, {2, 3, 2}, {1, 3}, {3, 1}};

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd_rules_linalg_complex)

BOOST_AUTO_TEST_CASE(triangles) {
  std::mt19937 g(11);
  for (const Shape& s : kSquares) {
    const Tensor x = drawn(g, s), a = regular(g, s), b = drawn(g, {s.back(), 2});
    for (const bool upper : {false, true}) {
      both("cholesky", [&](List x) { return cholesky(positive(x[0]), upper); }, {x});
      both(
          "cholesky_inverse", [&](List x) { return cholesky_inverse(x[0], upper); }, {a}, 1e-5);
      both(
          "cholesky_solve", [&](List x) { return cholesky_solve(x[0], x[1], upper); }, {b, a}, 1e-5);
      for (const bool ones : {false, true}) {
        both("solve_triangular", [&](List x) { return solve_triangular(x[0], x[1], upper, true, ones); },
             {a, b});
        both("solve_triangular from the right",
             [&](List x) { return solve_triangular(x[0], x[1], upper, false, ones); }, {a, b.T()});
      }
    }
  }
  Tensor x = positive(drawn(g, {4, 4})).copy();
  x.requires_grad_();
  sum(real(cholesky(x)) * random_values(g, {4, 4}, -1, 1)).backward();
  BOOST_TEST(max(abs(x.grad() - adjoint(x.grad()))).item<double>() < 1e-14);
}

BOOST_AUTO_TEST_CASE(systems) {
  std::mt19937 g(12);
  for (const Shape& s : kSquares) {
    const Tensor a = regular(g, s), b = drawn(g, {s.back(), 2}), v = drawn(g, {s.back()});
    both("solve", [](List x) { return solve(x[0], x[1]); }, {a, b});
    both("solve for a vector", [](List x) { return solve(x[0], x[1]); }, {a, v});
    both("inv", [](List x) { return inv(x[0]); }, {a});
    both(
        "det", [](List x) { return det(x[0]); }, {a}, 1e-5);
    both("slogdet", [](List x) { return slogdet(x[0]).logabsdet; }, {a});
    both("sign of slogdet", [](List x) { return slogdet(x[0]).sign; }, {a});
    both("lu_solve",
         [](List x) {
           const LUFactors f = lu_factor(x[0]);
           return lu_solve(f.LU, f.pivots, x[1]);
         },
         {flip(a, {-2}), b});
    both("matrix_power", [](List x) { return matrix_power(x[0], -2); }, {a});
    both("cond", [](List x) { return cond(x[0], 1); }, {a});
  }
  const Tensor one = regular(g, {3, 3}), many = drawn(g, {2, 3, 2});
  both("one matrix for a batch", [](List x) { return solve(x[0], x[1]); }, {one, many});
  // A real operand beside a complex one has the real part of the gradient.
  const Tensor real_matrix = real(one).copy().eval(), b = drawn(g, {3, 2});
  two_orders("real matrix", [&](List x) { return parts(solve(x[0], b)); }, {real_matrix});
  both("real right-hand sides", [&](List x) { return solve(x[0], real(b)); }, {one});
}

BOOST_AUTO_TEST_CASE(determinants_of_singular_matrices) {
  const Tensor v = complex(arange(3).astype(float64) + 1.0, arange(3).astype(float64) * 2.0 - 1.0);
  first("rank 1", [](List x) { return det(x[0]); }, {outer(v, conj(v)(slice(none, none, -1)))});
  first("rank 1 of 2", [](List x) { return det(x[0]); }, {outer(v(slice(0, 2)), v(slice(1, 3)))});
  first("zeros", [](List x) { return det(x[0]); }, {zeros({2, 2}, complex128)});
}

BOOST_AUTO_TEST_CASE(factors) {
  std::mt19937 g(13);
  for (const Shape& s : kMatrices) {
    const Tensor x = drawn(g, s);
    both(
        "lu",
        [](List x) {
          const LU d = lu(x[0]);
          return concat({reshape(d.L, {-1}), reshape(d.U, {-1})});
        },
        {x}, 1e-4);
    both(
        "lu_factor", [](List x) { return lu_factor(x[0]).LU; }, {x}, 1e-4);
    both(
        "qr",
        [](List x) {
          const QR d = qr(x[0]);
          return concat({reshape(d.Q, {-1}), reshape(d.R, {-1})});
        },
        {x}, 1e-4);
    both(
        "R", [](List x) { return qr(x[0], "r").R; }, {x}, 1e-4);
    both(
        "R, complete", [](List x) { return qr(x[0], "complete").R; }, {x}, 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(singular_values) {
  std::mt19937 g(14);
  for (const Shape& s : kMatrices) {
    Tensor x = drawn(g, s);
    const int64_t k = std::min(s.back(), s[s.size() - 2]);
    x(ellipsis, slice(0, k), slice(0, k)) += diag(arange(k).astype(complex128) * 3.0 + 1.0);
    x.eval();
    for (const bool full : {false, true}) {
      both(
          "svd",
          [&](List x) {
            const SVD d = svd(x[0], full);
            const Tensor u = std::as_const(d.U)(ellipsis, slice(0, k)),
                         v = std::as_const(d.Vh)(ellipsis, slice(0, k), _);
            return concat({reshape(matmul(u * expand_dims(sin(d.S), -2), v), {-1}),
                           reshape(astype(d.S, complex128), {-1})});
          },
          {x}, 1e-4);
      both(
          "|U|", [&](List x) { return square(abs(svd(x[0], full).U(ellipsis, slice(0, k)))); }, {x}, 1e-4);
      both(
          "|Vh|", [&](List x) { return square(abs(svd(x[0], full).Vh(ellipsis, slice(0, k), _))); }, {x},
          1e-4);
    }
    both(
        "svdvals", [](List x) { return svdvals(x[0]); }, {x}, 1e-5);
    both(
        "pinv", [](List x) { return pinv(x[0]); }, {x}, 1e-4);
    both(
        "nuclear norm", [](List x) { return matrix_norm(x[0], "nuc"); }, {x}, 1e-5);
    both(
        "spectral norm", [](List x) { return matrix_norm(x[0], 2); }, {x}, 1e-5);
    both(
        "Frobenius' norm", [](List x) { return matrix_norm(x[0]); }, {x}, 1e-5);
    both(
        "cond", [](List x) { return cond(x[0]); }, {x}, 1e-4);
    both(
        "lstsq",
        [](List x) {
          const LeastSquares d = lstsq(x[0], x[1]);
          return concat({parts(d.solution), parts(d.residuals)});
        },
        {x, drawn(g, {s[s.size() - 2], 2})}, 1e-4);
  }
  // Equal singular values: nothing is divided by their difference.
  const Tensor same = eye(3, 3, 0, complex128) * std::complex<double>(0, 2);
  both(
      "pinv of a unitary matrix", [](List x) { return pinv(x[0]); }, {same}, 1e-5);
  first("equal values", [](List x) { return sum(svdvals(x[0])); }, {same});
}

BOOST_AUTO_TEST_CASE(eigenvalues) {
  std::mt19937 g(15);
  for (const Shape& s : kSquares) {
    const Tensor x = drawn(g, s);
    for (const char uplo : {'L', 'U'}) {
      both(
          "eigvalsh", [&](List x) { return eigvalsh(apart(x[0]), uplo); }, {x}, 1e-5);
      both(
          "eigh",
          [&](List x) {
            const Eigh d = eigh(apart(x[0]), uplo);
            return concat({parts(d.eigenvalues), parts(square(abs(d.eigenvectors))),
                           parts(matmul(d.eigenvectors * expand_dims(cos(d.eigenvalues), -2),
                                        adjoint(d.eigenvectors)))});
          },
          {x}, 1e-4);
    }
    both(
        "hermitian pinv", [](List x) { return pinv(apart(x[0]) + one(x[0].shape()) * 3.0, {}, true); }, {x},
        1e-3);
    const Tensor general = (apart(x) + drawn(g, s) * 0.2).eval();
    both(
        "eigvals", [](List x) { return eigvals(x[0]); }, {general}, 1e-5);
    both(
        "eig", [](List x) { return square(abs(eig(x[0]).eigenvectors)); }, {general}, 1e-4);
    both(
        "matrix_exp", [](List x) { return matrix_exp(x[0]); }, {x}, 1e-5);
  }
  // Real matrices with complex eigenvalues.
  const Tensor turning =
      (random_values(g, {4, 4}, -0.3, 0.3) + check::random_values(g, {1}, 0, 0) +
       reshape(asarray(std::vector<double>{0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 2, -3, 0, 0, 3, 2}), {4, 4}))
          .eval();
  two_orders(
      "eigvals of a real matrix", [](List x) { return parts(eigvals(x[0])); }, {turning}, 1e-5);
  two_orders(
      "eig of a real matrix", [](List x) { return square(abs(eig(x[0]).eigenvectors)); }, {turning}, 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()
