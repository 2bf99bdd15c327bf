// Measurements of which some are missing: filled by means and by lines, scored, tested, correlated.
#include <cmath>

#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(missing_measurements) {
  const Tensor x = in("x"), missing = isnan(x);
  const int64_t n = x.size(0);
  const Tensor filled = where(missing, nanmean(x, 0), x);
  const Tensor score = (filled - mean(filled, 0)) / stdev(filled, 0, dropdims, 1);
  const Tensor gap = filled(_, 0) - filled(_, 1);
  const Tensor t = mean(gap) / (stdev(gap, {}, dropdims, 1) / std::sqrt(n));
  const Tensor seen = flatnonzero(~missing(_, 0));
  return {{"filled", filled},
          {"score", score},
          {"t", t},
          {"line", interp(arange(n), seen, x(seen, 0))},
          {"complete", x(~any(missing, 1))},
          {"missing", sum(missing, 0)},
          {"correlation", corrcoef(filled.T())},
          {"quartiles", percentile(filled, {25, 50, 75}, 0)}};
}
