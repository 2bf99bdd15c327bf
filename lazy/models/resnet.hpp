// Residual networks (He et al., 2015) with torchvision's names.
#pragma once
#include <optional>
#include <vector>

#include "lazy/nn/modules/containers.hpp"
#include "lazy/nn/modules/convolution.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/normalisation.hpp"

namespace lazy::models {

struct ResNetConfig {
  std::vector<int64_t> layers{2, 2, 2, 2};  // blocks with 1, 2, 4, 8 times the width
  bool bottleneck = false;                  // three convolutions a block, of which the last widens it 4 times
  int64_t width = 64, channels = 3;
  int64_t classes = 1000;  // 0: the model encodes images, and has no fc
};

/// Adds to x what two or three convolutions make of it.
struct ResidualBlock : nn::Module {
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  std::optional<nn::Conv2d> conv3;
  std::optional<nn::BatchNorm2d> bn3;
  std::optional<nn::Sequential> downsample;  // of x, where shapes differ
  ResidualBlock(int64_t inputs, int64_t width, int64_t stride, bool bottleneck, const Site&);
  Tensor operator()(Arg x);
  LAZY_MODULE(conv1, bn1, conv2, bn2, conv3, bn3, downsample)
};

/// Classifies images (N, channels, H, W) -> (N, classes). Without classes it gives the mean over the pixels
/// of the last layer, (N, width).
struct ResNet : nn::Module {
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  std::vector<ResidualBlock> layer1, layer2, layer3, layer4;
  std::optional<nn::Linear> fc;
  explicit ResNet(const ResNetConfig& config = {}, Site s = Site::current());
  Tensor operator()(Arg x);
  /// Returns what the last layer gives, (N, width, rows, columns).
  Tensor encode(Arg x);
  const ResNetConfig& config() const { return config_; }
  LAZY_MODULE(conv1, bn1, layer1, layer2, layer3, layer4, fc)

 private:
  ResNetConfig config_;
};

inline ResNet resnet18(IntegerArg classes = 1000, Site s = Site::current()) {
  return ResNet({.classes = classes}, s);
}
inline ResNet resnet50(IntegerArg classes = 1000, Site s = Site::current()) {
  return ResNet({.layers = {3, 4, 6, 3}, .bottleneck = true, .classes = classes}, s);
}

}  // namespace lazy::models
