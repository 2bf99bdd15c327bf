#include "backends/cuda/emitter/types.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lazy::cuda_backend {
using jit::Op;

const char* spelled(DType t) {
  constexpr const char* names[kDTypeCount] = {"bool", "i8",  "i16", "i32",  "i64",   "u8",    "u16",
                                              "u32",  "u64", "f16", "bf16", "float", "double"};
  return names[static_cast<int>(t)];
}

std::string double_literal(double v) {
  char text[64];
  if (std::isfinite(v)) {
    // Decimal where that is short and exact.
    if (v == std::floor(v) && std::fabs(v) < 1e7) std::snprintf(text, sizeof text, "%.1f", v);
    else std::snprintf(text, sizeof text, "%a", v);
  } else {
    std::snprintf(text, sizeof text, "__longlong_as_double(0x%llxll)",
                  static_cast<unsigned long long>(std::bit_cast<uint64_t>(v)));
  }
  return text;
}

std::string float_literal(float v) {
  char text[64];
  if (std::isfinite(v)) return double_literal(static_cast<double>(v)) + "f";
  std::snprintf(text, sizeof text, "__uint_as_float(0x%xu)", std::bit_cast<uint32_t>(v));
  return text;
}

std::string literal(DType t, uint64_t bits) {
  char text[64];
  switch (t) {
    case DType::bool_: return bits & 1 ? "true" : "false";
    case DType::float32: return float_literal(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DType::float64: return double_literal(std::bit_cast<double>(bits));
    case DType::int64:
      // No literal spells the least integer.
      if (bits == uint64_t{1} << 63) return "(-0x7fffffffffffffffll - 1)";
      std::snprintf(text, sizeof text, "%lldll", static_cast<long long>(bits));
      return text;
    case DType::uint64:
      std::snprintf(text, sizeof text, "%lluull", static_cast<unsigned long long>(bits));
      return text;
    case DType::uint32: std::snprintf(text, sizeof text, "%uu", static_cast<uint32_t>(bits)); return text;
    case DType::int32:
      if (static_cast<uint32_t>(bits) == 0x80000000u) return "(-0x7fffffff - 1)";
      std::snprintf(text, sizeof text, "%d", static_cast<int32_t>(bits));
      return text;
    case DType::int8: return std::to_string(static_cast<int8_t>(bits));
    case DType::int16: return std::to_string(static_cast<int16_t>(bits));
    case DType::uint8: return std::to_string(static_cast<uint8_t>(bits));
    default: return std::to_string(static_cast<uint16_t>(bits));
  }
}

std::string identity_of(const jit::loop::Reduction& r) {
  const DType t = r.type;
  const auto number = [&](double v) {
    return literal(
        t, t == DType::float32 ? std::bit_cast<uint32_t>(static_cast<float>(v)) : std::bit_cast<uint64_t>(v));
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const int bits = static_cast<int>(size_of(t)) * 8;
  const uint64_t all = ~uint64_t{0} >> (64 - bits), top = uint64_t{1} << (bits - 1);
  switch (jit::reduction_of(r.op)) {
    case Op::prod: return is_float(t) ? number(1) : literal(t, 1);
    case Op::all: return literal(t, 1);
    case Op::max:
    case Op::argmax:
      return is_float(t) ? number(-inf) : literal(t, is_unsigned_int(t) ? 0 : ~uint64_t{0} << (bits - 1));
    case Op::min:
    case Op::argmin: return is_float(t) ? number(inf) : literal(t, is_unsigned_int(t) ? all : top - 1);
    case Op::sum: return is_float(t) ? number(-0.0) : literal(t, 0);
    default: return is_float(t) ? number(0) : literal(t, 0);  // any
  }
}

}  // namespace lazy::cuda_backend
