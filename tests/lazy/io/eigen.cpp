// Tests the exchange with Eigen, where Eigen is installed.
#if __has_include(<Eigen/Core>)
#include "lazy/io/eigen.hpp"

#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;

BOOST_FIXTURE_TEST_SUITE(io_eigen, OnCpu)

BOOST_AUTO_TEST_CASE(matrices_become_tensors) {
  Eigen::MatrixXf columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  const Tensor x = from_eigen(columns);
  equal(x, float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  equal(sum(x, 0), float32, {3}, {5, 7, 9});
  const Eigen::Matrix<int, 2, 3, Eigen::RowMajor> rows = columns.cast<int>();
  const Tensor y = from_eigen(rows);
  equal(y, int32, {2, 3}, {1, 2, 3, 4, 5, 6});
  BOOST_TEST(y.data<int>() == rows.data());
  equal(from_eigen(columns.block(0, 1, 2, 2)), float32, {2, 2}, {2, 3, 5, 6});
  equal(from_eigen(columns.row(1)), float32, {3}, {4, 5, 6});
  equal(from_eigen(columns.transpose()), float32, {3, 2}, {1, 4, 2, 5, 3, 6});
  const Eigen::VectorXd v = Eigen::VectorXd::LinSpaced(4, 0, 3);
  equal(from_eigen(v), float64, {4}, {0, 1, 2, 3});
  const Eigen::Ref<const Eigen::MatrixXf, 0, Eigen::OuterStride<>> ref = columns.leftCols(2);
  equal(from_eigen(ref), float32, {2, 2}, {1, 2, 4, 5});
  const Eigen::Map<const Eigen::ArrayXXf, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> map(
      columns.data(), 1, 3, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(2, 1));
  equal(from_eigen(map), float32, {1, 3}, {1, 2, 3});
  const Eigen::MatrixXf none(0, 3);
  equal(from_eigen(none), float32, {0, 3}, {});
}

BOOST_AUTO_TEST_CASE(tensors_become_maps) {
  const Tensor x = arange(6, float64).reshape({2, 3});
  const auto map = to_eigen<double>(x);
  BOOST_TEST(map.data() == x.data<double>());
  BOOST_TEST(map(1, 2) == 5.0);
  BOOST_TEST(map.sum() == 15.0);
  const auto other = to_eigen<double, Eigen::ColMajor>(x);
  BOOST_TEST(other(1, 2) == 5.0);
  const auto trace =
      [](const Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>& m) {
        return m(0, 0) + m(1, 1);
      };
  BOOST_TEST(trace(other) == 4.0);
  const Eigen::MatrixXd product = map * map.transpose();
  equal(from_eigen(product), float64, {2, 2}, {5, 14, 14, 50});
  const Tensor t = x.T();
  BOOST_TEST(to_eigen<double>(t)(2, 1) == 5.0);
  const Tensor v = tensor({7, 8});
  BOOST_TEST(to_eigen<int64_t>(v).rows() == 2);
  BOOST_TEST(to_eigen<int64_t>(v)(1, 0) == 8);
  THROWS(DtypeError, to_eigen<float>(x), "data: the elements are float64, not float32");
  const Tensor cube = zeros({1, 1, 1});
  THROWS(ShapeError, to_eigen<float>(cube), "to_eigen: needs one or two dimensions, not [1, 1, 1]");
}

BOOST_AUTO_TEST_SUITE_END()
#endif
