// Draws how numbers change in training, as SVG and PNG.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/plot/figure.hpp"

namespace lazy::training {

struct CurveOptions {
  int width = 720, height = 420;  // pixels; 200 to 8192
  bool log_scale = false;         // of the values: those that are not above 0 are left out
  bool dark = false;
};

/// Holds curves under names, each a list of steps and values.
class Curves {
 public:
  explicit Curves(std::string title = "") : title_(std::move(title)) {}
  /// Adds a point to a curve, which begins with its first one.
  void add(const std::string& name, double step, double value);
  /// Returns a curve's points; none if there is no such curve.
  std::vector<std::pair<double, double>> points(const std::string& name) const;

  /// Write a picture with axes and a legend, which replaces the file once it is whole. Points that are not
  /// finite leave gaps. ShapeError for other sizes, IoError.
  void write_svg(const std::string& path, CurveOptions = {}, Site s = Site::current()) const;
  void write_png(const std::string& path, CurveOptions = {}, Site s = Site::current()) const;
  /// Returns the picture as uint8 [height, width, 3].
  Tensor picture(CurveOptions = {}, Site s = Site::current()) const;
  /// Returns the curves as a figure, to which more can be added. ShapeError for other sizes.
  plot::Figure figure(CurveOptions = {}, Site s = Site::current()) const;

 private:
  struct Curve {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };
  std::string title_;
  std::vector<Curve> curves_;
};

}  // namespace lazy::training
