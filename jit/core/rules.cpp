#include "jit/core/rules.hpp"

namespace lazy::jit::loop {
bool accepts(Op op, DType t) {
  const Accepts what = row_of(op).accepts;
  if (op == Op::cast) return true;
  if (is_half(t)) return false;
  switch (what) {
    case Accepts::none: return false;
    case Accepts::any: return true;
    case Accepts::number: return !is_bool(t);
    case Accepts::bits: return !is_float(t);
    case Accepts::integer: return is_int(t);
    case Accepts::word32: return t == DType::uint32;
    case Accepts::floating: return is_float(t);
    case Accepts::boolean: return is_bool(t);
  }
  return false;
}

DType result_type(Op op, DType t) {
  switch (row_of(op).rule) {
    case DTypeRule::logical: return DType::bool_;
    case DTypeRule::index: return DType::int64;
    default: return t;
  }
}

bool is_approximate(Op op, DType t) { return is_float(t) && row_of(op).exactness != Exactness::exact; }

const char* short_name(DType t) { return traits_of(t).short_name; }

}  // namespace lazy::jit::loop
