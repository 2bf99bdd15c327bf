// MobileNetV3 (Howard et al., 2019) with torchvision's names.
#pragma once
#include <vector>

#include "lazy/nn/modules/containers.hpp"

namespace lazy::models {

/// Describes one block.
struct MobileNetBlock {
  int64_t inputs, window, expanded, outputs;
  bool squeezed;   // channels are weighed by their means
  bool hardswish;  // else relu
  int64_t stride, dilation = 1;
};
struct MobileNetV3Config {
  std::vector<MobileNetBlock> blocks;
  int64_t last = 1280;  // extent of the layer before the classes
  int64_t classes = 1000;
  double dropout = 0.2;
};
MobileNetV3Config mobilenet_v3_large_config(IntegerArg classes = 1000);
MobileNetV3Config mobilenet_v3_small_config(IntegerArg classes = 1000);

/// Classifies images (N, 3, H, W) -> (N, classes).
struct MobileNetV3 : nn::Module {
  nn::Sequential features, classifier;
  explicit MobileNetV3(const MobileNetV3Config& config, Site s = Site::current());
  Tensor operator()(Arg x);
  LAZY_MODULE(features, classifier)
};

inline MobileNetV3 mobilenet_v3_large(IntegerArg classes = 1000, Site s = Site::current()) {
  return MobileNetV3(mobilenet_v3_large_config(classes), s);
}
inline MobileNetV3 mobilenet_v3_small(IntegerArg classes = 1000, Site s = Site::current()) {
  return MobileNetV3(mobilenet_v3_small_config(classes), s);
}

}  // namespace lazy::models
