// Places the small temporary values of a run in one block of memory. A run with the extents of the run before
// makes the same values, so their places are decided once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/plan/program.hpp"

namespace lazy::jit {

class Arena {
 public:
  /// The most bytes of a value in the block. Larger ones are allocated separately: their memory is free
  /// earlier.
  static constexpr size_t kMostBytes = size_t{128} << 10;

  /// Forgets the places: the next run has other extents.
  void forget() {
    noted_.clear();
    offset_.clear();
    bytes_ = 0;
  }
  /// Notes that the run allocated a slot separately, with that size.
  void note(uint32_t slot, size_t bytes) {
    if (offset_.empty() && bytes <= kMostBytes) noted_.push_back({slot, bytes});
  }
  /// Decides where noted values lie, before a run with the same extents as the latest.
  void lay_out(const Program& p) {
    if (offset_.empty() && !noted_.empty()) assign(p);
  }
  bool has(uint32_t slot) const { return !offset_.empty() && offset_[slot] != kNowhere; }
  size_t offset(uint32_t slot) const { return offset_[slot]; }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr uint32_t kNowhere = ~0u;
  struct Noted {
    uint32_t slot;
    size_t bytes;
  };
  void assign(const Program&);
  std::vector<Noted> noted_;
  std::vector<uint32_t> offset_;  // by slot: bytes into the block, or kNowhere; empty: not decided
  size_t bytes_ = 0;              // bytes of the block
};

}  // namespace lazy::jit
