// Reads a side of a contraction where it lies before a copy that was not made: the windows of a convolution,
// in the image. Rows and columns of the side then stand for several axes each, so their places are in tables.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cpu/packing/pack.hpp"

namespace lazy::cpu_backend {

/// Describes one axis of a copy. Strides are in bytes.
struct CopyAxis {
  int64_t extent, from, to;  // indices; strides of what is read and of what is written
};

/// Describes an axis of a side: indices, bytes from one to the next.
struct SideAxis {
  int64_t extent, stride;
};

/// Maps places in the result of a copy to places in its source.
class FoldedSide {
 public:
  /// `result` is where the first element would have been written. Axes of the copy that several of the side's
  /// run along are divided.
  FoldedSide(std::vector<CopyAxis> axes, const char* source, const char* result,
             const std::vector<SideAxis>& sides);
  /// True if each of these axes of the side runs along whole axes of the copy, and each of the copy's belongs
  /// to one of them.
  bool made_of(const std::vector<SideAxis>&) const;
  /// Returns the place of each index of such an axis, in bytes from that of index 0.
  std::vector<int64_t> places(const SideAxis&) const;
  /// Returns where the element is read that would be at `result`.
  const char* source(const char* result) const;

 private:
  /// Finds the copy's axes [first, last) that make the axis; false if there are none.
  bool find(const SideAxis&, size_t& first, size_t& last) const;
  /// Divides the axis whose indices so many bytes of the result lie between.
  void divide(int64_t bytes);

  std::vector<CopyAxis> axes_;  // the one that moves farthest in the result first
  const char *source_, *result_;
};

/// Describes neighbouring indices whose places are equally far apart, in bytes.
struct PlaceRun {
  int64_t first, count, apart;
};

/// Returns the runs of all indices, in order; of a single index, `apart` is 0.
std::vector<PlaceRun> runs_of(const std::vector<int64_t>& places);

/// Copies elements as lanes: that at data + row[i] + column[j] goes to to + i * pitch + j lanes. What is
/// between the last column and the next multiple of 64 bytes may be overwritten, where the pitch has that
/// much.
void pack_folded(const char* data, DType type, ContractionLane lane, const int64_t* row, int64_t rows,
                 const int64_t* column, int64_t columns, char* to, int64_t pitch);

}  // namespace lazy::cpu_backend
