// Computes large values in float64 for one small operand; the other one's operand is a number.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor x = rand({1 << 19}).eval(), scale = full({1}, 0.5, float64).eval();
  for (int i = 0; i < 40; ++i) {
    (x * scale).eval();  // cause: multiply at HERE computes .524288. in float64
  }
}

void innocent() {
  const Tensor x = rand({1 << 19}).eval();
  for (int i = 0; i < 40; ++i) (x * 0.5).eval();
}

const exercises::Program program("widened_by_a_number", slow, innocent);

}  // namespace
