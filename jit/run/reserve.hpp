// Reserves memory for the rest of a run that has begun to overwrite an input: it must not fail any more, so
// memory for all later steps is allocated first. Values reuse the memory of dead ones, so this takes the
// run's peak, not the sum of its values.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/plan/program.hpp"

namespace lazy::jit {

class Reserve {
 public:
  /// Holds the steps whose values exist at the same time: one step, or those of a tile group that runs
  /// interleaved.
  struct Span {
    uint32_t first = 0, last = 0;
  };
  static constexpr size_t kHas = SIZE_MAX, kKept = SIZE_MAX - 1, kNothing = 0;

  /// Decides which slot takes over which one's memory, in the steps from the span of `first` on. `bytes` has,
  /// by slot, the bytes that it needs before it is made; kNothing: it needs none; kHas: it already has
  /// memory, of `has` bytes; kKept: it has memory that outlives the run, which nobody takes over.
  void plan(const Program&, size_t first, std::span<const Span> together, std::span<const size_t> bytes,
            std::span<const size_t> has);
  bool planned() const { return !ancestor_.empty(); }
  /// Names a slot that needs new memory, and how many bytes.
  struct Fresh {
    uint32_t slot;
    size_t bytes;
  };
  const std::vector<Fresh>& fresh() const { return fresh_; }
  /// Returns the dead slot whose memory `slot` takes over, or kNone.
  uint32_t ancestor(uint32_t slot) const { return planned() ? ancestor_[slot] : kNone; }
  /// True if the memory of `slot`, which is dead, is reserved for a later one.
  bool is_handed_on(uint32_t slot) const { return planned() && handed_on_[slot]; }

 private:
  std::vector<uint32_t> ancestor_;
  std::vector<uint8_t> handed_on_;
  std::vector<Fresh> fresh_;
};

}  // namespace lazy::jit
