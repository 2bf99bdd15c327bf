// Defines the state that random numbers are drawn from.
//
// A draw is a pure function of the generator's seed and its position, which counts draws: both select a key,
// and element i is what Philox4x32-10 gives for the counter i under that key. So values do not depend on
// threads, devices, fusion, or on when they are computed, and keys are arguments of a program: drawing again
// compiles nothing.
#pragma once
#include <atomic>
#include <cstdint>

namespace lazy {

/// Holds a seed and the position of the next draw. May be used by several threads: no two draws get the same
/// position.
class Generator {
 public:
  constexpr explicit Generator(uint64_t seed = 0) : seed_(seed) {}
  Generator(const Generator& g) : seed_(g.seed()), position_(g.position()) {}
  Generator& operator=(const Generator& g) {
    seed_ = g.seed();
    position_ = g.position();
    return *this;
  }
  /// Begins another sequence at position 0.
  void manual_seed(uint64_t seed) {
    seed_ = seed;
    position_ = 0;
  }
  uint64_t seed() const { return seed_; }
  /// Returns how many draws there were: with the seed, all of the state. set_position() restores it.
  uint64_t position() const { return position_; }
  void set_position(uint64_t p) { position_ = p; }
  /// Returns the position of the next draw and counts it.
  uint64_t advance() { return position_.fetch_add(1); }

 private:
  std::atomic<uint64_t> seed_;
  std::atomic<uint64_t> position_{0};
};

/// Returns the generator that functions use which are given none. Its first seed is LAZY_SEED.
Generator& default_generator();
/// Seeds the default generator.
void manual_seed(uint64_t seed);

}  // namespace lazy
