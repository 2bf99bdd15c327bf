// Tests pictures of numbers: what is drawn where, odd numbers, and mistakes.
#include "lazy/plot/figure.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <regex>

#include "lazy/lazy.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}
/// Returns where pixels of a colour are: the mean of their columns and rows, and how many there are.
struct Found {
  double x, y;
  int64_t count;
};
Found found(const Tensor& picture, int red, int green, int blue) {
  const Tensor same = all(picture == tensor({red, green, blue}).astype(uint8), {2}).astype(float32);
  const double n = sum(same).item<double>();
  return {sum(same * arange(same.size(1)).astype(float32)).item<double>() / n,
          sum(same * arange(same.size(0)).astype(float32).reshape({-1, 1})).item<double>() / n,
          static_cast<int64_t>(n)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plot_figures)

BOOST_AUTO_TEST_CASE(lines_and_points) {
  const Tensor x = linspace(0, 10, 50);
  plot::Figure f("a <title>", {.width = 400, .height = 300, .x_label = "time", .y_label = "height"});
  f.line(x, x * 2, "rises").scatter(x, 20 - x * 2, "falls");
  const std::string svg = f.svg();
  BOOST_TEST(count(svg, "a &lt;title&gt;") == 1u);
  for (const char* const text : {">time<", ">height<", ">rises<", ">falls<"})
    BOOST_TEST(count(svg, text) == 1u);
  BOOST_TEST(count(svg, "<circle") == 51u);  // one in the legend
  const Tensor p = f.picture();
  BOOST_TEST((p.shape() == Shape{300, 400, 3}));
  // The line rises from the left to the right.
  const Tensor left = p(_, slice(0, 200)), right = p(_, slice(200, 340));
  BOOST_TEST(found(left, 0, 114, 178).y > found(right, 0, 114, 178).y + 30);
  BOOST_TEST(found(left, 213, 94, 0).y < found(right, 213, 94, 0).y - 30);
  const Tensor dark = plot::Figure("", {.dark = true}).picture();
  BOOST_TEST(dark(0, 0, 0).item<int>() == 22);
}

BOOST_AUTO_TEST_CASE(bars_and_histograms) {
  plot::Figure f("", {.width = 300, .height = 200});
  f.bars({"one", "two", "three"}, tensor({1.0, 3.0, 2.0}));
  const std::string svg = f.svg();
  BOOST_TEST(count(svg, ">two<") == 1u);
  std::vector<double> heights;
  const std::regex bar("height=\"([0-9.]+)\" fill=\"#0072b2\"");
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), bar); at != std::sregex_iterator(); ++at)
    heights.push_back(std::stod((*at)[1]));
  BOOST_REQUIRE(heights.size() == 3u);
  BOOST_TEST(std::abs(heights[1] - 3 * heights[0]) < 0.1);
  BOOST_TEST(std::abs(heights[2] - 2 * heights[0]) < 0.1);
  plot::Figure h("", {.width = 300, .height = 200});
  h.histogram(tensor(std::vector<double>{0.0, 0.1, 0.9, 1.0, NAN, INFINITY}), {.bins = 2});
  BOOST_TEST(count(h.svg(), "fill=\"#0072b2\"") == 2u);
}

BOOST_AUTO_TEST_CASE(heat_maps_and_confusion) {
  plot::Figure f("", {.width = 300, .height = 300});
  f.heat_map(tensor<double>({{0.0, 0.5}, {1.0, NAN}}),
             {.rows = {"up", "down"}, .columns = {"left", "right"}, .numbers = true});
  const std::string svg = f.svg();
  for (const char* const text : {">up<", ">down<", ">left<", ">right<", ">nan<"})
    BOOST_TEST(count(svg, text) == 1u);
  BOOST_TEST(count(svg, "fill=\"#440154\"") >= 1u);  // the ends of viridis
  BOOST_TEST(count(svg, "fill=\"#fde725\"") >= 1u);
  BOOST_TEST(count(svg, "fill=\"#808080\"") == 1u);
  const std::string table = plot::confusion(tensor({{90, 10}, {0, 50}}), {"cat", "dog"}, "mistakes").svg();
  BOOST_TEST(count(table, ">cat<") == 2u);
  BOOST_TEST(count(table, ">90<") == 1u);
  BOOST_TEST(count(table, ">taken for<") == 1u);
}

BOOST_AUTO_TEST_CASE(pictures_side_by_side) {
  Tensor two = zeros({2, 4, 4, 3});
  two(0, _, _, 0) = 1.0f;
  two(1, _, _, 2) = 1.0f;
  plot::Figure f("", {.width = 200, .height = 120});
  f.images(two, {.columns = 2, .labels = {"red", "blue"}});
  const Tensor p = f.picture();
  const Found red = found(p, 255, 0, 0), blue = found(p, 0, 0, 255);
  BOOST_TEST(red.count > 1000);
  BOOST_TEST(red.count == blue.count);
  BOOST_TEST(red.x < blue.x - 50);
  BOOST_TEST(red.y == blue.y);
  BOOST_TEST(count(f.svg(), "data:image/png;base64,iVBOR") == 2u);
  plot::Figure grey("", {.width = 100, .height = 100});
  grey.images(full({1, 2, 2}, 0.5f));
  BOOST_TEST(found(grey.picture(), 128, 128, 128).count > 1000);
  const Tensor panels = plot::Panels({f, grey, f}, 2).picture();
  BOOST_TEST((panels.shape() == Shape{240, 300, 3}));
  BOOST_TEST(found(panels, 255, 0, 0).count == 2 * red.count);
}

BOOST_AUTO_TEST_CASE(files) {
  const test::Folder folder;
  plot::Figure f("", {.width = 200, .height = 150});
  f.line(arange(5));
  f.save(folder / "f.png");
  BOOST_TEST(all(read_png(folder / "f.png") == f.picture()).item<bool>());
  f.save(folder / "f.svg");
  BOOST_TEST(contents(folder / "f.svg") == f.svg());
  const std::string odd = folder / "f.gif";
  test::fails_at<Error>("figure.cpp", __LINE__, "neither in .svg nor in .png", [&] { f.save(odd); });
  test::fails_at<IoError>("figure.cpp", __LINE__, "/nowhere", [&] { f.save("/nowhere/f.svg"); });
}

BOOST_AUTO_TEST_CASE(odd_numbers_and_mistakes) {
  for (const double v : std::vector<double>{0, -1, 1e300, 1e-300, INFINITY, NAN})
    for (const bool log : {false, true}) {
      plot::Figure f("", {.width = 200, .height = 150, .log_x = log, .log_y = log, .same_scale = true});
      f.line(tensor({v, v, 1.0}), tensor({1.0, v, v}), "odd")
          .histogram(tensor({v, v}))
          .scatter(zeros({0}), zeros({0}));
      BOOST_TEST((f.picture().shape() == Shape{150, 200, 3}));
      plot::Figure m("", {.width = 200, .height = 150});
      m.heat_map(full({2, 2}, v));
      BOOST_TEST((m.picture().shape() == Shape{150, 200, 3}));
    }
  plot::Figure f;
  const Tensor two = arange(2), three = arange(3), square = ones({2, 2});
  test::fails_at<ShapeError>("figure.cpp", __LINE__, "2 numbers beside 3", [&] { f.line(two, three); });
  test::fails_at<ShapeError>("figure.cpp", __LINE__, "line: takes (n)", [&] { f.line(square); });
  test::fails_at<ShapeError>("figure.cpp", __LINE__, "images: takes", [&] { f.images(square); });
  test::fails_at<ShapeError>("figure.cpp", __LINE__, "heat_map", [&] { f.heat_map(two); });
  test::fails_at<ShapeError>("figure.cpp", __LINE__, "confusion", [&] { plot::confusion(two); });
  test::fails_at<ShapeError>("figure.cpp", __LINE__, "10 x 420", [&] { plot::Figure("", {.width = 10}); });
  test::fails_at<Error>("figure.cpp", __LINE__, "bins", [&] { f.histogram(two, {.bins = 0}); });
}

BOOST_AUTO_TEST_SUITE_END()
