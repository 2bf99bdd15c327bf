#include "lazy/ops/views.hpp"

#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

BOOST_AUTO_TEST_SUITE(views)

BOOST_AUTO_TEST_CASE(reshaping) {
  const Tensor x = arange(6);
  equal(reshape(x, {2, 3}), int64, {2, 3}, {0, 1, 2, 3, 4, 5});
  equal(reshape(x, {3, -1}), int64, {3, 2}, {0, 1, 2, 3, 4, 5});
  equal(reshape(x, -1), int64, {6}, {0, 1, 2, 3, 4, 5});
  equal(x.reshape({1, 6, 1}), int64, {1, 6, 1}, {0, 1, 2, 3, 4, 5});
  equal(reshape(tensor(5), {1, 1}), int64, {1, 1}, {5});
  equal(reshape(tensor({5}), {}), int64, {}, {5});
  equal(reshape(zeros({0, 3}), {-1, 2}), float32, {0, 2}, {});
  BOOST_TEST(reshape(x, {6}).handle().get() == x.handle().get());
  THROWS(ShapeError, reshape(x, {4}), "reshape: [6] does not go into [4]");
  THROWS(ShapeError, reshape(x, {-1, -1}),
         "reshape: only one extent may be -1, and follow from the others: [-1, -1]");
  THROWS(ShapeError, reshape(x, {4, -1}), "reshape: [6] does not go into [4, -1]");
  THROWS(ShapeError, reshape(x, {-2, -3}), "reshape: [6] does not go into [-2, -3]");
  THROWS(ShapeError, reshape(zeros({0}), {0, -1}), "reshape: [0] does not go into [0, -1]");
  THROWS(ShapeError, x.reshape({7}), "reshape: [6] does not go into [7]");
  equal(flatten(reshape(x, {2, 3})), int64, {6}, {0, 1, 2, 3, 4, 5});
  equal(ravel(tensor(1)), int64, {1}, {1});
}

BOOST_AUTO_TEST_CASE(permuting) {
  const Tensor x = arange(6).reshape({2, 3});
  equal(x.T(), int64, {3, 2}, {0, 3, 1, 4, 2, 5});
  equal(transpose(x), int64, {3, 2}, {0, 3, 1, 4, 2, 5});
  equal(permute_dims(x, {1, 0}), int64, {3, 2}, {0, 3, 1, 4, 2, 5});
  equal(permute(x, {-1, -2}), int64, {3, 2}, {0, 3, 1, 4, 2, 5});
  BOOST_TEST(permute(x, {0, 1}).handle().get() == x.handle().get());
  const Tensor y = arange(24).reshape({2, 3, 4});
  BOOST_TEST((matrix_transpose(y).shape() == Shape{2, 4, 3}));
  BOOST_TEST((y.mT().shape() == Shape{2, 4, 3}));
  BOOST_TEST((moveaxis(y, 0, -1).shape() == Shape{3, 4, 2}));
  BOOST_TEST((moveaxis(y, {0, 1}, {-1, 0}).shape() == Shape{3, 4, 2}));
  BOOST_TEST((swapaxes(y, 0, 2).shape() == Shape{4, 3, 2}));
  equal(permute(y, {2, 0, 1})(3, 1, 2), int64, {}, {23});
  equal(transpose(tensor(4)), int64, {}, {4});
  THROWS(ShapeError, permute(x, {0}), "permute: axes [0] do not name each dimension of [2, 3] once");
  THROWS(IndexError, permute(x, {0, 0}), "permute: axis 0 is named twice");
  THROWS(IndexError, permute(x, {0, 2}), "permute: axis 2 is out of range for 2 dimensions");
  THROWS(IndexError, swapaxes(x, 0, -3), "swapaxes: axis -3 is out of range for 2 dimensions");
  THROWS(ShapeError, matrix_transpose(arange(3)), "matrix_transpose: needs two dimensions, not [3]");
  THROWS(ShapeError, moveaxis(x, {0}, {0, 1}), "moveaxis: axes [0] and positions [0, 1] differ in number");
}

BOOST_AUTO_TEST_CASE(extents_of_one) {
  const Tensor x = zeros({1, 2, 1, 3});
  BOOST_TEST((squeeze(x).shape() == Shape{2, 3}));
  BOOST_TEST((squeeze(x, 0).shape() == Shape{2, 1, 3}));
  BOOST_TEST((squeeze(x, {0, -2}).shape() == Shape{2, 3}));
  THROWS(ShapeError, squeeze(x, 1), "squeeze: axis 1 of [1, 2, 1, 3] is not 1");
  BOOST_TEST((expand_dims(ones({2}), -1).shape() == Shape{2, 1}));
  BOOST_TEST((unsqueeze(ones({2}), 0).shape() == Shape{1, 2}));
  THROWS(IndexError, expand_dims(ones({2}), 2), "expand_dims: axis 2 is out of range for 2 dimensions");
  THROWS(ShapeError, expand_dims(ones({1, 1, 1, 1, 1, 1, 1, 1}), 0),
         "expand_dims: [1, 1, 1, 1, 1, 1, 1, 1] has the most dimensions possible");
}

BOOST_AUTO_TEST_CASE(broadcasting) {
  equal(broadcast_to(arange(2), {2, 2}), int64, {2, 2}, {0, 1, 0, 1});
  equal(broadcast_to(arange(2).reshape({2, 1}), {2, 3}), int64, {2, 3}, {0, 0, 0, 1, 1, 1});
  equal(broadcast_to(tensor(3), {2}), int64, {2}, {3, 3});
  equal(broadcast_to(ones({1}), {0}), float32, {0}, {});
  THROWS(ShapeError, broadcast_to(arange(2), {3}), "broadcast_to: [2] does not broadcast to [3]");
  THROWS(ShapeError, broadcast_to(ones({2, 2}), {2}), "broadcast_to: [2, 2] does not broadcast to [2]");
  const auto both = broadcast_arrays({arange(2), arange(3).reshape({3, 1})});
  equal(both[0], int64, {3, 2}, {0, 1, 0, 1, 0, 1});
  equal(both[1], int64, {3, 2}, {0, 0, 1, 1, 2, 2});
}

BOOST_AUTO_TEST_CASE(flipping) {
  const Tensor x = arange(6).reshape({2, 3});
  equal(flip(x), int64, {2, 3}, {5, 4, 3, 2, 1, 0});
  equal(flip(x, 0), int64, {2, 3}, {3, 4, 5, 0, 1, 2});
  equal(flip(x, {-1}), int64, {2, 3}, {2, 1, 0, 5, 4, 3});
  equal(flip(zeros({0})), float32, {0}, {});
  equal(flip(tensor(1)), int64, {}, {1});
  THROWS(IndexError, flip(x, 2), "flip: axis 2 is out of range for 2 dimensions");
}

BOOST_AUTO_TEST_SUITE_END()
