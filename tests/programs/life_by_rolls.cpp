// Conway's game of life on a torus: neighbours are the field rolled over, ages are counted by masks.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(life_by_rolls) {
  Tensor cells = in("cells"), ages = zeros(cells.shape(), int64);
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    Tensor neighbours = zeros(cells.shape(), int64);
    for (int i : {-1, 0, 1})
      for (int j : {-1, 0, 1})
        if (i || j) neighbours += roll(cells, {i, j}, {0, 1});
    cells = (neighbours == 3) | (cells & (neighbours == 2));
    ages(cells) += 1;
    ages(~cells) = 0;
    eval(cells, ages);
  }
  return {{"cells", cells}, {"ages", ages}, {"rows_alive", any(cells, 1)}};
}
