// Takes specks of pure black and white out of an image by the median of what is around them.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(median_filter) {
  const Tensor image = in("image"), noise = in("noise");
  Tensor spoilt = image;
  spoilt(noise == 0) = 0;
  spoilt(noise == 1) = 1;
  const Tensor windows = sliding_window_view(pad(spoilt, {{1, 1}}, "symmetric"), {3, 3});
  const Tensor spread = max(windows, {-2, -1}) - min(windows, {-2, -1});
  const Tensor kept = where((spoilt == 0) | (spoilt == 1), median(windows, {-2, -1}), spoilt);
  const Tensor off = abs(kept - image);
  const Tensor worst = stack(unravel_index(argmax(off), image.shape()));
  return {{"kept", kept}, {"spread", spread}, {"worst", max(off)}, {"at", worst}};
}
