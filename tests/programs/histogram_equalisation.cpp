// Spreads the tones of an image so that each part of the scale is used as often.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(histogram_equalisation) {
  const Tensor image = in("image");
  const Tensor count = bincount(image.ravel(), 256);
  const Tensor running = cumsum(count);
  const Tensor low = min(running(running > 0));
  const Tensor table = clip(round((running - low) * 255 / (image.size() - low)), 0, 255).astype(uint8);
  const Tensor result = table(image);
  return {{"count", count}, {"result", result}, {"contrast", stack({image.std(), result.std()})}};
}
