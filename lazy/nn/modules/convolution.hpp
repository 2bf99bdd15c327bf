// Layers that convolve images (N, C, S...), or a single one (C, S...), as lazy/nn/functional/convolution.hpp
// says.
//
//   nn::Conv2d first{3, 64, 7, {.stride = 2, .padding = 3, .bias = false}};
#pragma once
#include <string>

#include "lazy/nn/functional/convolution.hpp"
#include "lazy/nn/modules/module.hpp"
#include "lazy/random/generator.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

/// Holds one number for each spatial axis, or one for all.
struct ConvLayerOptions {
  Axes stride = 1;
  ConvPadding padding = 0;
  Axes dilation = 1;
  Axes output_padding = 0;  // ConvTranspose
  IntegerArg groups = 1;
  bool bias = true;
  PadMode padding_mode = PadMode::constant;
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

namespace detail {

/// Holds what convolutions and transposed ones have in common.
struct ConvBase : Module {
  Parameter weight, bias;
  int64_t in_channels, out_channels, groups;
  Dims kernel_size, stride, dilation, output_padding;
  ConvPadding padding;
  PadMode padding_mode;
  std::string extra_repr() const override;
  LAZY_MODULE(weight, bias)

 protected:
  ConvBase(const char* name, bool transposed, int axes, int64_t in, int64_t out, const Axes& kernel,
           const ConvLayerOptions&, const Site&);
  Tensor convolve(Arg x, int axes) const;
  Tensor transpose(Arg x, int axes, const char* name) const;
};

}  // namespace detail

/// Convolves over D spatial axes; weight (out, in / groups, kernel...), bias (out).
template <int D>
struct ConvNd : detail::ConvBase {
  ConvNd(IntegerArg in_channels, IntegerArg out_channels, Axes kernel_size,
         const ConvLayerOptions& options = {}, Site s = Site::current())
      : ConvBase("Conv", false, D, in_channels, out_channels, kernel_size, options, s) {}
  Tensor operator()(Arg x) const { return convolve(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "Conv" + std::to_string(D) + "d"; }
};
using Conv1d = ConvNd<1>;
using Conv2d = ConvNd<2>;
using Conv3d = ConvNd<3>;

/// Does what conv_transpose() does; weight (in, out / groups, kernel...), bias (out).
template <int D>
struct ConvTransposeNd : detail::ConvBase {
  ConvTransposeNd(IntegerArg in_channels, IntegerArg out_channels, Axes kernel_size,
                  const ConvLayerOptions& options = {}, Site s = Site::current())
      : ConvBase("ConvTranspose", true, D, in_channels, out_channels, kernel_size, options, s) {}
  Tensor operator()(Arg x) const { return transpose(std::move(x), D, "ConvTranspose"); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "ConvTranspose" + std::to_string(D) + "d"; }
};
using ConvTranspose1d = ConvTransposeNd<1>;
using ConvTranspose2d = ConvTransposeNd<2>;
using ConvTranspose3d = ConvTransposeNd<3>;

LAZY_SHADOWING_END
}  // namespace lazy::nn
