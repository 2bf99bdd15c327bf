// Serves a model for inputs of ever new sizes; the other one pads them to a few.
#include "lazy/inference/session.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  nn::Linear net(8, 4);
  const auto serve = inference::session(net, {.shapes = 16});
  for (int i = 1; i <= 100; ++i)
    (void)serve(rand({i, 8}));  // cause: call at HERE has had inputs of 48 shapes in 48 calls
}

void innocent() {
  nn::Linear net(8, 4);
  const auto serve = inference::session(net, {.shapes = 16});
  for (int i = 1; i <= 100; ++i) (void)serve(rand({(i + 15) / 16 * 16, 8}));
}

const exercises::Program program("session_of_all_sizes", slow, innocent);

}  // namespace
