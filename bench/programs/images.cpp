// Programs on images of 1920 x 1080.
#include "programs.hpp"

using namespace lazy;
using programs::uniform;

/// Spreads the tones of an image so that each part of the scale is used as often.
PROGRAM(equalise_histogram, "1080x1920_u8") {
  const Tensor image = floor(128.0f + 100.0f * uniform({n(1080, 30), n(1920, 50)}, -1, 1, 40) *
                                          uniform({n(1080, 30), n(1920, 50)}, 0, 1, 41))
                           .astype(uint8)
                           .eval();
  return [=] {
    const Tensor running = cumsum(bincount(image.ravel(), 256));
    const Tensor low = min(where(running > 0, running, image.size()));
    const Tensor table =
        clip(round((running - low).astype(float32) * 255.0f / (image.size() - low).astype(float32)), 0, 255);
    return take(table.astype(uint8), image, 0);
  };
}

/// Blurs an image along rows and columns, sharpens it, and finds how steep it is.
PROGRAM(filters, "1080x1920") {
  const Tensor image = uniform({n(1080, 30), n(1920, 50)}, 0, 1, 42);
  return [=] {
    constexpr float weight[] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    const auto part = [](const Tensor& x, int64_t axis, int64_t first, int64_t lost) {
      const auto range = slice(first, x.size(axis) - lost + first);
      return axis == 0 ? x(range) : x(_, range);
    };
    const auto blur = [&](const Tensor& x, int64_t axis) {
      Tensor y = weight[0] * part(x, axis, 0, 4);
      for (int64_t i = 1; i < 5; ++i) y = y + weight[i] * part(x, axis, i, 4);
      return y;
    };
    const Tensor padded = pad(image, {{2, 2}}, "edge");
    const Tensor soft = blur(blur(padded, 1), 0);
    const Tensor sharp = pad(clip(image + 1.5f * (image - soft), 0.0f, 1.0f), {{1, 1}}, "edge");
    const Tensor across = part(sharp, 1, 2, 2) - part(sharp, 1, 0, 2),
                 smooth = part(sharp, 1, 0, 2) + 2.0f * part(sharp, 1, 1, 2) + part(sharp, 1, 2, 2);
    const Tensor dx = part(across, 0, 0, 2) + 2.0f * part(across, 0, 1, 2) + part(across, 0, 2, 2);
    const Tensor dy = part(smooth, 0, 2, 2) - part(smooth, 0, 0, 2);
    return sqrt(dx * dx + dy * dy);
  };
}
