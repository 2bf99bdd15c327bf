// Tests that one image without a batch is taken apart and put together as a batch of one is.
#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(unbatched_folding)

BOOST_AUTO_TEST_CASE(as_a_batch_of_one) {
  for (const DType t : {float32, float16, int32}) {
    const Tensor x = arange(3 * 7 * 8).reshape({3, 7, 8}).to(t);
    for (const Axes& window : {Axes(2), Axes{2, 3}}) {
      const FoldOptions o{.stride = 2, .padding = 1};
      const Tensor columns = unfold(x, window, o), batch = unfold(x.unsqueeze(0), window, o);
      BOOST_TEST(to_string(columns.shape()) == to_string(batch.squeeze(0).shape()));
      BOOST_TEST(array_equal(columns, batch.squeeze(0)).item<bool>());
      const Tensor image = fold(columns, {7, 8}, window, o);
      BOOST_TEST(to_string(image.shape()) == "[3, 7, 8]");
      BOOST_TEST(array_equal(image, fold(batch, {7, 8}, window, o).squeeze(0)).item<bool>());
    }
  }
  BOOST_TEST(to_string(nn::Unfold(2)(ones({3, 7, 8})).shape()) == "[12, 42]");
  BOOST_TEST(to_string(nn::Fold({4, 4}, 2)(ones({12, 9})).shape()) == "[3, 4, 4]");
  BOOST_TEST(to_string(nn::Fold(4, 2)(ones({12, 9})).shape()) == "[3, 4, 4]");  // one number is of both axes
  BOOST_TEST(to_string(unfold(zeros({0, 7, 8}), 2).shape()) == "[0, 42]");
  BOOST_CHECK_THROW(fold(ones({9}), {4, 4}, 2), ShapeError);
  BOOST_CHECK_THROW(fold(ones({12, 8}), {4, 4}, 2), ShapeError);
  BOOST_CHECK_THROW(unfold(ones({7, 8}), 2), ShapeError);
}

BOOST_AUTO_TEST_CASE(gradients) {
  Tensor x = ones({1, 3, 3});
  x.requires_grad_();
  sum(unfold(x, 2)).backward();
  check::equal(x.grad(), float32, {1, 3, 3}, {1, 2, 1, 2, 4, 2, 1, 2, 1});
  Tensor c = ones({4, 4});
  c.requires_grad_();
  sum(square(fold(c, {3, 3}, 2))).backward();
  check::equal(c.grad(), float32, {4, 4}, {2, 4, 4, 8, 4, 2, 8, 4, 4, 8, 2, 4, 8, 4, 4, 2});
}

BOOST_AUTO_TEST_SUITE_END()
