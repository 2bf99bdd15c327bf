// Finds out what a kernel computes in a part of its box: where the index along one axis is past that along
// another one, as keys are that a causal attention hides from a query, or where a mask in memory has one
// value, as that of padded keys.
#pragma once
#include <variant>

#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {

/// Describes the indices at which that along axis `a` is more than a number past that along axis `b`. The
/// number is `bias` + `sign` times the scalar argument `scalar`.
struct Half {
  int8_t a = -1, b = -1;
  int8_t sign = 0;  // 0: there is no scalar
  uint16_t scalar = 0;
  int64_t bias = 0;
  bool operator==(const Half&) const = default;
};

/// Describes the indices at which a bool operand has one value.
struct Masked {
  uint16_t operand = kNoValue;  // of the kernel; kNoValue: it does not read the mask
  bool value = false;
  int8_t axis = -1;  // whose indices are to be left out
};
using Part = std::variant<Half, Masked>;

/// Says what a value is at all indices of a part.
enum class Known : uint8_t { unknown, zero, scalar, no, yes };

/// Holds what is known of a kernel in a part, if scalar arguments are what they look like.
struct KnownPart {
  std::vector<Known> values;      // by value of the body
  std::vector<uint16_t> scalars;  // by value of the body that is Known::scalar: the argument
  std::vector<uint16_t> zeros;    // scalar arguments that have to be +0
  std::vector<uint16_t> lowest;   // scalar arguments that have to be -infinity
  /// True if values are left out there without changing a reduction, or the sum of a contraction, whose right
  /// side must be finite. Set if the sequential axis is one of the half's, or the mask's.
  bool neutral = false;
  /// Says what becomes of sums that are -0, and may be +0 if more products of zeros are added to them at the
  /// end. (At the begin they change nothing, as sums start at +0.)
  enum class Signs : uint8_t {
    lost,    // it is not known what they become
    none,    // they become +0
    stored,  // sums are stored as they are, by one store
  } signs = Signs::lost;
  /// True if this value is +0 there; notes what that takes.
  bool is_zero(ValueId v);
};

/// Returns the halves in which a comparison of indices has one result.
std::vector<Half> halves_of(const LoopKernel&);
/// Evaluates the kernel in a part. `zero_operands` has, by operand, 1 if its elements there are +0.
KnownPart known_in(const LoopKernel&, const Part&, const std::vector<uint8_t>& zero_operands);

}  // namespace lazy::jit::loop
