// Holds a JPEG picture between its stages: segments are read (jpeg.cpp), scans decoded into coefficients
// (jpeg_scan.cpp), coefficients turned into pixels (jpeg_pixels.cpp). ITU-T T.81 says what all of this means.
// Internal to lazy/io.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lazy/io/file.hpp"

namespace lazy::detail::jpeg {

inline constexpr int kBlock = 64;  // coefficients of 8 x 8 pixels

/// Holds a Huffman code (annex C): codes of up to kFast bits are looked up, longer ones compared with the
/// first code of each length.
struct Huffman {
  static constexpr int kFast = 9, kLongest = 16;
  bool defined = false;
  std::vector<uint8_t> values;
  std::array<uint16_t, 1 << kFast> fast{};  // length << 8 | value; 0: longer
  std::array<int32_t, kLongest + 1> first{},
      end{};                                  // of each length its first code, and the one behind its last
  std::array<int32_t, kLongest + 1> place{};  // of each length the place of its first value

  /// Makes the code with so many values of each length. False if there is none.
  bool define(const std::array<uint8_t, kLongest + 1>& counts, std::vector<uint8_t> all);
};

struct Component {
  int id = 0, across = 1, down = 1, quantiser = 0;  // sampling factors 1 to 4
  int64_t width = 0, height = 0;                    // pixels
  int64_t columns = 0, rows = 0;                    // blocks, those that only fill units included
  std::vector<int16_t> coefficients;                // of each block 64, in the order of rows of frequencies
  bool seen = false;                                // in a scan
  const Huffman* dc = nullptr;                      // of the scan under way
  const Huffman* ac = nullptr;
  int predicted = 0;
};

struct Frame {
  bool progressive = false;
  int64_t width = 0, height = 0;
  int across = 1, down = 1;  // the largest sampling factors
  int64_t unit_columns = 0, unit_rows = 0;
  std::vector<Component> components;  // 1 or 3
  bool is_rgb = false;                // else of luma and differences of colour
  std::array<std::array<uint16_t, kBlock>, 4> quantisers{};
  std::array<bool, 4> has_quantiser{};
  std::array<Huffman, 4> dc, ac;
  int64_t restart = 0;  // units between restart markers; 0: none
};

struct Scan {
  std::vector<Component*> components;
  int first = 0, last = 63, high = 0, low = 0;  // frequencies; bits of a progressive one
};

/// The place of each frequency, in the order of zigzag, in rows.
extern const uint8_t kZigzag[kBlock];

/// Decodes a scan whose coded bytes begin at `at`; returns the offset of the marker behind it. IoError for
/// codes that there are not, and for bytes that end early.
uint64_t decode_scan(const FileBytes&, uint64_t at, Frame&, const Scan&);
/// Returns the pixels: rows of one byte, or of three, a pixel. The arithmetic is that of libjpeg's slow
/// integer transform and smooth interpolation, to the bit.
std::string pixels_of(const Frame&);

}  // namespace lazy::detail::jpeg
