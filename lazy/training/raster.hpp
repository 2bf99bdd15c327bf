// Draws lines and text into pixels. Internal to lazy/training.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace lazy::training::detail {

struct Colour {
  uint8_t red, green, blue;
};

/// Holds width x height pixels of three bytes, at first white.
class Raster {
 public:
  static constexpr int kCharacterWidth = 6,
                       kCharacterHeight = 7;  // in pixels, of a character and the gap after it

  Raster(int width, int height)
      : width_(width),
        height_(height),
        pixels_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255) {}
  /// Draws a line of this width with soft edges; what lies outside is left out.
  void line(double x0, double y0, double x1, double y1, double width, Colour);
  /// Writes a text whose upper left corner is at (x, y). Characters other than ASCII's are boxes.
  void text(int x, int y, std::string_view text, Colour);
  const std::vector<uint8_t>& pixels() const { return pixels_; }

 private:
  /// Lays a colour over a pixel, 0 to 1 opaque.
  void blend(int x, int y, double opacity, Colour);

  int width_, height_;
  std::vector<uint8_t> pixels_;
};

}  // namespace lazy::training::detail
