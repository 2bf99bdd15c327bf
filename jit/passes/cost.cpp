#include "jit/passes/fuser.hpp"

namespace lazy::jit {

uint32_t cost_of(Op op) {
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::log2:
    case Op::sigmoid:
    case Op::sin:
    case Op::cos: return 5;
    case Op::expm1:
    case Op::log1p:
    case Op::log10:
    case Op::tanh:
    case Op::sinh:
    case Op::cosh:
    case Op::erf: return 8;
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::erfc:
    case Op::gelu:
    case Op::power:
    case Op::atan2:
    case Op::hypot:
    case Op::floor_divide:
    case Op::remainder: return 12;
    case Op::divide:
    case Op::sqrt:
    case Op::rsqrt: return 2;
    default: return 1;
  }
}

}  // namespace lazy::jit
