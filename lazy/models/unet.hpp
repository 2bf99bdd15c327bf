// U-Net (Ronneberger et al., 2015) with the names of the widely used implementation by milesial.
#pragma once
#include <vector>

#include "lazy/nn/modules/containers.hpp"
#include "lazy/nn/modules/convolution.hpp"

namespace lazy::models {

struct UNetConfig {
  int64_t channels = 3, classes = 2;
  int64_t width = 64;  // channels at full size; each of four halvings doubles them
};

/// Convolves twice, each time normalised, with relu.
struct DoubleConv : nn::Module {
  nn::Sequential double_conv;
  DoubleConv(int64_t inputs, int64_t outputs, const Site&);
  Tensor operator()(Arg x) { return double_conv(std::move(x)); }
  LAZY_MODULE(double_conv)
};
/// Halves the image, then convolves.
struct UNetDown : nn::Module {
  nn::Sequential maxpool_conv;
  UNetDown(int64_t inputs, int64_t outputs, const Site&);
  Tensor operator()(Arg x) { return maxpool_conv(std::move(x)); }
  LAZY_MODULE(maxpool_conv)
};
/// Doubles the image and joins it with one of the way down.
struct UNetUp : nn::Module {
  nn::ConvTranspose2d up;
  DoubleConv conv;
  UNetUp(int64_t inputs, int64_t outputs, const Site&);
  Tensor operator()(Arg x, Arg skip);
  LAZY_MODULE(up, conv)
};
struct UNetOut : nn::Module {
  nn::Conv2d conv;
  UNetOut(int64_t inputs, int64_t outputs, const Site& s) : conv(inputs, outputs, 1, {}, s) {}
  Tensor operator()(Arg x) const { return conv(std::move(x)); }
  LAZY_MODULE(conv)
};

/// Classifies each element of images (N, channels, H, W) -> (N, classes, H, W). H and W are at least 16.
struct UNet : nn::Module {
  DoubleConv inc;
  UNetDown down1, down2, down3, down4;
  UNetUp up1, up2, up3, up4;
  UNetOut outc;
  explicit UNet(const UNetConfig& config = {}, Site s = Site::current());
  Tensor operator()(Arg x);
  LAZY_MODULE(inc, down1, down2, down3, down4, up1, up2, up3, up4, outc)
};

}  // namespace lazy::models
