// Tests that functions that change nothing record nothing; single dimensions, empty regions.
#include <boost/test/unit_test.hpp>

#include "lazy/lazy.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(edges)

BOOST_AUTO_TEST_CASE(an_empty_region_takes_no_value) {
  const auto unchanged = [](Shape shape, auto... at) {
    Tensor x = reshape(arange(0, numel(shape), 1, float32), shape);
    const auto before = x.handle();
    x(at...) = 5;
    BOOST_TEST((x.handle().get() == before.get()));
    BOOST_TEST(all(x == reshape(arange(0, numel(shape), 1, float32), shape)).item<bool>());
  };
  unchanged({4, 3}, slice(2, 2));
  unchanged({4, 3}, slice(1, 3, -1));
  unchanged({4, 3}, _, slice(3, none));
  unchanged({4, 3}, slice(0, 0, -2), slice(none, none, -1));
  unchanged({0, 3}, _, 1);
  unchanged({0}, slice(none, none, -1));
}

BOOST_AUTO_TEST_CASE(a_tensor_on_its_device_stays_itself) {
  const Tensor x = arange(0, 5, 1, float32) + 1;
  BOOST_TEST((x.to(x.device()).handle().get() == x.handle().get()));
}

BOOST_AUTO_TEST_CASE(reshapes_leave_one_extent_open_at_most) {
  const Tensor x = arange(0, 6, 1, float32);
  for (const Shape& to : {Shape{-1, 6, -1}, Shape{6, -3}, Shape{-2, 3}, Shape{-1, 4}, Shape{-1, 0}, Shape{7}})
    BOOST_CHECK_THROW(reshape(x, to), ShapeError);
  BOOST_TEST((reshape(x, {3, -1}).shape() == Shape{3, 2}));
  BOOST_TEST((reshape(x, {-1, 6}).shape() == Shape{1, 6}));
}

BOOST_AUTO_TEST_CASE(a_masks_value_broadcasts_to_each_element) {
  const Tensor mask = tensor({true, false, true});
  const auto filled = [&](const Tensor& value) {
    Tensor x = zeros({3, 2, 3});
    x(mask) = value;
    return x.to_vector<float>();
  };
  const std::vector<float> rows{1, 2, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 1, 2, 3, 1, 2, 3},
      columns{1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2};
  BOOST_TEST(filled(tensor({1.0f, 2.0f, 3.0f})) == rows, boost::test_tools::per_element());
  BOOST_TEST(filled(tensor({{1.0f, 2.0f, 3.0f}})) == rows, boost::test_tools::per_element());
  BOOST_TEST(filled(tensor({{1.0f}, {2.0f}})) == columns, boost::test_tools::per_element());
  BOOST_TEST(filled(tensor({7.0f}))[5] == 7);
  BOOST_CHECK_THROW(filled(ones({3, 2, 3})), ShapeError);
  BOOST_CHECK_THROW(filled(ones({2, 2})), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
