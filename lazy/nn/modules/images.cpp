#include "lazy/nn/modules/images.hpp"

#include <algorithm>

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

/// Returns torch's name, which says of a linear mode how many axes there are.
std::string mode_name(const InterpolateOptions& o, size_t axes) {
  switch (o.mode) {
    case Interpolation::nearest: return "nearest";
    case Interpolation::nearest_exact: return "nearest-exact";
    case Interpolation::cubic: return "bicubic";
    case Interpolation::area: return "area";
    case Interpolation::linear: break;
  }
  return axes == 2 ? "bilinear" : axes == 3 ? "trilinear" : "linear";
}

/// `axes`: 0 if only the options' lists tell.
std::string upsample_repr(const InterpolateOptions& o, size_t axes) {
  Repr r;
  if (o.scale_factor.empty()) {
    r.each("size", o.size);
  } else {
    std::string factors;
    for (const double f : o.scale_factor) factors += (factors.empty() ? "" : ", ") + detail::text(f);
    r.add("scale_factor", o.scale_factor.size() == 1 ? factors : "(" + factors + ")");
  }
  if (axes == 0) axes = std::max(static_cast<size_t>(o.size.size()), o.scale_factor.size());
  return r.add("mode", "'" + mode_name(o, axes) + "'").str();
}

}  // namespace

std::string Upsample::extra_repr() const { return upsample_repr(options, 0); }
std::string UpsamplingBilinear2d::extra_repr() const { return upsample_repr(options, 2); }

std::string Unfold::extra_repr() const { return window_repr({}, kernel_size, options).str(); }
std::string Fold::extra_repr() const {
  Repr r;
  r.each("output_size", output_size);
  return window_repr(r, kernel_size, options).str();
}

}  // namespace lazy::nn
