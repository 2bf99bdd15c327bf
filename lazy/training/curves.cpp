#include "lazy/training/curves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lazy/io/file.hpp"
#include "lazy/io/image.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/training/raster.hpp"
#include "support/float_mode.hpp"
#include "support/text.hpp"

namespace lazy::training {
namespace {
using text::formatted;

using detail::Colour;

constexpr Colour kInk{60, 60, 60}, kGrid{225, 225, 225};
// Differ for people who do not tell red from green (Okabe and Ito, 2008).
constexpr Colour kColours[] = {{0, 114, 178},   {213, 94, 0},  {0, 158, 115},
                               {204, 121, 167}, {230, 159, 0}, {86, 180, 233}};

enum class Anchor { left, middle, right };

std::string number_of(double v) { return formatted("%.6g", std::abs(v) < 1e-300 ? 0 : v); }

/// Collects the elements of an SVG file.
struct Svg {
  std::string body;

  static std::string colour(Colour c) {
    char text[32];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", c.red, c.green, c.blue);
    return text;
  }
  void path(const std::vector<std::pair<double, double>>& points, double width, Colour c) {
    body += "<polyline fill=\"none\" stroke=\"" + colour(c) + "\" stroke-width=\"" + formatted("%g", width) +
            "\" points=\"";
    for (const auto& [x, y] : points) body += formatted("%.2f,", x) + formatted("%.2f ", y);
    body += "\"/>\n";
  }
  void text(double x, double y, Anchor anchor, const std::string& words) {
    constexpr const char* kAnchors[] = {"start", "middle", "end"};
    body += "<text x=\"" + formatted("%.1f", x) + "\" y=\"" + formatted("%.1f", y + 4) + "\" text-anchor=\"" +
            kAnchors[static_cast<int>(anchor)] + "\">";
    for (const char c : words)
      body += c == '<'                       ? "&lt;"
              : c == '>'                     ? "&gt;"
              : c == '&'                     ? "&amp;"
              : static_cast<uint8_t>(c) < 32 ? " "
                                             : std::string(1, c);
    body += "</text>\n";
  }
};

struct Pixels {
  detail::Raster raster;

  void path(const std::vector<std::pair<double, double>>& points, double width, Colour c) {
    if (points.size() == 1)
      raster.line(points[0].first, points[0].second, points[0].first, points[0].second, 3, c);
    for (size_t i = 1; i < points.size(); ++i)
      raster.line(points[i - 1].first, points[i - 1].second, points[i].first, points[i].second, width, c);
  }
  void text(double x, double y, Anchor anchor, const std::string& words) {
    const auto width = static_cast<int>(words.size()) * detail::Raster::kCharacterWidth;
    const int left = static_cast<int>(x) - (anchor == Anchor::left    ? 0
                                            : anchor == Anchor::right ? width
                                                                      : width / 2);
    raster.text(left, static_cast<int>(y) - 3, words, kInk);
  }
};

/// Maps values to pixels along one axis, and says where its marks are.
struct Axis {
  double low = HUGE_VAL, high = -HUGE_VAL;  // values (of a log scale their logarithms)
  double first = 0, last = 1;               // pixels
  bool log = false;

  bool has(double v) const { return std::isfinite(v) && (!log || v > 0); }
  double scaled(double v) const { return log ? std::log10(v) : v; }
  void include(double v) {
    if (!has(v)) return;
    low = std::min(low, scaled(v));
    high = std::max(high, scaled(v));
  }
  /// Makes the range one of some length, around what it includes.
  void settle(double from, double to) {
    first = from, last = to;
    if (low > high) low = 0, high = 1;
    const double least = std::max(1e-12 * std::max(std::abs(low), std::abs(high)), 1e-300);
    if (high - low < least) {
      const double room = std::max(std::abs(low) * 0.5, 1e-12);
      low -= room, high += room;
    }
  }
  double at(double v) const { return first + (scaled(v) - low) / (high - low) * (last - first); }
  /// Returns about `count` round numbers in the range, as text and pixel.
  std::vector<std::pair<std::string, double>> marks(int count) const {
    const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
    std::vector<std::pair<std::string, double>> all;
    for (double v = std::ceil(low / step - 1e-9) * step; v <= high + step * 1e-9 && all.size() < 64;
         v += step) {
      const double shown = std::abs(v) < step * 1e-6 ? 0 : v;
      all.emplace_back(log ? formatted("%.3g", std::pow(10, shown)) : number_of(shown),
                       first + (v - low) / (high - low) * (last - first));
    }
    return all;
  }
};

void check_size(const CurveOptions& o, const Site& s) {
  constexpr int kLeast = 200, kMost = 8192;
  if (o.width < kLeast || o.height < kLeast || o.width > kMost || o.height > kMost)
    throw ShapeError("Curves: a picture has 200 to 8192 pixels on a side, not " + std::to_string(o.width) +
                         " x " + std::to_string(o.height),
                     s);
}

}  // namespace

void Curves::add(const std::string& name, double step, double value) {
  auto curve = std::find_if(curves_.begin(), curves_.end(), [&](const Curve& c) { return c.name == name; });
  if (curve == curves_.end()) curve = curves_.insert(curve, {name, {}});
  curve->points.emplace_back(step, value);
}

std::vector<std::pair<double, double>> Curves::points(const std::string& name) const {
  for (const Curve& c : curves_)
    if (c.name == name) return c.points;
  return {};
}

template <class Canvas>
void Curves::draw(Canvas& canvas, const CurveOptions& o) const {
  const FloatEnvironment environment;
  const double left = 70, right = o.width - 16, top = 34, bottom = o.height - 30;
  Axis x, y;
  y.log = o.log_scale;
  for (const Curve& c : curves_)
    for (const auto& [step, value] : c.points)
      if (x.has(step) && y.has(value)) x.include(step), y.include(value);
  x.settle(left, right);
  y.settle(bottom, top);
  for (const auto& [text, at] : x.marks(8)) {
    canvas.path({{at, top}, {at, bottom}}, 1, kGrid);
    canvas.text(at, bottom + 12, Anchor::middle, text);
  }
  for (const auto& [text, at] : y.marks(6)) {
    canvas.path({{left, at}, {right, at}}, 1, kGrid);
    canvas.text(left - 6, at, Anchor::right, text);
  }
  canvas.path({{left, top}, {left, bottom}, {right, bottom}}, 1, kInk);
  canvas.text(left, 14, Anchor::left, title_);
  double legend = top + 12;
  for (size_t i = 0; i < curves_.size(); ++i) {
    const Colour colour = kColours[i % std::size(kColours)];
    std::vector<std::pair<double, double>> run;
    const auto end = [&] {
      if (!run.empty()) canvas.path(run, 1.6, colour);
      run.clear();
    };
    for (const auto& [step, value] : curves_[i].points)
      if (x.has(step) && y.has(value)) run.emplace_back(x.at(step), y.at(value));
      else end();
    end();
    canvas.path({{right - 24, legend}, {right - 8, legend}}, 3, colour);
    canvas.text(right - 30, legend, Anchor::right, curves_[i].name);
    legend += 14;
  }
}

void Curves::write_svg(const std::string& path, CurveOptions o, Site s) const {
  check_size(o, s);
  Svg svg;
  draw(svg, o);
  const std::string size =
      "width=\"" + std::to_string(o.width) + "\" height=\"" + std::to_string(o.height) + "\"";
  lazy::detail::NewFile file("write_svg", path, s);
  file.put("<svg xmlns=\"http://www.w3.org/2000/svg\" " + size +
           " font-family=\"sans-serif\" font-size=\"11\" fill=\"" + Svg::colour(kInk) + "\">\n<rect " + size +
           " fill=\"white\"/>\n" + svg.body + "</svg>\n");
  file.finish();
}

Tensor Curves::picture(CurveOptions o, Site s) const {
  check_size(o, s);
  Pixels pixels{detail::Raster(o.width, o.height)};
  draw(pixels, o);
  return from_span(pixels.raster.pixels(), ShapeArg(Shape{o.height, o.width, 3}), {}, s);
}

void Curves::write_png(const std::string& path, CurveOptions o, Site s) const {
  lazy::write_png(path, TensorArg(picture(o, s), s));
}

}  // namespace lazy::training
