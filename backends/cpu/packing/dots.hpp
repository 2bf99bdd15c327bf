// Multiplies few rows of integers by a right side that is read as it lies: where neighbours along the summed
// axis are side by side lanes run along the sum, and where columns are they run along those. Needs AVX2.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cpu/packing/pack.hpp"

namespace lazy::cpu_backend {

/// Holds rows of a left side as they are multiplied: bytes where the processor multiplies bytes, else words.
class DottedRows {
 public:
  /// Returns how many rows of type `left` are worth it by elements of type `right`. `wide` says that there
  /// are registers of 64 bytes, `far` that the right side comes from memory, where copying it costs more.
  static int64_t most(DType left, DType right, bool wide, bool far);
  /// Copies so many rows at most.
  DottedRows(const PackSource& left, int64_t rows, int64_t steps, DType right, bool wide);
  /// Sets sums[i * pitch + j] to the product of row first + i and of column j, whose elements lie one after
  /// the other from right.data + j * right.column on.
  void multiply(int64_t first, int64_t last, const PackSource& right, int64_t columns, int32_t* sums,
                int64_t pitch) const;

  /// True if multiply_across() can multiply one such row.
  static bool goes_across(DType left, DType right, bool wide) {
    return unit(left, right, wide) != Unit::words;
  }
  /// Sets sums[j], of which there are as many as make the columns a multiple of kAcross, to the product of
  /// the first row and of column j, whose elements lie right.row bytes apart: lanes run along columns.
  void multiply_across(const PackSource& right, int64_t columns, int32_t* sums) const;
  static constexpr int64_t kAcross = 64;

 private:
  /// Says what is multiplied. raised_right: int8 on both sides, the right one raised by 128, and sums start
  /// at what takes that back.
  enum class Unit : uint8_t { raised_right, unsigned_right, unsigned_left, words };
  static Unit unit(DType left, DType right, bool wide);
  template <int kRows>
  void multiply_rows(int64_t row, const PackSource& right, int64_t columns, int32_t* sums,
                     int64_t pitch) const;

  static constexpr int64_t kMost = 20, kMostOfNear = 12;
  Unit unit_;
  int64_t rows_, steps_, pitch_;
  std::vector<char> data_;  // each row followed by zeros, up to pitch_ bytes
  int32_t start_[kMost] = {};
};

}  // namespace lazy::cpu_backend
