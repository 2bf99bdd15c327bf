// Splits a reduction whose parallel axes give the threads too little: several threads reduce blocks of the
// sequential axis into memory, then these are combined from left to right. Here is what generated code reads
// of that.
#pragma once
#include <cstdint>

namespace lazy::cpu_backend {

/// Names the mode of a launch, in word ArgLayout::kScratch. full: everything at once. partials: only the
/// blocks' results, to memory. combine: the blocks' results from memory, then the epilogue.
enum class SplitMode : uint64_t { full, partials, combine };

/// In mode full, word ArgLayout::kScratch + 1: whether the launch is a block of a tile group, after which the
/// next one along its first axis comes.
inline constexpr uint64_t kBlockOfMany = 1;

/// Word ArgLayout::kScratch of a map says that stores go past the caches (Schedule::streams).
inline constexpr uint64_t kStream = 1;
inline constexpr uint64_t kStreamUnfenced = 2;  // ... and the caller sees to it that others see them

/// Says where a split reduction's blocks' results lie; word ArgLayout::kScratch + 1 points to one. Strides
/// are in bytes; a lane has 8 bytes to itself along the vector axis.
struct SplitPlan {
  char* data;
  int64_t row;  // from one index of the parallel axes (without the vector axis) to the next
  int64_t block;
  int64_t accumulator;
};
inline constexpr int64_t kSplitLane = 8;

}  // namespace lazy::cpu_backend
