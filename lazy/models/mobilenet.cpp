#include "lazy/models/mobilenet.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/modules/activation.hpp"
#include "lazy/nn/modules/convolution.hpp"
#include "lazy/nn/modules/dropout.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/normalisation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"

namespace lazy::models {
namespace {

enum class Act { none, relu, hardswish };

/// Describes a convolution with normalisation and activation.
struct Step {
  int64_t inputs, outputs, window, stride = 1, groups = 1, dilation = 1;
  Act act = Act::none;
};
nn::Sequential made(const Step& p, const Site& s) {
  nn::Sequential list;
  list.push_back(nn::Conv2d(p.inputs, p.outputs, p.window,
                            {.stride = p.stride,
                             .padding = (p.window - 1) / 2 * p.dilation,
                             .dilation = p.dilation,
                             .groups = p.groups,
                             .bias = false},
                            s));
  list.push_back(nn::BatchNorm2d(p.outputs, {.eps = 0.001, .momentum = 0.01}, s));
  if (p.act == Act::relu) list.push_back(nn::ReLU());
  if (p.act == Act::hardswish) list.push_back(nn::Hardswish());
  return list;
}

/// Rounds up to a multiple of 8, and not below 9/10 of the number.
int64_t multiple_of_8(double n) {
  const int64_t r = std::max<int64_t>(8, static_cast<int64_t>(n + 4) / 8 * 8);
  return static_cast<double>(r) < 0.9 * n ? r + 8 : r;
}

/// Weighs channels by what two layers make of their means.
struct SqueezeExcitation : nn::Module {
  nn::Conv2d fc1, fc2;
  SqueezeExcitation(int64_t channels, const Site& s)
      : fc1(channels, multiple_of_8(static_cast<double>(channels) / 4), 1, {}, s),
        fc2(multiple_of_8(static_cast<double>(channels) / 4), channels, 1, {}, s) {}
  Tensor operator()(Arg arg) const {
    const Tensor x(arg.take());
    return x * hardsigmoid(fc2(relu(fc1(mean(x, {2, 3}, keepdims)))));
  }
  LAZY_MODULE(fc1, fc2)
};

struct InvertedResidual : nn::Module {
  nn::Sequential block;
  bool adds;
  InvertedResidual(const MobileNetBlock& b, const Site& s) : adds(b.stride == 1 && b.inputs == b.outputs) {
    const Act act = b.hardswish ? Act::hardswish : Act::relu;
    if (b.expanded != b.inputs)
      block.push_back(made({.inputs = b.inputs, .outputs = b.expanded, .window = 1, .act = act}, s));
    block.push_back(made({.inputs = b.expanded,
                          .outputs = b.expanded,
                          .window = b.window,
                          .stride = b.dilation > 1 ? 1 : b.stride,
                          .groups = b.expanded,
                          .dilation = b.dilation,
                          .act = act},
                         s));
    if (b.squeezed) block.push_back(SqueezeExcitation(b.expanded, s));
    block.push_back(made({.inputs = b.expanded, .outputs = b.outputs, .window = 1}, s));
  }
  Tensor operator()(Arg arg) {
    const Tensor x(arg.take());
    const Tensor y = block(x);
    return adds ? x + y : y;
  }
  LAZY_MODULE(block)
};

}  // namespace

MobileNetV3Config mobilenet_v3_large_config(IntegerArg classes) {
  return {{{16, 3, 16, 16, false, false, 1},
           {16, 3, 64, 24, false, false, 2},
           {24, 3, 72, 24, false, false, 1},
           {24, 5, 72, 40, true, false, 2},
           {40, 5, 120, 40, true, false, 1},
           {40, 5, 120, 40, true, false, 1},
           {40, 3, 240, 80, false, true, 2},
           {80, 3, 200, 80, false, true, 1},
           {80, 3, 184, 80, false, true, 1},
           {80, 3, 184, 80, false, true, 1},
           {80, 3, 480, 112, true, true, 1},
           {112, 3, 672, 112, true, true, 1},
           {112, 5, 672, 160, true, true, 2},
           {160, 5, 960, 160, true, true, 1},
           {160, 5, 960, 160, true, true, 1}},
          1280,
          classes};
}

MobileNetV3Config mobilenet_v3_small_config(IntegerArg classes) {
  return {{{16, 3, 16, 16, true, false, 2},
           {16, 3, 72, 24, false, false, 2},
           {24, 3, 88, 24, false, false, 1},
           {24, 5, 96, 40, true, true, 2},
           {40, 5, 240, 40, true, true, 1},
           {40, 5, 240, 40, true, true, 1},
           {40, 5, 120, 48, true, true, 1},
           {48, 5, 144, 48, true, true, 1},
           {48, 5, 288, 96, true, true, 2},
           {96, 5, 576, 96, true, true, 1},
           {96, 5, 576, 96, true, true, 1}},
          1024,
          classes};
}

MobileNetV3::MobileNetV3(const MobileNetV3Config& c, Site s) {
  if (c.blocks.empty()) lazy::detail::fail<Error>("MobileNetV3", "there are no blocks", s);
  features.push_back(made(
      {.inputs = 3, .outputs = c.blocks.front().inputs, .window = 3, .stride = 2, .act = Act::hardswish}, s));
  for (const MobileNetBlock& b : c.blocks) features.push_back(InvertedResidual(b, s));
  const int64_t outputs = c.blocks.back().outputs;
  features.push_back(
      made({.inputs = outputs, .outputs = 6 * outputs, .window = 1, .act = Act::hardswish}, s));
  classifier.push_back(nn::Linear(6 * outputs, c.last, {}, s));
  classifier.push_back(nn::Hardswish());
  classifier.push_back(nn::Dropout(c.dropout));
  classifier.push_back(nn::Linear(c.last, c.classes, {}, s));
  apply([&](nn::Conv2d& conv) {
    nn::init::kaiming_normal_({conv.weight, s}, {.mode = nn::init::Fan::out});
    if (conv.bias.defined()) nn::init::zeros_({conv.bias, s});
  });
  apply([&](nn::Linear& linear) {
    nn::init::normal_({linear.weight, s}, 0, 0.01);
    nn::init::zeros_({linear.bias, s});
  });
}

Tensor MobileNetV3::operator()(Arg x) { return classifier(mean(features(std::move(x)), {2, 3})); }

}  // namespace lazy::models
