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
  const auto boxes = demo::find_regions(p);
  BOOST_TEST_REQUIRE(boxes.size() == 3u);
  const auto is = [](const demo::Region& r, double left, double top, double right, double bottom) {
    return r.corner.x == left && r.corner.y == top && r.across.y == 0 && r.down.x == 0 &&
           r.corner.x + r.across.x == right && r.corner.y + r.down.y == bottom;
  };
  // 1.6 * 30 * 10 / 80 = 6, 1.6 * 50 * 10 / 120 = 6.7
  BOOST_TEST(is(boxes[0], 4, 6, 46, 28));
  BOOST_TEST(is(boxes[1], 54, 4, 96, 26));
  BOOST_TEST(is(boxes[2], 0, 34, 56, 56));
  BOOST_TEST(demo::find_regions(zeros({8, 8})).empty());
}

BOOST_AUTO_TEST_CASE(equal_neighbours_are_one_character) {
  const Tensor best = tensor<int64_t>({{0, 1, 1, 0, 1, 2, 2, 0}, {3, 3, 0, 0, 0, 0, 0, 2}});
  const Tensor scores = (best(_, _, newaxis) == arange(4)).astype(float32);
  const auto rows = demo::read_characters(scores, {"", "a", "b", "\u4e2d"});
  BOOST_TEST((rows == std::vector<std::string>{"aab", "\u4e2db"}));
}

namespace {

/// Returns probabilities [height, width] that are 0.9 in a rectangle of 80 x 16 around (x, y), turned by an
/// angle.
Tensor turned_rectangle(int64_t height, int64_t width, double x, double y, double angle) {
  const Tensor dx = arange(width, float32).reshape({1, width}) + (0.5 - x),
               dy = arange(height, float32).reshape({height, 1}) + (0.5 - y);
  const Tensor u = dx * std::cos(angle) + dy * std::sin(angle),
               v = dy * std::cos(angle) - dx * std::sin(angle);
  return where(logical_and(abs(u) <= 40, abs(v) <= 8), 0.9, 0.0).astype(float32);
}

}  // namespace

BOOST_AUTO_TEST_CASE(regions_lie_as_the_text_does) {
  for (const double degrees : {-80.0, -44.0, -30.0, -7.0, 3.0, 20.0, 44.0, 46.0, 70.0, 90.0})
    BOOST_TEST_CONTEXT(degrees) {
      const double angle = degrees * std::acos(-1) / 180;
      const auto regions = demo::find_regions(turned_rectangle(160, 160, 80, 70, angle));
      BOOST_TEST_REQUIRE(regions.size() == 1u);
      const demo::Region& r = regions[0];
      const bool tall = std::abs(degrees) > 45;
      // 1.6 * 80 * 16 / 192 = 10.7 on each side, from the edges of pixels on.
      BOOST_TEST((tall ? r.height() : r.width()) > 97);
      BOOST_TEST((tall ? r.height() : r.width()) < 106);
      BOOST_TEST((tall ? r.width() : r.height()) > 34);
      BOOST_TEST((tall ? r.width() : r.height()) < 41);
      const demo::Point middle = r.at(0.5, 0.5);
      BOOST_TEST(std::hypot(middle.x - 80, middle.y - 70) < 1.5);
      const double found = tall ? std::atan2(r.down.y, r.down.x) : std::atan2(r.across.y, r.across.x);
      const double apart = std::remainder(found - angle, std::acos(-1));
      BOOST_TEST(std::abs(apart) < 0.03);
    }
}

BOOST_AUTO_TEST_CASE(lines_of_a_turned_page_keep_their_order) {
  const double angle = 0.35;
  Tensor p = zeros({400, 400});
  // Three lines, the second of two regions.
  const std::pair<double, double> places[] = {{0, -60}, {-60, 0}, {60, 0}, {0, 60}};
  for (const auto& [along, below] : places)
    p = maximum(p, turned_rectangle(400, 400, 200 + along * std::cos(angle) - below * std::sin(angle),
                                    200 + along * std::sin(angle) + below * std::cos(angle), angle));
  const auto regions = demo::find_regions(p);
  BOOST_TEST_REQUIRE(regions.size() == 4u);
  for (size_t i = 0; i < 4; ++i) {
    const demo::Point m = regions[i].at(0.5, 0.5);
    const double x = m.x - 200, y = m.y - 200;
    BOOST_TEST(std::abs(x * std::cos(angle) + y * std::sin(angle) - places[i].first) < 2);
    BOOST_TEST(std::abs(y * std::cos(angle) - x * std::sin(angle) - places[i].second) < 2);
  }
}

BOOST_AUTO_TEST_CASE(what_is_cut_out_is_upright) {
  Generator g(1);
  const Tensor picture = rand(g, {40, 60, 3});
  const auto is = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && max(abs(a - b)).item<float>() < 1e-4f;
  };
  const Tensor part = picture(slice(5, 15), slice(20, 50));
  BOOST_TEST(is(demo::cut_out(picture, {{20, 5}, {30, 0}, {0, 10}}), part));
  // The same part of the picture turned by a quarter to the left: its text goes upwards.
  const Tensor turned = flip(permute_dims(picture, {1, 0, 2}), {0}).copy();
  BOOST_TEST(is(demo::cut_out(turned, {{5, 10}, {10, 0}, {0, 30}}), flip(part, {0, 1})));
  // A slope that is cut out has the colours of the slope.
  const Tensor slope = broadcast_to((arange(60, float32) / 60.0).reshape({1, 60, 1}), {40, 60, 3}).copy();
  const double c = std::cos(0.3), s = std::sin(0.3);
  const Tensor cut = demo::cut_out(slope, {{20, 10}, {20 * c, 20 * s}, {-10 * s, 10 * c}});
  BOOST_TEST((cut.shape() == Shape{10, 20, 3}));
  BOOST_TEST(std::abs(cut(2, 4, 0).item<float>() - (20 + 4.5 * c - 2.5 * s - 0.5) / 60) < 1e-3);
}

BOOST_AUTO_TEST_CASE(outlines_are_drawn) {
  const Tensor picture = demo::with_outlines(ones({6, 8, 3}), {{{2, 1}, {4, 0}, {0, 4}}});
  const auto green = picture(_, _, 1).copy().to_vector<float>();
  int64_t drawn = 0;
  for (const float v : green) drawn += v < 0.5f;
  BOOST_TEST(drawn == 12);
  BOOST_TEST(green[1 * 8 + 2] < 0.5f);
  BOOST_TEST(green[2 * 8 + 3] == 1.0f);
}
