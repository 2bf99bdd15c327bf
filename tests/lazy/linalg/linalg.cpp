#include "lazy/linalg/linalg.hpp"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <complex>

#include "support/config.hpp"
#include "tests/common/check.hpp"
#include "tests/common/child.hpp"

using namespace lazy;
using check::close;
using check::equal;
using config::Override;

namespace {

/// Returns symmetric positive definite matrices.
Tensor definite(const Shape& batch, int64_t n, DType t) {
  Shape shape = batch;
  shape.push_back(n);
  shape.push_back(n);
  const Tensor i = arange(0, numel(shape), 1, t);
  const Tensor x =
      (isdtype(t, "complex floating") ? sin(i) + cos(i * 3) * std::complex<double>(0, 1) : sin(i))
          .reshape(shape);
  return matmul(x, adjoint(x)) + eye(n, n, 0, t) * static_cast<float>(n);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_algebra)

BOOST_AUTO_TEST_CASE(a_factor_times_itself) {
  for (const DType t : {float32, float64, complex64, complex128})
    for (const int64_t n : {1, 2, 5, 17, 64, 65, 131})
      for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 2}}) {
        const Tensor x = definite(batch, n, t), l = cholesky(x);
        BOOST_TEST(l.shape() == x.shape());
        BOOST_TEST((l.dtype() == t));
        BOOST_TEST(max(abs(matmul(l, adjoint(l)) - x)).item<double>() <= finfo(t).eps * 2000);
        BOOST_TEST(max(abs(imag(diagonal(l, 0, -2, -1)))).item<double>() == 0);
        BOOST_TEST(max(abs(triu(l, 1))).item<double>() == 0);
      }
}

BOOST_AUTO_TEST_CASE(the_lower_triangle_alone_is_read) {
  const Tensor x = tensor({4., 99., 99., 2., 5., 99., 2., 3., 6.}, float64).reshape({3, 3});
  equal(cholesky(x), float64, {3, 3}, {2, 0, 0, 1, 2, 0, 1, 1, 2});
  equal(cholesky(x.T().copy().T()), float64, {3, 3}, {2, 0, 0, 1, 2, 0, 1, 1, 2});
  equal(cholesky(zeros({0, 0}, float64)), float64, {0, 0}, {});
  equal(cholesky(zeros({0, 2, 2}, float64)), float64, {0, 2, 2}, {});
  equal(cholesky(zeros({2, 0, 0}, float64)), float64, {2, 0, 0}, {});
  BOOST_TEST(cholesky(tensor({4}).reshape({1, 1})).item<double>() == 2);
}

BOOST_AUTO_TEST_CASE(what_is_not_positive_definite) {
  const Tensor bad = tensor({1., 2., 2., 1.}).reshape({2, 2}), good = eye(2, 2, 0, float64);
  const Tensor batch = stack({good, good, bad, bad});
  Tensor x = good * 3;
  x.eval();
  x = x * 2;
  const int line = __LINE__ + 1;
  Tensor l = cholesky(batch);
  Tensor y = l + x;
  for (int attempt = 0; attempt < 2; ++attempt)
    check::throws<Error>(
        [&] { y.eval(); },
        "cholesky: matrix [2] of the batch is not positive definite (its leading minor of order "
        "2 is not positive)",
        line);
  l = y = Tensor();  // the program goes on without them
  equal(x, float64, {2, 2}, {6, 0, 0, 6});
  const Tensor late = eye(131, 131, 0, float64) * (1 - astype(arange(0, 131) == 89, float64));
  late.eval();
  THROWS(Error, cholesky(late).eval(),
         "cholesky: matrix is not positive definite (its leading minor of order 90 is not positive)");
  for (const float v : {-1.f, 0.f, std::nanf("")}) {
    const int here = __LINE__ + 1;
    const Tensor alone = cholesky(tensor({v}).reshape({1, 1}));
    check::throws<Error>(
        [&] { alone.eval(); },
        "cholesky: matrix is not positive definite (its leading minor of order 1 is not positive)", here);
  }
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take) {
  THROWS(ShapeError, cholesky(zeros({2, 3})),
         "cholesky: a square matrix, or a batch of them, is needed; the shape is [2, 3]");
  BOOST_CHECK_THROW(cholesky(zeros({3})), ShapeError);
  THROWS(DtypeError, cholesky(zeros({2, 2}, float16)), "cholesky: float32 or float64 is needed, not float16");
}

BOOST_AUTO_TEST_CASE(eager_and_verified) {
  for (const char* how : {"LAZY_EAGER", "LAZY_VERIFY"}) {
    const Override on(how, "1");
    reset_metrics();
    const Tensor x = definite({2}, 9, float64), l = cholesky(x);
    close(matmul(l, swapaxes(l, -1, -2)), x.to_vector<double>(), 1e-12);
    BOOST_TEST(metrics().verify_failures == 0u);
  }
}

/// The plain functions, which define what the calls mean, pass the tests that LAPACK passes. A process has
/// one backend, so they run in another.
BOOST_AUTO_TEST_CASE(again_on_the_reference_backend) {
  const pid_t child = test::fork_child();
  if (child == 0) {
    setenv("LAZY_CPU_ISA", "reference", 1);
    execl("/proc/self/exe", "test", "--log_level=error",
          "--run_test=linear_systems:linear_decompositions:linear_norms:arrays/linear", nullptr);
    _exit(127);
  }
  int status = -1;
  BOOST_TEST(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()
