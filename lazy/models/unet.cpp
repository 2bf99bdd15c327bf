#include "lazy/models/unet.hpp"

#include "lazy/nn/functional/padding.hpp"
#include "lazy/nn/modules/activation.hpp"
#include "lazy/nn/modules/normalisation.hpp"
#include "lazy/nn/modules/pooling.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"

namespace lazy::models {

DoubleConv::DoubleConv(int64_t inputs, int64_t outputs, const Site& s) {
  for (const int64_t in : {inputs, outputs}) {
    double_conv.push_back(nn::Conv2d(in, outputs, 3, {.padding = 1, .bias = false}, s));
    double_conv.push_back(nn::BatchNorm2d(outputs, {}, s));
    double_conv.push_back(nn::ReLU());
  }
}

UNetDown::UNetDown(int64_t inputs, int64_t outputs, const Site& s) {
  maxpool_conv.push_back(nn::MaxPool2d(2));
  maxpool_conv.push_back(DoubleConv(inputs, outputs, s));
}

UNetUp::UNetUp(int64_t inputs, int64_t outputs, const Site& s)
    : up(inputs, inputs / 2, 2, {.stride = 2}, s), conv(inputs, outputs, s) {}

Tensor UNetUp::operator()(Arg x, Arg other) {
  const Tensor skip(other.take());
  Tensor y = up(std::move(x));
  const int64_t rows = skip.size(2) - y.size(2), columns = skip.size(3) - y.size(3);
  if (rows || columns) y = pad(y, {columns / 2, columns - columns / 2, rows / 2, rows - rows / 2});
  return conv(concat({skip, y}, 1));
}

UNet::UNet(const UNetConfig& c, Site s)
    : inc(c.channels, c.width, s),
      down1(c.width, 2 * c.width, s),
      down2(2 * c.width, 4 * c.width, s),
      down3(4 * c.width, 8 * c.width, s),
      down4(8 * c.width, 16 * c.width, s),
      up1(16 * c.width, 8 * c.width, s),
      up2(8 * c.width, 4 * c.width, s),
      up3(4 * c.width, 2 * c.width, s),
      up4(2 * c.width, c.width, s),
      outc(c.width, c.classes, s) {}

Tensor UNet::operator()(Arg x) {
  const Tensor x1 = inc(std::move(x)), x2 = down1(x1), x3 = down2(x2), x4 = down3(x3), x5 = down4(x4);
  return outc(up4(up3(up2(up1(x5, x4), x3), x2), x1));
}

}  // namespace lazy::models
