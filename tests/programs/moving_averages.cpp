// Averages of a series in windows: by differences of running sums, weighted, with exponential weights.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(moving_averages, .any_size = false) {  // a step of the exponential average for each element
  const Tensor x = in("x");
  const int64_t window = in.whole("window");
  const Tensor total = cumsum(concat({zeros(1), x}));
  const Tensor simple = (total(slice(window, none)) - total(slice(-window))) / window;
  const Tensor weight = arange(1, window + 1);
  const Tensor windows = sliding_window_view(x, window);
  const Tensor weighted = matmul(windows, weight) / sum(weight);
  std::vector<Tensor> exponential;
  Tensor smooth = x(0);
  for (const Tensor& v : unstack(x)) exponential.push_back(smooth = 0.7 * smooth + 0.3 * v);
  const Tensor score = (x(slice(window - 1, none)) - mean(windows, 1)) / stdev(windows, 1);
  return {{"simple", simple},           {"weighted", weighted}, {"exponential", stack(exponential)},
          {"highest", max(windows, 1)}, {"score", score},       {"fall", max(cummax(x).values - x)}};
}
