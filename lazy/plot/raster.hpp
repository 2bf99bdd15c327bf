// Draws lines, rectangles and text into pixels. Internal to lazy/plot.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lazy/plot/colour.hpp"

namespace lazy::plot::detail {

/// Holds width x height pixels of three bytes.
class Raster {
 public:
  // In pixels, at scale 1: of a character and the gap after it.
  static constexpr int kCharacterWidth = 6, kCharacterHeight = 7;

  Raster(int width, int height, Colour background = {255, 255, 255}) : width_(width), height_(height) {
    pixels_.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
    for (int64_t i = int64_t{width} * height; i > 0; --i)
      pixels_.insert(pixels_.end(), {background.red, background.green, background.blue});
  }
  /// Draws a line of this width with soft edges; what lies outside is left out. Without length it is a dot.
  void line(double x0, double y0, double x1, double y1, double width, Colour);
  void rectangle(double x, double y, double width, double height, Colour, double opacity = 1);
  /// Writes a text whose upper left corner is at (x, y), or, upwards, whose lower left one is. Characters
  /// other than ASCII's are boxes.
  void text(double x, double y, std::string_view text, double scale, Colour, bool upwards = false);
  const std::vector<uint8_t>& pixels() const { return pixels_; }

 private:
  /// Lays a colour over a pixel, 0 to 1 opaque.
  void blend(int x, int y, double opacity, Colour);

  int width_, height_;
  std::vector<uint8_t> pixels_;
};

}  // namespace lazy::plot::detail
