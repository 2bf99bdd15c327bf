// Writes ops on elements.
#include "lazy/onnx/export/parts.hpp"

namespace lazy::onnx {
namespace {

/// Returns the operator that an op is, in the order of operands; null if there is none.
const char* same_operator(Op op) {
  switch (op) {
    case Op::negative: return "Neg";
    case Op::abs: return "Abs";
    case Op::sign: return "Sign";
    case Op::ceil: return "Ceil";
    case Op::floor: return "Floor";
    case Op::round: return "Round";
    case Op::isnan: return "IsNaN";
    case Op::isinf: return "IsInf";
    case Op::sqrt: return "Sqrt";
    case Op::exp: return "Exp";
    case Op::log: return "Log";
    case Op::sin: return "Sin";
    case Op::cos: return "Cos";
    case Op::tan: return "Tan";
    case Op::sinh: return "Sinh";
    case Op::cosh: return "Cosh";
    case Op::tanh: return "Tanh";
    case Op::asin: return "Asin";
    case Op::acos: return "Acos";
    case Op::atan: return "Atan";
    case Op::asinh: return "Asinh";
    case Op::acosh: return "Acosh";
    case Op::atanh: return "Atanh";
    case Op::erf: return "Erf";
    case Op::sigmoid: return "Sigmoid";
    case Op::add: return "Add";
    case Op::subtract: return "Sub";
    case Op::multiply: return "Mul";
    case Op::divide: return "Div";
    case Op::power: return "Pow";
    case Op::maximum: return "Max";
    case Op::minimum: return "Min";
    case Op::equal: return "Equal";
    case Op::less: return "Less";
    case Op::less_equal: return "LessOrEqual";
    case Op::greater: return "Greater";
    case Op::greater_equal: return "GreaterOrEqual";
    case Op::where: return "Where";
    case Op::matmul: return "MatMul";
    default: return nullptr;
  }
}

}  // namespace

std::string Exporter::write_pointwise(const Twin& t) {
  const Node& n = *t.a;
  Names in;
  bool whole = false;
  for (int i = 0; i < n.arity; ++i) {
    const Twin o = operand(t, i);
    // A number needs no extents beside operands that have them.
    if (o.a->op == Op::constant && !o.a->ready() && n.arity > 1) {
      const double v = constant_of(*o.a);
      in.push_back(number(v, o.a->dtype));
      continue;
    }
    whole = whole || o.a->shape == n.shape;
    in.push_back(name_of(o));
  }
  if (!whole && n.arity > 1) {
    // Together they may still broadcast to all of it; extents are said where they may not.
    in[static_cast<size_t>(n.arity) - 1] = node("Expand", {in.back(), sizes(extents(t))});
  }
  const DType type = n.op == Op::where ? n.dtype : n.arity ? operand(t, 0).a->dtype : n.dtype;
  const auto real = [&](double v) { return number(v, type); };
  switch (n.op) {
    case Op::cast: return cast(in[0], n.dtype);
    case Op::bitwise_invert: return node(is_bool(type) ? "Not" : "BitwiseNot", in);
    case Op::bitwise_and: return node(is_bool(type) ? "And" : "BitwiseAnd", in);
    case Op::bitwise_or: return node(is_bool(type) ? "Or" : "BitwiseOr", in);
    case Op::bitwise_xor: return node(is_bool(type) ? "Xor" : "BitwiseXor", in);
    case Op::not_equal: return node("Not", {node("Equal", in)});
    case Op::isfinite: return node("Not", {node("Or", {node("IsNaN", in), node("IsInf", in)})});
    case Op::rsqrt: return node("Reciprocal", {node("Sqrt", in)});
    case Op::expm1: return node("Sub", {node("Exp", in), real(1)});
    case Op::log1p: return node("Log", {node("Add", {in[0], real(1)})});
    case Op::log2: return node("Mul", {node("Log", in), real(1.4426950408889634)});
    case Op::log10: return node("Mul", {node("Log", in), real(0.43429448190325182)});
    case Op::erfc: return node("Sub", {real(1), node("Erf", in)});
    case Op::gelu: {
      const std::string tail =
          node("Add", {node("Erf", {node("Mul", {in[0], real(0.70710678118654752)})}), real(1)});
      return node("Mul", {node("Mul", {in[0], real(0.5)}), tail});
    }
    case Op::trunc:
      if (!is_float(type)) return in[0];
      return node("Mul", {node("Sign", in), node("Floor", {node("Abs", in)})});
    case Op::fma: return node("Add", {node("Mul", {in[0], in[1]}), in[2]});
    case Op::hypot:
      return node("Sqrt", {node("Add", {node("Mul", {in[0], in[0]}), node("Mul", {in[1], in[1]})})});
    case Op::left_shift:
    case Op::right_shift:
      if (!is_unsigned_int(type)) break;
      return node("BitShift", in,
                  {attribute("direction", std::string(n.op == Op::left_shift ? "LEFT" : "RIGHT"))});
    case Op::floor_divide:
      if (is_float(type)) return node("Floor", {node("Div", in)});
      break;
    case Op::remainder:
      if (!is_float(type)) return node("Mod", in);
      return node("Sub", {in[0], node("Mul", {in[1], node("Floor", {node("Div", in)})})});
    default: break;
  }
  if (const char* const op = same_operator(n.op)) return node(op, in);
  problem(n, "there is no operator for it");
  return "none";
}

}  // namespace lazy::onnx
