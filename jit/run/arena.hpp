// Puts the small values that a run makes and nobody sees into one block of memory. With the same extents as
// in the run before the same ones are made, so where each lies is decided once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/plan/program.hpp"

namespace lazy::jit {

class Arena {
 public:
  /// Larger values have memory of their own: it can be used for something else before the run is over.
  static constexpr size_t kMostBytes = size_t{128} << 10;

  /// Forgets where values lie: the next run has other extents.
  void forget() {
    noted_.clear();
    offset_.clear();
    bytes_ = 0;
  }
  /// Notes that the run gave a slot memory of its own, of that size.
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
  size_t bytes_ = 0;              // of the block
};

}  // namespace lazy::jit
