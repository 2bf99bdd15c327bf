// Draws lines, rectangles, texts and pictures, as SVG or into pixels. Internal to lazy/plot.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/plot/raster.hpp"

namespace lazy::plot::detail {

enum class Anchor : uint8_t { left, middle, right };
using Points = std::vector<std::pair<double, double>>;

/// Is in pixels; (0, 0) is the upper left corner.
class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void path(const Points&, double width, Colour) = 0;
  virtual void dot(double x, double y, double radius, Colour) = 0;
  virtual void rectangle(double x, double y, double width, double height, Colour, double opacity = 1) = 0;
  /// Writes a text whose height is centred at y; upwards: whose width is, and x is the middle of its height.
  virtual void text(double x, double y, Anchor, const std::string&, double size, Colour,
                    bool upwards = false) = 0;
  /// Draws uint8 (height, width, 3) over a rectangle, each pixel as one colour.
  virtual void picture(const Tensor& pixels, double x, double y, double width, double height,
                       const Site&) = 0;
};

/// Returns about how wide a text is.
inline double width_of(const std::string& text, double size) {
  return 0.6 * size * static_cast<double>(text.size());
}

class SvgCanvas final : public Canvas {
 public:
  void path(const Points&, double width, Colour) override;
  void dot(double x, double y, double radius, Colour) override;
  void rectangle(double x, double y, double width, double height, Colour, double opacity) override;
  void text(double x, double y, Anchor, const std::string&, double size, Colour, bool upwards) override;
  void picture(const Tensor&, double x, double y, double width, double height, const Site&) override;
  /// Returns the file of a picture.
  std::string file(int width, int height, Colour background) const;

 private:
  std::string body_;
};

class PixelCanvas final : public Canvas {
 public:
  PixelCanvas(int width, int height, Colour background) : raster_(width, height, background) {}
  void path(const Points&, double width, Colour) override;
  void dot(double x, double y, double radius, Colour) override;
  void rectangle(double x, double y, double width, double height, Colour, double opacity) override;
  void text(double x, double y, Anchor, const std::string&, double size, Colour, bool upwards) override;
  void picture(const Tensor&, double x, double y, double width, double height, const Site&) override;
  const std::vector<uint8_t>& pixels() const { return raster_.pixels(); }

 private:
  Raster raster_;
};

}  // namespace lazy::plot::detail
