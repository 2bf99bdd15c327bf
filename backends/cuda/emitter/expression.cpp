#include "backends/cuda/emitter/expression.hpp"

#include <cmath>

#include "backends/cuda/emitter/recipe.hpp"
#include "backends/cuda/emitter/types.hpp"
#include "jit/core/rules.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::Op;
using Operands = std::array<std::string, 3>;

/// Returns integer arithmetic that wraps: in an unsigned type that is no narrower than int.
std::string wrapping(DType t, const std::string& a, const char* op, const std::string& b) {
  if (t == DType::uint32 || t == DType::uint64) return a + " " + op + " " + b;
  const std::string u = size_of(t) == 8 ? "(u64)" : "(u32)";
  return std::string("(") + spelled(t) + ")(" + u + a + " " + op + " " + u + b + ")";
}

std::string infinity(DType t) {
  return t == DType::float32 ? "__uint_as_float(0x7f800000u)" : "__longlong_as_double(0x7ff0000000000000ll)";
}

/// Returns the C function `name` of the type.
std::string c_function(const char* name, DType t) {
  return std::string(name) + (t == DType::float32 ? "f" : "");
}

std::string float_to_integer(Prelude& prelude, DType from, DType to, const std::string& x) {
  prelude.need("saturate");
  const int bits = static_cast<int>(size_of(to)) * 8, digits = bits - is_signed_int(to);
  const auto number = [&](double v) {
    return from == DType::float32 ? float_literal(static_cast<float>(v)) : double_literal(v);
  };
  const double high = std::ldexp(1, digits);
  const uint64_t least = is_signed_int(to) ? ~uint64_t{0} << digits : 0, most = ~uint64_t{0} >> (64 - digits);
  return std::string("saturate<") + spelled(to) + ", " + spelled(from) + ">(" + x + ", " +
         number(is_signed_int(to) ? -high : 0) + ", " + number(high) + ", " + literal(to, least) + ", " +
         literal(to, most) + ")";
}

std::string to_half(Prelude& prelude, DType from, DType to, const std::string& x) {
  const std::string round = to == DType::float16 ? "f16_of_f32" : "bf16_of_f32";
  prelude.need(round);
  if (from == DType::float32) return round + "(" + x + ")";
  if (is_bool(from) || (is_int(from) && size_of(from) <= 2)) return round + "((float)" + x + ")";
  prelude.need("f32_odd");
  std::string wide = x;
  if (is_int(from)) {
    wide = "(double)" + x;
    if (size_of(from) == 8) {
      const std::string sticky = is_signed_int(from) ? "f64_sticky_i64" : "f64_sticky_u64";
      prelude.need(sticky);
      wide = sticky + "(" + x + ")";
    }
  }
  return round + "(f32_odd(" + wide + "))";
}

std::string cast(Prelude& prelude, DType from, DType to, const std::string& x) {
  if (from == to) return x;
  if (is_half(from)) {
    const std::string widen = from == DType::float16 ? "f32_of_f16" : "f32_of_bf16";
    prelude.need(widen);
    const std::string wide = widen + "(" + x + ")";
    return to == DType::float32 ? wide : cast(prelude, DType::float32, to, wide);
  }
  if (is_bool(to)) return x + " != (" + spelled(from) + ")0";
  if (is_half(to)) return to_half(prelude, from, to, x);
  if (is_int(to) && is_float(from)) return float_to_integer(prelude, from, to, x);
  return std::string("(") + spelled(to) + ")" + x;
}

std::string bitwise(DType t, const Operands& v, const char* op) {
  return std::string("(") + spelled(t) + ")(" + v[0] + " " + op + " " + v[1] + ")";
}

std::string of_integers(Prelude& prelude, Op op, DType t, const Operands& v) {
  const std::string& x = v[0];
  const std::string type = spelled(t), zero = "(" + type + ")0";
  const auto call = [&](const char* name) {
    prelude.need(name);
    return name + ("<" + type + ">(") + x + ", " + v[1] + ")";
  };
  switch (op) {
    case Op::add: return wrapping(t, x, "+", v[1]);
    case Op::subtract: return wrapping(t, x, "-", v[1]);
    case Op::multiply: return wrapping(t, x, "*", v[1]);
    case Op::negative: return wrapping(t, zero, "-", x);
    case Op::abs: return is_unsigned_int(t) ? x : x + " < 0 ? " + wrapping(t, zero, "-", x) + " : " + x;
    case Op::sign:
      return "(" + type + ")" +
             (is_unsigned_int(t) ? "(" + x + " != 0)" : "((" + x + " > 0) - (" + x + " < 0))");
    case Op::maximum: return x + " > " + v[1] + " ? " + x + " : " + v[1];
    case Op::minimum: return x + " < " + v[1] + " ? " + x + " : " + v[1];
    case Op::bitwise_and: return bitwise(t, v, "&");
    case Op::bitwise_or: return bitwise(t, v, "|");
    case Op::bitwise_xor: return bitwise(t, v, "^");
    case Op::bitwise_invert: return is_bool(t) ? "!" + x : "(" + type + ")~" + x;
    case Op::floor_divide: return call("floor_divide_int");
    case Op::remainder: return call("remainder_int");
    case Op::power: return call("power_int");
    case Op::left_shift: return call("left_shift_int");
    case Op::right_shift: return call("right_shift_int");
    case Op::philox0:
    case Op::philox1:
      prelude.need("philox");
      return "philox(" + x + ", " + v[1] + ", " + v[2] + ")." + (op == Op::philox0 ? "x" : "y");
    case Op::ceil:
    case Op::floor:
    case Op::trunc:
    case Op::round: return x;
    case Op::isnan:
    case Op::isinf: return "false";
    case Op::isfinite: return "true";
    case Op::signbit: return is_signed_int(t) ? x + " < 0" : "false";
    default: return {};
  }
}

std::string of_floats(Prelude& prelude, Op op, DType t, const Operands& v, jit::Accuracy accuracy) {
  const std::string& x = v[0];
  const auto call = [&](const char* stem) {
    const std::string name = std::string(stem) + "_" + jit::loop::short_name(t);
    prelude.need(name);
    return name + "(" + x + (jit::row_of(op).arity == 2 ? ", " + v[1] : "") + ")";
  };
  const auto rounded = [&](const char* name) {  // a NaN keeps its sign
    return x + " != " + x + " ? " + x + " : " + c_function(name, t) + "(" + x + ")";
  };
  switch (op) {
    case Op::add: return x + " + " + v[1];
    case Op::subtract: return x + " - " + v[1];
    case Op::multiply: return x + " * " + v[1];
    case Op::divide: return x + " / " + v[1];
    case Op::fma: return c_function("fma", t) + "(" + x + ", " + v[1] + ", " + v[2] + ")";
    case Op::negative: return call("negative");
    case Op::abs: return c_function("fabs", t) + "(" + x + ")";
    case Op::sign: return call("sign");
    case Op::sqrt: return c_function("sqrt", t) + "(" + x + ")";
    case Op::copysign: return c_function("copysign", t) + "(" + x + ", " + v[1] + ")";
    case Op::ceil: return rounded("ceil");
    case Op::floor: return rounded("floor");
    case Op::trunc: return rounded("trunc");
    case Op::round: return rounded("rint");
    case Op::isnan: return x + " != " + x;
    case Op::isinf: return c_function("fabs", t) + "(" + x + ") == " + infinity(t);
    case Op::isfinite: return c_function("fabs", t) + "(" + x + ") < " + infinity(t);
    case Op::signbit:
      return (t == DType::float32 ? "__float_as_int(" : "__double_as_longlong(") + x + ") < 0";
    case Op::maximum: return call("maximum");
    case Op::minimum: return call("minimum");
    case Op::floor_divide: return call("floor_divide");
    case Op::remainder: return call("remainder");
    default: break;
  }
  const std::string recipe = need_recipe(prelude, op, t, accuracy);
  if (recipe.empty()) return {};
  return recipe + "(" + x + (jit::row_of(op).arity == 2 ? ", " + v[1] : "") + ")";
}

}  // namespace

std::string expression(Prelude& prelude, Op op, DType operand, DType result, const Operands& v,
                       jit::Accuracy accuracy) {
  switch (op) {
    case Op::cast: return cast(prelude, operand, result, v[0]);
    case Op::where: return v[0] + " ? " + v[1] + " : " + v[2];
    case Op::equal: return v[0] + " == " + v[1];
    case Op::not_equal: return v[0] + " != " + v[1];
    case Op::less: return v[0] + " < " + v[1];
    case Op::less_equal: return v[0] + " <= " + v[1];
    case Op::greater: return v[0] + " > " + v[1];
    case Op::greater_equal: return v[0] + " >= " + v[1];
    default: break;
  }
  std::string s =
      is_float(operand) ? of_floats(prelude, op, operand, v, accuracy) : of_integers(prelude, op, operand, v);
  if (s.empty()) throw CompileError(std::string("CUDA: no text for op ") + jit::name_of(op));
  return s;
}

}  // namespace lazy::cuda_backend
