// Heat along a rod whose ends are held at 0 and 1, by explicit differences.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(heat_equation) {
  Tensor u = in("start");
  const double rate = in.real("rate");
  u(0) = 0;
  u(-1) = 1;
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    u(slice(1, -1)) += rate * (u(slice(2, none)) - 2 * u(slice(1, -1)) + u(slice(none, -2)));
    u.eval();
  }
  return {{"u", u}, {"total", sum(u)}, {"steepest", max(diff(u))}};
}
