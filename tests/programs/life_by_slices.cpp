// Conway's game of life in a field with a dead border: neighbours are slices of the field.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(life_by_slices) {
  Tensor z = astype(pad(in("cells"), {{1, 1}}), int64);
  const auto inner = slice(1, -1), before = slice(none, -2), after = slice(2, none);
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    const Tensor n = z(before, before) + z(before, inner) + z(before, after) + z(inner, before) +
                     z(inner, after) + z(after, before) + z(after, inner) + z(after, after);
    const Tensor birth = (n == 3) & (z(inner, inner) == 0);
    const Tensor survive = ((n == 2) | (n == 3)) & (z(inner, inner) == 1);
    z = zeros_like(z);
    z(inner, inner) = astype(birth | survive, int64);
    z.eval();
  }
  return {{"cells", z(inner, inner)}, {"alive", sum(z)}};
}
