#include "lazy/models/mlp.hpp"

#include "lazy/nn/functional/pooling.hpp"
#include "lazy/nn/modules/activation.hpp"
#include "lazy/nn/modules/dropout.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::models {

MLP::MLP(IntegerArg inputs, const std::vector<int64_t>& layers, double dropout, Site s) {
  int64_t width = inputs;
  for (size_t i = 0; i < layers.size(); ++i) {
    push_back(nn::Linear(width, layers[i], {}, s));
    if (i + 1 < layers.size()) push_back(nn::ReLU());
    push_back(nn::Dropout(dropout));
    width = layers[i];
  }
}

LeNet::LeNet(IntegerArg classes, Site s) : fc3(84, classes, {}, s) {}

Tensor LeNet::operator()(Arg x) const {
  Tensor y = max_pool2d(relu(conv1(std::move(x))), 2);
  y = max_pool2d(relu(conv2(y)), 2);
  return fc3(relu(fc2(relu(fc1(flatten(y, 1))))));
}

}  // namespace lazy::models
