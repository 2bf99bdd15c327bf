// Changes one element of a large tensor while what it was is still held; the other one lets it go.
#include <vector>

#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor x = (rand({1 << 19}) + 1.0f).eval();
  std::vector<Tensor> history;
  for (int i = 0; i < 6; ++i) {
    history.push_back(x);
    x(3) = 1.0f;  // cause: the update at HERE copied all of its tensor
    x.eval();
  }
}

void innocent() {
  Tensor x = (rand({1 << 19}) + 1.0f).eval();
  std::vector<float> history;
  for (int i = 0; i < 6; ++i) {
    history.push_back(x(3).item<float>());
    x(3) = 1.0f;
    x.eval();
  }
}

const exercises::Program program("copies_for_a_change", slow, innocent);

}  // namespace
