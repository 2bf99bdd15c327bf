// Says how floating-point numbers are written as integers of a few bits. Schemes are values: they come from
// files as well as from code.
#pragma once
#include <cstdint>
#include <string>

#include "jit/core/dtype.hpp"
#include "lazy/ops/float8.hpp"
#include "support/site.hpp"

namespace lazy::quant {

/// Says which numbers share a scale: all of a tensor, those of each index of the first axis (a channel), or
/// `Scheme::group` neighbours in a row, where a row is all that one index of the first axis has.
enum class Granularity : uint8_t { tensor, channel, group };

/// Says what numbers become: integers, or codes of a float of 8 bits (lazy/ops/float8.hpp).
enum class Format : uint8_t { integer, e4m3, e5m2 };

/// Maps x to the integer round(x / scale) + zero_point, halves to even, cut to [lowest(), highest()]; or to
/// the code of the float of 8 bits that is nearest to x / scale, cut to the largest one: then `bits`,
/// `is_signed` and `symmetric` are 8, true and true.
struct Scheme {
  int bits = 8;           // 2 to 8
  bool is_signed = true;  // from -2^(bits-1), else from 0
  bool symmetric = true;  // the range of x is [-m, m], so that the zero point is the same for all
  Granularity granularity = Granularity::channel;
  int64_t group = 128;  // numbers of a group: a power of two of 16 or more, of 32 for packed ones
  Format format = Format::integer;

  bool is_float8() const { return format != Format::integer; }
  Float8 float8() const { return format == Format::e5m2 ? Float8::e5m2 : Float8::e4m3; }

  /// True if two integers of 4 bits are kept in a byte (pack_4).
  bool packed() const { return granularity == Granularity::group && bits == 4 && !is_signed && !is_float8(); }
  int64_t lowest() const { return is_signed ? -(int64_t{1} << (bits - 1)) : 0; }
  int64_t highest() const { return lowest() + (int64_t{1} << bits) - 1; }
  /// Returns the zero point of a symmetric scheme.
  int64_t middle() const { return is_signed ? 0 : int64_t{1} << (bits - 1); }
  /// Returns the dtype of the integers, int8 or uint8, or of the codes, uint8.
  DType dtype() const { return is_signed && !is_float8() ? DType::int8 : DType::uint8; }
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

/// Is the least scale, torch's, of numbers that are all 0: float32's epsilon.
inline constexpr double kLeastScale = 0x1p-23;

/// Returns "int8 by channel", "e4m3 by tensor", "uint4 by groups of 32, affine".
std::string to_string(const Scheme&);

/// Throws Error for a scheme that is none.
void check(const char* function, const Scheme&, const Site&);

}  // namespace lazy::quant
