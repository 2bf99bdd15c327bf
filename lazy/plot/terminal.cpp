#include "lazy/plot/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/nn/functional/resize.hpp"
#include "support/terminal.hpp"

namespace lazy::plot {
namespace {

constexpr const char* kName = "imshow";
constexpr int64_t kPixelsOfColumn = 10;  // of sixels: terminals' characters are about that wide

/// Holds pixels row by row.
struct Pixmap {
  int64_t height, width;
  std::vector<Colour> pixels;
  Colour at(int64_t y, int64_t x) const { return pixels[static_cast<size_t>(y * width + x)]; }
};

/// Returns a picture at most so wide. Its rows stay as far apart as its columns.
Pixmap pixmap_of(const Tensor& picture, int64_t most, ColourMap map, const Site& s) {
  const no_grad scope;
  const Shape shape = picture.shape(s);
  const bool grey = shape.size() == 2 || (shape.size() == 3 && shape[2] < 3);
  if (shape.size() < 2 || shape.size() > 3 || numel(shape) == 0 || (shape.size() == 3 && shape[2] > 4))
    lazy::detail::fail<ShapeError>(
        kName, "takes a picture (height, width) or (height, width, 1 to 4), not " + to_string(shape), s);
  const DType dtype = picture.dtype(s);
  const double white = dtype == uint8 ? 255 : dtype == uint16 ? 65535 : 1;
  if (!is_float(dtype) && !is_bool(dtype) && white == 1)
    lazy::detail::fail<DtypeError>(
        kName, "takes uint8, uint16, bool and floating-point numbers, not " + std::string(name_of(dtype)), s);
  Tensor x = picture.astype(float32, s);
  int64_t height = shape[0], width = shape[1];
  if (width > most) {
    height = std::max<int64_t>(1, (height * most + width / 2) / width), width = most;
    x = imresize(Arg(x, s), height, width);
  }
  const int64_t channels = shape.size() == 3 ? shape[2] : 1;
  const auto v = x.to_vector<double>(s);
  Pixmap r{height, width, {}};
  const auto byte = [&](size_t i) { return detail::byte_of(static_cast<float>(v[i] / white)); };
  for (size_t i = 0; i < v.size(); i += static_cast<size_t>(channels))
    r.pixels.push_back(grey ? detail::colour_of(map, v[i] / white)
                            : Colour{byte(i), byte(i + 1), byte(i + 2)});
  return r;
}

std::string numbers_of(Colour c) {
  return std::to_string(c.red) + ";" + std::to_string(c.green) + ";" + std::to_string(c.blue);
}

/// Draws upper halves of characters in one colour, with what is below as their background.
std::string blocks(const Pixmap& p) {
  std::string text;
  for (int64_t y = 0; y < p.height; y += 2) {
    for (int64_t x = 0; x < p.width; ++x) {
      const bool changes = x == 0 || p.at(y, x) != p.at(y, x - 1) ||
                           (y + 1 < p.height && p.at(y + 1, x) != p.at(y + 1, x - 1));
      if (changes) text += "\x1b[38;2;" + numbers_of(p.at(y, x)) + "m";
      if (changes && y + 1 < p.height) text += "\x1b[48;2;" + numbers_of(p.at(y + 1, x)) + "m";
      text += "\u2580";
    }
    text += "\x1b[0m\n";
  }
  return text;
}

/// Draws bands of six rows: for each colour a character for each column, whose bits say which of the six it
/// is. Colours are those of a cube of 6 x 6 x 6.
std::string sixel(const Pixmap& p) {
  constexpr int kSteps = 6, kColours = kSteps * kSteps * kSteps;
  const auto step = [](uint8_t c) { return (c * (kSteps - 1) + 127) / 255; };
  const auto number = [&](Colour c) {
    return (step(c.red) * kSteps + step(c.green)) * kSteps + step(c.blue);
  };
  std::string text = "\x1bPq\"1;1;" + std::to_string(p.width) + ";" + std::to_string(p.height);
  for (int i = 0; i < kColours; ++i) {
    const auto percent = [](int of) { return std::to_string(of * 100 / (kSteps - 1)); };
    text += "#" + std::to_string(i) + ";2;" + percent(i / (kSteps * kSteps)) + ";" +
            percent(i / kSteps % kSteps) + ";" + percent(i % kSteps);
  }
  for (int64_t y = 0; y < p.height; y += 6) {
    std::array<std::string, kColours> bits;
    for (int64_t row = y; row < std::min(y + 6, p.height); ++row)
      for (int64_t x = 0; x < p.width; ++x) {
        std::string& of = bits[static_cast<size_t>(number(p.at(row, x)))];
        if (of.empty()) of.assign(static_cast<size_t>(p.width), 0);
        of[static_cast<size_t>(x)] = static_cast<char>(of[static_cast<size_t>(x)] | 1 << (row - y));
      }
    for (int i = 0; i < kColours; ++i) {
      std::string& of = bits[static_cast<size_t>(i)];
      if (of.empty()) continue;
      text += "#" + std::to_string(i);
      for (size_t x = 0; x < of.size();) {
        size_t same = x;
        while (same < of.size() && of[same] == of[x]) ++same;
        const std::string one(1, static_cast<char>(63 + of[x]));
        text += same - x > 3 ? "!" + std::to_string(same - x) + one : std::string(same - x, one[0]);
        x = same;
      }
      text += "$";
    }
    text += "-";
  }
  return text + "\x1b\\\n";
}

}  // namespace

std::string terminal_text(const Tensor& picture, const TerminalOptions& o, Site s) {
  if (o.columns < 0) lazy::detail::fail<Error>(kName, std::to_string(o.columns) + " columns", s);
  const int asked = o.columns ? 0 : terminal_columns(STDOUT_FILENO);
  const int64_t columns = o.columns ? o.columns : asked ? asked : 80;
  const bool by_blocks = o.pixels == Pixels::blocks;
  const Pixmap p = pixmap_of(picture, by_blocks ? columns : columns * kPixelsOfColumn, o.map, s);
  return by_blocks ? blocks(p) : sixel(p);
}

void imshow(const Tensor& picture, const TerminalOptions& o, Site s) {
  const std::string text = terminal_text(picture, o, s);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace lazy::plot
