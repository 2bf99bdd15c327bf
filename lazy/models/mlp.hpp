// Small models for images and vectors.
#pragma once
#include <vector>

#include "lazy/nn/modules/containers.hpp"
#include "lazy/nn/modules/convolution.hpp"
#include "lazy/nn/modules/linear.hpp"

namespace lazy::models {

/// Applies linear layers with relu between them: x (..., inputs) -> (..., last of `layers`). Names of
/// torchvision.ops.MLP with dropout: 0.weight, 3.weight, 6.weight.
struct MLP : nn::Sequential {
  /// `layers`: the extents of all results. `dropout`: after each layer.
  MLP(IntegerArg inputs, const std::vector<int64_t>& layers, double dropout = 0, Site s = Site::current());
  std::string name() const override { return "MLP"; }
};

/// Classifies images (N, 1, 28, 28) -> (N, classes) (LeCun et al., 1998, with relu and maxima).
struct LeNet : nn::Module {
  nn::Conv2d conv1{1, 6, 5, {.padding = 2}}, conv2{6, 16, 5};
  nn::Linear fc1{400, 120}, fc2{120, 84}, fc3;
  explicit LeNet(IntegerArg classes = 10, Site s = Site::current());
  Tensor operator()(Arg x) const;
  LAZY_MODULE(conv1, conv2, fc1, fc2, fc3)
};

}  // namespace lazy::models
