// Makes batches between the steps that wait for them; the other one's take no time.
#include <chrono>

#include "lazy/data/data.hpp"
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

struct Quickly {
  int64_t size() const { return 80; }
  data::Example get(int64_t i) const { return {static_cast<float>(i), 1.0f}; }
};
struct Slowly : Quickly {
  data::Example get(int64_t i) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(1500);
    while (std::chrono::steady_clock::now() < until) {}
    return Quickly::get(i);
  }
};

void slow() {
  data::DataLoader loader(Slowly{}, {.batch_size = 1});
  Tensor total = zeros({1});
  for (const data::Batch& b : loader) {  // cause: loop over a DataLoader at HERE makes its batches itself
    total = total + sum(b.x) * sum(b.y);
    total.eval();
  }
}

void innocent() {
  data::DataLoader loader(Quickly{}, {.batch_size = 1});
  Tensor total = zeros({1});
  for (const data::Batch& b : loader) {
    total = total + sum(b.x) * sum(b.y);
    total.eval();
  }
}

const exercises::Program program("waits_for_batches", slow, innocent);

}  // namespace
