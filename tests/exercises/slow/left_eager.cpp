// Has a setting for debugging left on; the other one had it on for a few ops.
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  config::set("LAZY_EAGER", "on");  // cause: LAZY_EAGER is on, set at HERE
  Tensor x = rand({1000});
  for (int i = 0; i < 300; ++i) x = x * 0.5f + 1.0f;
}

void innocent() {
  Tensor x = rand({1000});
  {
    const config::Override eager("LAZY_EAGER", "on");
    for (int i = 0; i < 20; ++i) x = x * 0.5f + 1.0f;
  }
  for (int i = 0; i < 300; ++i) x = x * 0.5f + 1.0f;
  x.eval();
}

const exercises::Program program("left_eager", slow, innocent);

}  // namespace
