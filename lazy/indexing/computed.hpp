// Makes one index of all tensors and lists among the indices of x(...). Internal to lazy/.
#pragma once
#include <vector>

#include "lazy/indexing/placement.hpp"
#include "lazy/indexing/recording.hpp"

namespace lazy::detail {

/// Collects what x(...) has of computed indices, and of integers, which count as such beside them.
struct FoundIndices {
  struct Entry {
    const Index* index;
    int axis, axes;  // the axes of the base that it stands for
  };
  std::vector<Entry> entries;
  uint32_t kept = 0;  // bits: axes of the base that the result has, for slices
  int place = 0;      // the result's axes before the first entry
  enum class State : uint8_t { before, among, after, apart } state = State::before;

  /// Notes the next index: whether it selects (as an integer or a computed index does), and how many axes the
  /// result has before it.
  void note(bool selects, int axes_before) {
    if (!selects) {
      if (state == State::among) state = State::after;
    } else if (state == State::before) {
      place = axes_before;
      state = State::among;
    } else if (state == State::after) {
      state = State::apart;
    }
  }
};

/// Adds computed indices to a region of which everything else is known. Axes that integers stand for are part
/// of the merged axis where they lie among those of computed indices.
void add_computed(const char* op, const Handle& base, const FoundIndices&, Region&, const Site&);
/// Returns what the indices select from the region's values, with the region's axes in order.
Handle read_computed(const char* op, const Handle& part, const Computed&, const Site&);
/// Returns the region's values with `value`, of the shape that read_computed() returns but for axes of extent
/// 1, put where the indices say.
Handle write_computed(const char* op, const Handle& part, const Computed&, const Handle& value, Combine,
                      const Site&);

}  // namespace lazy::detail
