// Decides how a launch multiplies: how much of the sides is copied into better order, and which is read as it
// lies. Each strategy is one function.
// Invariant: the order of every sum is that of the kernel, whatever is decided here.
#pragma once
#include "backends/cpu/products/product.hpp"

namespace lazy::cpu_backend {

enum class Strategy : uint8_t {
  nothing,             // there is no element
  row_in_order,        // one row, by a few rows of the right side at a time, as they lie
  in_place,            // both sides as they lie, all matrices in one launch or one for each thread
  in_parts,            // both sides as they lie, a part of the sum at a time
  dots,                // a few rows of integers, lanes along the sum
  row_across,          // one row by 16-bit floats as they lie, lanes along their columns
  windows,             // rows that are windows of an image, where they lie in it
  few_rows,            // the right side copied block by block, each of which is used once
  few_rows_by_packed,  // the same by a right side that was packed before
  many_rows            // the right side copied for all threads, then blocks of rows
};

/// Returns how a launch of so many matrices multiplies, by its sides and threads. One whose right side was
/// packed before uses that.
Strategy choose(const Product&, const ProductLaunch&, const ContractionSides&, int64_t matrices);

// These multiply all matrices of a launch.
void row_in_order(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);
void in_place(const Product&, const ProductLaunch&, const ContractionSides&, uint64_t* args);

// These multiply one matrix.
void in_parts(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);
void dots(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);
void row_across(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);
void windows(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);
void few_rows(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);
void few_rows_by_packed(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);
void many_rows(const Product&, const ProductLaunch&, const ContractionSides&, const uint64_t* args);

/// True if a right side that choose() reads as it lies is worth packing once for all launches, if it stays:
/// packed, it comes from memory in long runs, in half the time or less.
bool worth_keeping(const Product&, const ContractionSides&);
/// True if windows() may be chosen for the sides.
bool windows_stay(const Product&, const ProductLaunch&, const ContractionSides&);
/// Packs all of the left side, on all threads if there is much of it.
void pack_left(const Product&, const ProductLaunch&, const ContractionSides&, char* to, int64_t pitch,
               const uint64_t* args);

inline constexpr int64_t kFarSteps = 8;  // rows of a right side in far memory that are read at once

}  // namespace lazy::cpu_backend
