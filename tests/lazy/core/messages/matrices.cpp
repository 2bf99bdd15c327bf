// Calls wrongly the functions of linear algebra.
#include "tests/lazy/core/messages/messages.hpp"

BOOST_FIXTURE_TEST_SUITE(messages, Operands)

BOOST_AUTO_TEST_CASE(of_matrices) {
  const Tensor square = eye(3), half = ones({2, 2}, float16), vector = ones({3}), wide = ones({2, 3});
#define OF_SQUARE(function) \
  NAMES(function, wide);    \
  NAMES(function, vector);  \
  NAMES(function, half);    \
  NAMES(function, stack({wide, wide}) > 0);
#define OF_ANY(function)     \
  NAMES(function, vector);   \
  NAMES(function, ones({})); \
  NAMES(function, half);
  OF_SQUARE(inv)
  OF_SQUARE(det)
  OF_SQUARE(slogdet)
  OF_SQUARE(eig)
  OF_SQUARE(eigvals)
  OF_SQUARE(eigh)
  OF_SQUARE(eigvalsh)
  OF_SQUARE(cholesky)
  OF_SQUARE(cholesky_inverse)
  OF_SQUARE(matrix_exp)
  OF_ANY(lu)
  OF_ANY(lu_factor)
  OF_ANY(qr)
  OF_ANY(svd)
  OF_ANY(svdvals)
  OF_ANY(pinv)
  OF_ANY(matrix_rank)
#undef OF_SQUARE
#undef OF_ANY
  NAMES(eigh, square, 'X');
  NAMES(eigvalsh, square, 'X');
  NAMES(qr, square, "raw");
  NAMES(pinv, wide, {}, true);
  NAMES(matrix_rank, wide, {}, true);
  NAMES(solve, nothing, square);
  NAMES(solve, square, nothing);
  NAMES(solve, square, u > 0);
  NAMES(solve, i, u);
  NAMES(solve, wide, square);
  NAMES(solve, square, ones({4, 2}));
  NAMES(solve, square, ones({4}));
  NAMES(solve, square, 1);
  NAMES(solve, half, half);
  NAMES(solve, ones({2, 3, 3}), ones({4, 3, 1}));
  NAMES(solve_triangular, nothing, square, true);
  NAMES(solve_triangular, square, nothing, true);
  NAMES(solve_triangular, square, vector, true);
  NAMES(solve_triangular, square, ones({2, 2}), true);
  NAMES(solve_triangular, square, ones({2, 2}), true, false);
  NAMES(solve_triangular, wide, square, true);
  NAMES(solve_triangular, ones({2, 3, 3}), ones({4, 3, 1}), true);
  NAMES(cholesky_solve, nothing, square);
  NAMES(cholesky_solve, square, nothing);
  NAMES(cholesky_solve, vector, square);
  NAMES(cholesky_solve, square, wide);
  NAMES(lu_solve, nothing, tensor({1, 2, 3}), square);
  NAMES(lu_solve, square, nothing, square);
  NAMES(lu_solve, square, tensor({1, 2, 3}), nothing);
  NAMES(lu_solve, square, tensor({1, 2}), square);
  NAMES(lu_solve, square, vector, square);
  NAMES(lu_solve, square, tensor({1, 2, 3}), vector);
  NAMES(lu_solve, wide, tensor({1, 2}), square);
  NAMES(lstsq, nothing, square);
  NAMES(lstsq, square, nothing);
  NAMES(lstsq, wide, vector);
  NAMES(lstsq, wide, ones({}));
  NAMES(lstsq, vector, vector);
  NAMES(lstsq, half, half);
  NAMES(tensorsolve, nothing, square);
  NAMES(tensorsolve, square, nothing);
  NAMES(tensorsolve, square, ones({2}));
  NAMES(tensorsolve, square, square);
  NAMES(tensorinv, square, 0);
  NAMES(tensorinv, square, 2);
  NAMES(tensorinv, half, 1);
  CALLS(linalg::norm, norm, ones({2, 2, 2}), 1);
  CALLS(linalg::norm, norm, ones({2}), "fro");
  CALLS(linalg::norm, matrix_norm, square, 3);
  NAMES(matrix_norm, vector);
  NAMES(matrix_norm, square, 3);
  NAMES(matrix_norm, square, "max");
  NAMES(matrix_norm, square, 2, {0});
  NAMES(matrix_norm, square, 2, {0, 0});
  NAMES(matrix_norm, square, 1, {0, 2});
  NAMES(matrix_norm, half, "nuc");
  NAMES(matrix_norm, ones({0, 2}), 2);
  NAMES(matrix_norm, ones({0, 0}), 1);
  NAMES(cond, wide, 1);
  NAMES(cond, ones({0, 0}));
  NAMES(cond, square, "spectral");
  NAMES(cond, half);
  NAMES(matrix_power, nothing, 2);
  NAMES(matrix_power, wide, 2);
  NAMES(matrix_power, vector, 0);
  NAMES(matrix_power, square > 0, 2);
  NAMES(matrix_power, half, -1);
  NAMES(multi_dot, {square});
  NAMES(multi_dot, {nothing, square});
  NAMES(multi_dot, {square, wide});
  NAMES(multi_dot, {square, vector, square});
  NAMES(multi_dot, {square > 0, square > 0});
  NAMES(multi_dot, {ones({}), square});
  NAMES(multi_dot, {i, u});
}

BOOST_AUTO_TEST_SUITE_END()
