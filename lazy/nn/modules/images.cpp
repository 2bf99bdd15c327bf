#include "lazy/nn/modules/images.hpp"

#include "lazy/nn/modules/text.hpp"

namespace lazy::nn {

using detail::Repr;

namespace {

Repr window_repr(Repr r, const Axes& window, const FoldOptions& o) {
  r.each("kernel_size", window)
      .each("dilation", o.dilation)
      .each("padding", o.padding)
      .each("stride", o.stride);
  return r;
}

/// Returns torch's name, which says how many axes a linear mode has.
std::string mode_name(const InterpolateOptions& o) {
  switch (o.mode) {
    case Interpolation::nearest: return "nearest";
    case Interpolation::nearest_exact: return "nearest-exact";
    case Interpolation::cubic: return "bicubic";
    case Interpolation::area: return "area";
    case Interpolation::linear: break;
  }
  const size_t axes = std::max(static_cast<size_t>(o.size.size()), o.scale_factor.size());
  return axes == 1 ? "linear" : axes == 3 ? "trilinear" : "bilinear";
}

}  // namespace

std::string Upsample::extra_repr() const {
  Repr r;
  if (options.scale_factor.empty()) {
    r.each("size", options.size);
  } else {
    std::string factors;
    for (const double f : options.scale_factor) factors += (factors.empty() ? "" : ", ") + detail::text(f);
    r.add("scale_factor", options.scale_factor.size() == 1 ? factors : "(" + factors + ")");
  }
  return r.add("mode", "'" + mode_name(options) + "'").str();
}

std::string Unfold::extra_repr() const { return window_repr({}, kernel_size, options).str(); }
std::string Fold::extra_repr() const {
  Repr r;
  r.each("output_size", output_size);
  return window_repr(r, kernel_size, options).str();
}

}  // namespace lazy::nn
