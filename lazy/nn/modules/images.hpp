// Layers that resize images, take them apart, and move elements between channels and space.
#pragma once
#include <string>

#include "lazy/nn/functional/folding.hpp"
#include "lazy/nn/functional/resize.hpp"
#include "lazy/nn/modules/module.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

/// Resizes as interpolate() does.
struct Upsample : Module {
  InterpolateOptions options;
  explicit Upsample(const InterpolateOptions& o) : options(o) {}
  Tensor operator()(Arg x) const { return interpolate(std::move(x), options); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};
/// Upsamples images (N, C, H, W) by the nearest element, or linearly with coinciding corners.
struct UpsamplingNearest2d : Upsample {
  explicit UpsamplingNearest2d(InterpolateOptions o) : Upsample(o) { options.mode = Interpolation::nearest; }
};
struct UpsamplingBilinear2d : Upsample {
  explicit UpsamplingBilinear2d(InterpolateOptions o) : Upsample(o) {
    options.mode = Interpolation::bilinear;
    options.align_corners = true;
  }
  std::string extra_repr() const override;
};

/// (..., C r r, H, W) -> (..., C, H r, W r).
struct PixelShuffle : Module {
  int64_t upscale_factor;
  explicit PixelShuffle(IntegerArg r) : upscale_factor(r) {}
  Tensor operator()(Arg x) const { return pixel_shuffle(std::move(x), upscale_factor); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override { return "upscale_factor=" + std::to_string(upscale_factor); }
};
/// (..., C, H r, W r) -> (..., C r r, H, W).
struct PixelUnshuffle : Module {
  int64_t downscale_factor;
  explicit PixelUnshuffle(IntegerArg r) : downscale_factor(r) {}
  Tensor operator()(Arg x) const { return pixel_unshuffle(std::move(x), downscale_factor); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override { return "downscale_factor=" + std::to_string(downscale_factor); }
};
struct ChannelShuffle : Module {
  int64_t groups;
  explicit ChannelShuffle(IntegerArg groups) : groups(groups) {}
  Tensor operator()(Arg x) const { return channel_shuffle(std::move(x), groups); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override { return "groups=" + std::to_string(groups); }
};

/// Returns windows as columns: (N, C, S...) -> (N, C window..., L).
struct Unfold : Module {
  Axes kernel_size;
  FoldOptions options;
  explicit Unfold(Axes window, const FoldOptions& o = {}) : kernel_size(window), options(o) {}
  Tensor operator()(Arg x) const { return unfold(std::move(x), kernel_size, options); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};
/// Adds columns up to an image.
struct Fold : Module {
  Axes output_size, kernel_size;
  FoldOptions options;
  Fold(Axes extents, Axes window, const FoldOptions& o = {})
      : output_size(extents), kernel_size(window), options(o) {}
  Tensor operator()(Arg x) const { return fold(std::move(x), output_size, kernel_size, options); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

LAZY_SHADOWING_END
}  // namespace lazy::nn
