#include "jit/core/rules.hpp"

namespace lazy::jit::loop {
namespace {

bool floats_only(Op op) {
  return (op >= Op::sqrt && op <= Op::gelu) || op == Op::divide || op == Op::atan2 || op == Op::hypot ||
         op == Op::copysign || op == Op::fma;
}

bool bits_only(Op op) {
  return op == Op::bitwise_invert || op == Op::bitwise_and || op == Op::bitwise_or || op == Op::bitwise_xor;
}

}  // namespace

bool accepts(Op op, DType t) {
  const OpKind kind = kind_of(op);
  if (kind != OpKind::pointwise && kind != OpKind::reduce && kind != OpKind::scan && op != Op::matmul)
    return false;
  if (op == Op::cast) return true;
  if (is_half(t)) return false;
  if (op == Op::any || op == Op::all) return is_bool(t);
  if (op == Op::where || (kind == OpKind::pointwise && op >= Op::equal && op <= Op::greater_equal))
    return true;
  if (bits_only(op)) return !is_float(t);
  if (op == Op::left_shift || op == Op::right_shift) return is_int(t);
  if (floats_only(op)) return is_float(t);
  return !is_bool(t);
}

DType result_type(Op op, DType t) {
  switch (row_of(op).rule) {
    case DTypeRule::logical: return DType::bool_;
    case DTypeRule::index: return DType::int64;
    default: return t;
  }
}

bool is_approximate(Op op, DType t) {
  if (!is_float(t)) return false;
  return (op >= Op::rsqrt && op <= Op::gelu) || op == Op::power || op == Op::atan2 || op == Op::hypot;
}

const char* short_name(DType t) {
  constexpr const char* names[kDTypeCount] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                              "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(t)];
}

}  // namespace lazy::jit::loop
