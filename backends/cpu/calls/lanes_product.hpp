// Adds products of matrices to tiles in registers, for calls written in C++. Included after the file of a
// width. Every product is rounded with its sum (fma), every element is summed in one order, so the width
// changes no bit.
#pragma once
#include "backends/cpu/calls/lanes_math.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr int64_t kDepthAtOnce = 256;  // of a product: its left side's part is in the first-level cache
/// Returns how many rows a tile of so many vectors has: sums, a row of the panel and a factor are in
/// registers.
template <class T>
constexpr int rows_of(int vectors) {
  return Lanes<T>::kRegisters == 32 ? (vectors > 3 ? 6 : 8) : vectors > 3 ? 2 : 4;
}

/// Says how a left side lies: row by row, or column by column.
enum class Left { rows, columns };
/// Says what a product does with what is there.
enum class Sums { add, set };

/// Adds the product of a and a panel's part to c, or sets c to it.
template <class T, int kRows, int kVectors, Left kLeft, Sums kSums>
LAZY_LEVEL void tile(T* c, int64_t c_step, const T* a, int64_t a_step, const T* b, int64_t depth) {
  using L = Lanes<T>;
  Vector<T> sums[kRows][kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; ++v)
      sums[i][v] = kSums == Sums::set ? L::all(0) : L::load(c + i * c_step + v * L::kCount);
  for (int64_t k = 0; k < depth; ++k) {
    Vector<T> row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = L::load(b + (k * kVectors + v) * L::kCount);
    for (int i = 0; i < kRows; ++i) {
      const Vector<T> factor = L::all(kLeft == Left::rows ? a[i * a_step + k] : a[k * a_step + i]);
      for (int v = 0; v < kVectors; ++v) sums[i][v] = L::fma(factor, row[v], sums[i][v]);
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; ++v) L::store(c + i * c_step + v * L::kCount, sums[i][v]);
}
template <class T, int kVectors, Left kLeft, Sums kSums, int kRows = rows_of<T>(kVectors)>
LAZY_LEVEL void tile_of(int64_t rows, T* c, int64_t c_step, const T* a, int64_t a_step, const T* b,
                        int64_t depth) {
  if (rows == kRows) return tile<T, kRows, kVectors, kLeft, kSums>(c, c_step, a, a_step, b, depth);
  if constexpr (kRows > 1)
    tile_of<T, kVectors, kLeft, kSums, kRows - 1>(rows, c, c_step, a, a_step, b, depth);
}

/// Adds the product of a (rows, depth) and rows of a panel to c, by tiles of about as many rows each.
template <class T, int kVectors, Left kLeft, Sums kSums>
LAZY_LEVEL void add_panel(T* c, int64_t c_step, const T* a, int64_t a_step, int64_t rows, const T* b,
                          int64_t depth) {
  for (int64_t i = 0, tiles = (rows + rows_of<T>(kVectors) - 1) / rows_of<T>(kVectors); tiles > 0; --tiles) {
    const int64_t some = (rows - i + tiles - 1) / tiles;
    tile_of<T, kVectors, kLeft, kSums>(some, c + i * c_step, c_step,
                                       a + (kLeft == Left::rows ? i * a_step : i), a_step, b, depth);
    i += some;
  }
}
template <class T, Left kLeft = Left::rows, Sums kSums = Sums::add>
LAZY_LEVEL void add_panel_of(int64_t vectors, T* c, int64_t c_step, const T* a, int64_t a_step, int64_t rows,
                             const T* b, int64_t depth) {
  constexpr decltype(&add_panel<T, 1, kLeft, kSums>) kTable[] = {
      add_panel<T, 1, kLeft, kSums>, add_panel<T, 2, kLeft, kSums>, add_panel<T, 3, kLeft, kSums>,
      add_panel<T, 4, kLeft, kSums>};
  kTable[vectors - 1](c, c_step, a, a_step, rows, b, depth);
}
}  // namespace
}  // namespace lazy::cpu_backend
