#include "lazy/training/curves.hpp"

#include <algorithm>

#include "lazy/io/file.hpp"
#include "lazy/io/image.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/plot/figure.hpp"

namespace lazy::training {
namespace {

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

plot::Figure Curves::figure(CurveOptions o, Site s) const {
  check_size(o, s);
  plot::Figure f(title_, {.width = o.width, .height = o.height, .log_y = o.log_scale, .dark = o.dark}, s);
  for (const Curve& c : curves_) {
    std::vector<double> steps, values;
    for (const auto& [step, value] : c.points) steps.push_back(step), values.push_back(value);
    f.line(from_span(steps), from_span(values), c.name, s);
  }
  return f;
}

void Curves::write_svg(const std::string& path, CurveOptions o, Site s) const {
  const std::string text = figure(o, s).svg(s);
  lazy::detail::NewFile file("write_svg", path, s);
  file.put(text);
  file.finish();
}

Tensor Curves::picture(CurveOptions o, Site s) const { return figure(o, s).picture(s); }

void Curves::write_png(const std::string& path, CurveOptions o, Site s) const {
  lazy::write_png(path, TensorArg(picture(o, s), s));
}

}  // namespace lazy::training
