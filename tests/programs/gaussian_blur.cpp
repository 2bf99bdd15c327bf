// Makes an image grey, blurs it along rows and columns in turn, sharpens, halves and mirrors it.
#include "tests/programs/program.hpp"

using namespace lazy;

namespace {

/// Returns the image weighted along an axis, which is 2 radius longer.
Tensor weighted(const Tensor& image, const Tensor& weight, int64_t axis) {
  return matmul(sliding_window_view(image, weight.size(), axis), weight);
}

}  // namespace

PROGRAM(gaussian_blur, .elementary = true) {
  const int64_t radius = in.whole("radius");
  const Tensor x = arange(-radius, radius + 1);
  Tensor weight = exp(-square(x) / 2);
  weight /= sum(weight);
  const Tensor grey = matmul(in("image"), tensor({0.299, 0.587, 0.114}));
  const Tensor padded = pad(grey, {{radius, radius}}, "reflect");
  const Tensor blurred = weighted(weighted(padded, weight, 1), weight, 0);
  const Tensor sharp = clip(grey + 1.5 * (grey - blurred), 0, 1);
  return {{"grey", grey},
          {"blurred", blurred},
          {"sharp", sharp},
          {"halved", blurred(slice(none, none, 2), slice(none, none, 2))},
          {"mirrored", sharp(_, slice(none, none, -1))}};
}
