// Gives a float32 layer batches in float64; the other one converts them.
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  nn::Linear net(256, 64);
  const Tensor x = rand({512, 256}).astype(float64).eval();
  for (int i = 0; i < 20; ++i) {
    net(x).eval();  // cause: linear at HERE computes in float64
  }
}

void innocent() {
  nn::Linear net(256, 64);
  const Tensor x = rand({512, 256}).astype(float64).eval();
  for (int i = 0; i < 20; ++i) net(x.astype(float32)).eval();
}

const exercises::Program program("double_batches", slow, innocent);

}  // namespace
