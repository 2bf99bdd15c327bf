// Reads a turned input in each pass; the other one lays it out once.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor wide = rand({1024, 1024}).eval();
  const Tensor turned = transpose(wide);  // cause: .1024, 1024., made at HERE .* across its memory
  Tensor y = rand({1024, 1024});
  for (int i = 0; i < 40; ++i) y = y * 0.5f + turned, y.eval();
}

void innocent() {
  const Tensor turned = transpose(rand({1024, 1024})).contiguous().eval();
  Tensor y = rand({1024, 1024});
  for (int i = 0; i < 40; ++i) y = y * 0.5f + turned, y.eval();
}

const exercises::Program program("reads_across", slow, innocent);

}  // namespace
