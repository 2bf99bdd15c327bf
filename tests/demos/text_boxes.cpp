// Tests what the demo `read_text` makes of what its models compute.
#define BOOST_TEST_MODULE demos_text_boxes
#include "demos/text_boxes.hpp"

#include <boost/test/unit_test.hpp>

using namespace lazy;

BOOST_AUTO_TEST_CASE(boxes_grow_and_come_line_by_line) {
  Tensor p = zeros({60, 100});
  p(slice(10, 20), slice(60, 90)) = 0.9;  // right, a little above
  p(slice(12, 22), slice(10, 40)) = 0.8;
  p(slice(40, 50), slice(0, 50)) = 0.9;   // at the border
  p(slice(30, 32), slice(80, 95)) = 0.9;  // too thin
  p(slice(50, 58), slice(70, 95)) = 0.4;  // too unlikely
  const auto boxes = demo::find_boxes(p);
  BOOST_TEST_REQUIRE(boxes.size() == 3u);
  const auto is = [](const demo::Box& b, int64_t left, int64_t top, int64_t right, int64_t bottom) {
    return b.left == left && b.top == top && b.right == right && b.bottom == bottom;
  };
  // 1.6 * 30 * 10 / 80 = 6, 1.6 * 50 * 10 / 120 = 6.7
  BOOST_TEST(is(boxes[0], 4, 6, 46, 28));
  BOOST_TEST(is(boxes[1], 54, 4, 96, 26));
  BOOST_TEST(is(boxes[2], 0, 34, 56, 56));
  BOOST_TEST(demo::find_boxes(zeros({8, 8})).empty());
}

BOOST_AUTO_TEST_CASE(equal_neighbours_are_one_character) {
  const Tensor best = tensor<int64_t>({{0, 1, 1, 0, 1, 2, 2, 0}, {3, 3, 0, 0, 0, 0, 0, 2}});
  const Tensor scores = (best(_, _, newaxis) == arange(4)).astype(float32);
  const auto rows = demo::read_characters(scores, {"", "a", "b", "\u4e2d"});
  BOOST_TEST((rows == std::vector<std::string>{"aab", "\u4e2db"}));
}

BOOST_AUTO_TEST_CASE(outlines_are_drawn) {
  Tensor picture = ones({6, 8, 3});
  demo::draw_box(picture, {2, 1, 6, 5});
  const auto green = picture(_, _, 1).copy().to_vector<float>();
  int64_t drawn = 0;
  for (const float v : green) drawn += v < 0.5f;
  BOOST_TEST(drawn == 12);
  BOOST_TEST(green[1 * 8 + 2] < 0.5f);
  BOOST_TEST(green[2 * 8 + 3] == 1.0f);
}
