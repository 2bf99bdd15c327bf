#include "lazy/random/generator.hpp"

#include "support/config.hpp"
#include "support/lock.hpp"

namespace lazy {

Generator& default_generator() {
  static constinit Once<Generator> generator;
  return generator.get([] { return Generator(static_cast<uint64_t>(config::get().seed)); });
}

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace lazy
