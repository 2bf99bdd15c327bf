// A wave on a string that is held at both ends; all steps are one flush.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(wave_equation, .elementary = true) {
  const double courant = in.real("courant");
  const Tensor x = linspace(0, 1, in.whole("n"));
  Tensor now = exp(-100 * square(x - 0.3)), before = now;
  std::vector<Tensor> energy;
  const auto inner = slice(1, -1);
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    Tensor after = zeros_like(now);
    after(inner) = 2 * now(inner) - before(inner) +
                   courant * courant * (now(slice(2, none)) - 2 * now(inner) + now(slice(-2)));
    before = now;
    now = after;
    energy.push_back(sum(square(now)));
  }
  return {{"now", now}, {"energy", stack(energy)}, {"peak", argmax(abs(now))}};
}
