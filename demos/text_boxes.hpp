// Turns what models of text in pictures compute into regions and letters.
#pragma once
#include <cmath>
#include <cstdint>
#include <lazy/lazy.hpp>
#include <string>
#include <vector>

namespace demo {

struct Point {
  double x, y;  // pixels from the left and the top edge of a picture
};

/// Holds a rectangle of a picture at any angle: from its corner the text goes along `across`, its height
/// along `down`.
struct Region {
  Point corner, across, down;
  double width() const { return std::hypot(across.x, across.y); }
  double height() const { return std::hypot(down.x, down.y); }
  Point at(double right, double below) const {  // parts of the width and the height
    return {corner.x + right * across.x + below * down.x, corner.y + right * across.y + below * down.y};
  }
  /// Returns the same region of a picture that is so many times as wide and as high.
  Region scaled(double x, double y) const {
    const auto by = [&](Point p) { return Point{p.x * x, p.y * y}; };
    return {by(corner), by(across), by(down)};
  }
  /// Returns the region between the nearest whole pixels.
  Region rounded() const;
};

/// Finds where text is likely: probabilities [height, width]. Pixels above a threshold that touch are in a
/// region, the smallest rectangle around them, which grows by as much as a detector's are smaller than the
/// text. Regions come line by line, as lines lie by the angle that most of them have; from the last to the
/// first of a picture that stands on its head.
std::vector<Region> find_regions(const lazy::Tensor& probabilities);

/// Returns what is in a region of a picture [height, width, 3], upright: that of a tall one is turned to the
/// left, as lines of text are wide.
lazy::Tensor cut_out(const lazy::Tensor& picture, const Region&);

/// Reads rows of scores [n, steps, characters] as a recogniser was taught by CTC: the best character of each
/// step, where equal neighbours are one and character 0 is none.
std::vector<std::string> read_characters(const lazy::Tensor& scores,
                                         const std::vector<std::string>& alphabet);

/// Returns a picture [height, width, 3] in which the outlines of regions are drawn.
lazy::Tensor with_outlines(const lazy::Tensor& picture, const std::vector<Region>&);

}  // namespace demo
