// What changes nothing records nothing; single dimensions, empty regions.
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

BOOST_AUTO_TEST_SUITE_END()
