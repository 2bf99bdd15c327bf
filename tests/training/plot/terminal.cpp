// Tests pictures in a terminal, and pictures of another size.
#include "lazy/plot/terminal.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "lazy/lazy.hpp"
#include "tests/common/fails_at.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(plot_terminal)

BOOST_AUTO_TEST_CASE(two_pixels_are_a_character) {
  const Tensor x =
      tensor({{{255, 0, 0}, {255, 0, 0}}, {{0, 0, 255}, {0, 255, 0}}, {{1, 2, 3}, {1, 2, 3}}}).astype(uint8);
  // The last row has nothing below, and equal neighbours their colours once.
  BOOST_TEST(plot::terminal_text(x) ==
             "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m\u2580\x1b[38;2;255;0;0m\x1b[48;2;0;255;0m\u2580\x1b[0m\n"
             "\x1b[38;2;1;2;3m\u2580\u2580\x1b[0m\n");
  const Tensor grey = tensor({{0.0f, 1.0f, 2.0f}});
  BOOST_TEST(plot::terminal_text(grey) ==
             "\x1b[38;2;0;0;0m\u2580\x1b[38;2;255;255;255m\u2580\u2580\x1b[0m\n");
  BOOST_TEST(plot::terminal_text(grey > 0) == plot::terminal_text(grey));
  BOOST_TEST(plot::terminal_text(ones({4, 4, 2})) == plot::terminal_text(ones({4, 4})));
  BOOST_TEST(plot::terminal_text(ones({4, 4, 4})) == plot::terminal_text(ones({4, 4, 3})));
  BOOST_TEST(plot::terminal_text(full({2, 2}, 65535).astype(uint16)) == plot::terminal_text(ones({2, 2})));
  BOOST_TEST(plot::terminal_text(full({1, 1, 3}, std::nan(""))) == "\x1b[38;2;128;128;128m\u2580\x1b[0m\n");
  BOOST_TEST(plot::terminal_text(zeros({2, 2}), {.map = plot::ColourMap::viridis}).find("68;1;84") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(wide_pictures_are_made_smaller) {
  const std::string text = plot::terminal_text(rand({40, 100, 3}), {.columns = 20});
  size_t characters = 0, lines = 0;
  for (size_t at = 0; (at = text.find("\u2580", at)) != std::string::npos; ++at) ++characters;
  for (const char c : text) lines += c == '\n';
  BOOST_TEST(characters == 20u * 4);  // 8 rows, two in a line
  BOOST_TEST(lines == 4u);
}

BOOST_AUTO_TEST_CASE(sixels) {
  const Tensor x = tensor({{{255, 0, 0}, {255, 0, 0}, {255, 0, 0}, {255, 0, 0}, {0, 0, 0}}}).astype(uint8);
  const std::string text = plot::terminal_text(x, {.pixels = plot::Pixels::sixel});
  BOOST_TEST(text.starts_with("\x1bPq\"1;1;5;1#0;2;0;0;0#1;2;0;0;20"));
  BOOST_TEST(text.find("#215;2;100;100;100") != std::string::npos);
  // Black: nothing in four columns, the first of six rows in the fifth. Red is 5 * 36.
  BOOST_TEST(text.ends_with("#0!4?@$#180!4@?$-\x1b\\\n"));
  const std::string tall = plot::terminal_text(ones({13, 2}), {.pixels = plot::Pixels::sixel});
  BOOST_TEST(std::count(tall.begin(), tall.end(), '-') == 3);
}

BOOST_AUTO_TEST_CASE(other_sizes) {
  const Tensor x = rand({12, 9, 3});
  const Tensor y = interpolate(x.permute({2, 0, 1}).reshape({1, 3, 12, 9}),
                               {.size = {5, 4}, .mode = Interpolation::bilinear, .antialias = true});
  BOOST_TEST(all(imresize(x, 5, 4) == y.reshape({3, 5, 4}).permute({1, 2, 0})).item<bool>());
  BOOST_TEST((imresize(x, 24, 3).shape() == Shape{24, 3, 3}));
  const Tensor rows = arange(12).astype(float32).reshape({12, 1});
  BOOST_TEST(all(abs(imresize(broadcast_to(rows, {12, 9}), 12, 1) - rows) < 1e-4).item<bool>());
  const Tensor bytes = full({8, 8}, 200).astype(uint8);
  BOOST_TEST((imresize(bytes, 3, 3).dtype() == uint8));
  BOOST_TEST(all(imresize(bytes, 3, 3) == 200).item<bool>());
  // A pattern of one pixel becomes grey, not stripes.
  const Tensor stripes = (arange(16) % 2 * 255).astype(uint8), even = broadcast_to(stripes, {16, 16});
  BOOST_TEST(all(abs(imresize(even, 4, 4).astype(int32)(slice(1, 3), slice(1, 3)) - 128) < 20).item<bool>());
}

BOOST_AUTO_TEST_CASE(mistakes) {
  const Tensor line = ones({4}), none = ones({0, 4}), five = ones({2, 2, 5}),
               whole = arange(4).reshape({2, 2}), x = ones({2, 2});
  const plot::TerminalOptions wrong{.columns = -1};
  test::fails_at<ShapeError>("terminal.cpp", __LINE__, "[4]", [&] { (void)plot::terminal_text(line); });
  test::fails_at<ShapeError>("terminal.cpp", __LINE__, "[0, 4]", [&] { (void)plot::terminal_text(none); });
  test::fails_at<ShapeError>("terminal.cpp", __LINE__, "[2, 2, 5]", [&] { (void)plot::terminal_text(five); });
  test::fails_at<DtypeError>("terminal.cpp", __LINE__, "int64", [&] { (void)plot::terminal_text(whole); });
  test::fails_at<Error>("terminal.cpp", __LINE__, "-1", [&] { (void)plot::terminal_text(x, wrong); });
}

BOOST_AUTO_TEST_SUITE_END()
