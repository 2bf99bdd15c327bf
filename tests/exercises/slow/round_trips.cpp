// Computes on the host what the library could: values go there and back. The other one only reads results.
#include <span>
#include <vector>

#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor grid = rand({256, 256});
  for (int i = 0; i < 40; ++i) {
    std::vector<float> host =
        grid.to_vector<float>();  // cause: to_vector.. at HERE takes 256.0 KiB to the host
    for (float& f : host) f = f * 0.5f;
    grid = from_span(std::span<const float>(host), {256, 256}) + 1.0f;
  }
}

void innocent() {
  Tensor grid = rand({256, 256});
  float sum = 0;
  for (int i = 0; i < 40; ++i) {
    grid = grid * 0.5f + 1.0f;
    for (const float f : grid.to_vector<float>()) sum += f;
  }
}

const exercises::Program program("round_trips", slow, innocent);

}  // namespace
