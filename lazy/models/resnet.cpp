#include "lazy/models/resnet.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/functional/pooling.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"

namespace lazy::models {
namespace {

constexpr int64_t kWidening = 4;

nn::Conv2d convolution(int64_t in, int64_t out, int64_t window, int64_t stride, const Site& s) {
  return nn::Conv2d(in, out, window, {.stride = stride, .padding = window / 2, .bias = false}, s);
}

/// Adds `count` blocks; `inputs` becomes how many channels they give.
std::vector<ResidualBlock> blocks(const ResNetConfig& c, int stage, int64_t& inputs, const Site& s) {
  std::vector<ResidualBlock> list;
  const int64_t width = c.width << stage;
  for (int64_t i = 0; i < c.layers[static_cast<size_t>(stage)]; ++i) {
    list.emplace_back(inputs, width, i == 0 && stage ? 2 : 1, c.bottleneck, s);
    inputs = c.bottleneck ? width * kWidening : width;
  }
  return list;
}

const ResNetConfig& checked(const ResNetConfig& c, const Site& s) {
  if (c.layers.size() != 4)
    lazy::detail::fail<Error>("ResNet", "layers has " + std::to_string(c.layers.size()) + " numbers, not 4",
                              s);
  return c;
}

}  // namespace

ResidualBlock::ResidualBlock(int64_t inputs, int64_t width, int64_t stride, bool bottleneck, const Site& s)
    : conv1(bottleneck ? convolution(inputs, width, 1, 1, s) : convolution(inputs, width, 3, stride, s)),
      bn1(width, {}, s),
      conv2(convolution(width, width, 3, bottleneck ? stride : 1, s)),
      bn2(width, {}, s) {
  const int64_t outputs = bottleneck ? width * kWidening : width;
  if (bottleneck) {
    conv3.emplace(convolution(width, outputs, 1, 1, s));
    bn3.emplace(outputs, nn::BatchNormLayerOptions{}, s);
  }
  if (stride != 1 || inputs != outputs)
    downsample.emplace(convolution(inputs, outputs, 1, stride, s), nn::BatchNorm2d(outputs, {}, s));
}

Tensor ResidualBlock::operator()(Arg arg) {
  const Tensor x(arg.take());
  Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  if (conv3) y = (*bn3)((*conv3)(relu(y)));
  return relu(y + (downsample ? (*downsample)(x) : x));
}

ResNet::ResNet(const ResNetConfig& config, Site s)
    : conv1(convolution(config.channels, config.width, 7, 2, s)), bn1(config.width, {}, s), config_(config) {
  if (config.classes > 0)
    fc.emplace(config.width * 8 * (config.bottleneck ? kWidening : 1), config.classes, nn::LinearOptions{},
               s);
  int64_t inputs = checked(config, s).width;
  layer1 = blocks(config, 0, inputs, s);
  layer2 = blocks(config, 1, inputs, s);
  layer3 = blocks(config, 2, inputs, s);
  layer4 = blocks(config, 3, inputs, s);
  apply([&](nn::Conv2d& c) {
    nn::init::kaiming_normal_({c.weight, s},
                              {.mode = nn::init::Fan::out, .nonlinearity = nn::init::Nonlinearity::relu});
  });
}

Tensor ResNet::operator()(Arg x) {
  const Tensor y = mean(encode(std::move(x)), {2, 3});
  return fc ? (*fc)(y) : y;
}

Tensor ResNet::encode(Arg x) {
  Tensor y = max_pool2d(relu(bn1(conv1(std::move(x)))), 3, {.stride = 2, .padding = 1});
  for (auto* stage : {&layer1, &layer2, &layer3, &layer4})
    for (ResidualBlock& block : *stage) y = block(y);
  return y;
}

}  // namespace lazy::models
