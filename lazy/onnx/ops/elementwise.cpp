#include <cmath>

#include "lazy/core/promotion.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "lazy/onnx/ops/known.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/numbers.hpp"
#include "lazy/ops/special.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

template <Tensor (*f)(Arg)>
void unary(Call& c) {
  c.give(f(c[0]));
}

/// Returns the second operand as the versions before 7 align it: its axes begin at attribute `axis`.
Tensor aligned(Call& c) {
  const Tensor& b = c.tensor(1);
  if (c.version() >= 7 || !c.integer("broadcast", 0) || !c.has("axis")) return b;
  const int rank = c.rank(0), axis = c.axis(c.integer("axis", 0), rank);
  Shape shape = c.shape(1);
  while (shape.size() < rank - axis) shape.push_back(1);
  return reshape(c.arg(b), ShapeArg(shape));
}

template <Tensor (*f)(Arg, Arg)>
void binary(Call& c) {
  c.give(f(c[0], c.arg(aligned(c))));
}

template <Tensor (*f)(Arg, Arg)>
void variadic(Call& c) {
  Tensor r = c.tensor(0);
  for (size_t i = 1; i < c.inputs(); ++i) r = f(c.arg(r), c[i]);
  c.give(std::move(r));
}

void divide_op(Call& c) {
  const Tensor b = aligned(c);
  c.give(div(c[0], c.arg(b), is_float(c.dtype(0)) ? "" : "trunc"));
}

void pow_op(Call& c) {
  const DType dtype = c.dtype(0);
  // Squares and cubes are products, as exporters write norms and gelu: a general power costs forty
  // instructions.
  if (const Known* const k = c.value(1).known();
      k && k->size() == 1 && k->shape.size() <= c.rank(0) && is_float(dtype)) {
    const Tensor square_of = square(c[0]);
    if (k->number(0) == 2) return c.give(square_of);
    if (k->number(0) == 3) return c.give(multiply(c.arg(square_of), c[0]));
  }
  const Tensor exponent = aligned(c);
  if (is_int(dtype) && is_float(exponent.dtype(c.site())))
    return c.give(pow(c.arg(c.tensor(0).astype(float64, c.site())), c.arg(exponent.astype(float64, c.site())))
                      .astype(dtype, c.site()));
  c.give(pow(c[0], c.arg(exponent)).astype(dtype, c.site()));
}

void mod_op(Call& c) { c.give(c.integer("fmod", 0) ? fmod(c[0], c[1]) : remainder(c[0], c[1])); }

void mean_op(Call& c) {
  Tensor r = c.tensor(0);
  for (size_t i = 1; i < c.inputs(); ++i) r = add(c.arg(r), c[i]);
  c.give(divide(c.arg(r), Arg(static_cast<double>(c.inputs()), c.site())));
}

void shift_op(Call& c) {
  c.give(c.text("direction", "") == "LEFT" ? bitwise_left_shift(c[0], c[1])
                                           : bitwise_right_shift(c[0], c[1]));
}
std::string check_direction(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute)
    if (a.name == "direction" && (a.s == "LEFT" || a.s == "RIGHT")) return {};
  return "attribute 'direction' must be LEFT or RIGHT";
}

void clip_op(Call& c) {
  const bool inputs = c.version() >= 11;
  const bool low = inputs ? c.has(1) : c.has("min"), high = inputs ? c.has(2) : c.has("max");
  Tensor r = c.tensor(0);
  const DType dtype = c.dtype(0);
  const auto bound = [&](const char* name, size_t i) {
    return inputs ? c.tensor(i) : full({}, c.real(name, 0), dtype, c.device(), c.site());
  };
  if (low) r = maximum(c.arg(r), c.arg(bound("min", 1)));
  if (high) r = minimum(c.arg(r), c.arg(bound("max", 2)));
  c.give(std::move(r));
}

void cast_to(Call& c, DType dtype) {
  if (const Known* const k = c.value(0).known()) {
    Known r = Known::of(dtype, k->shape);
    for (size_t i = 0; i < k->size(); ++i) {
      if (k->real()) r.set(i, k->reals[i]);
      else r.set(i, k->integers[i]);
    }
    return c.give(std::move(r));
  }
  c.give(c.tensor(0).astype(dtype, c.site()));
}
void cast_op(Call& c) { cast_to(c, *dtype_of(static_cast<DataType>(c.needed("to")))); }
void cast_like_op(Call& c) { cast_to(c, c.dtype(1)); }
std::string check_cast(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute) {
    if (a.name != "to") continue;
    const auto type = static_cast<DataType>(a.i);
    return dtype_of(type) ? std::string() : "type " + name_of(type) + " is not supported";
  }
  return "attribute 'to' is needed, and is left out";
}

void where_op(Call& c) { c.give(where(c[0], c[1], c[2])); }
bool known_where(Call& c) {
  if (!all_known(c)) return false;
  const Known &q = *c.value(0).known(), &a = *c.value(1).known(), &b = *c.value(2).known();
  const auto ab = broadcast_shape(a.shape, b.shape);
  const auto shape = ab ? broadcast_shape(q.shape, *ab) : std::nullopt;
  if (!shape || !stays_small(*shape, std::max({q.size(), a.size(), b.size()}))) return false;
  const auto at_q = broadcast_places(q.shape, *shape), at_a = broadcast_places(a.shape, *shape),
             at_b = broadcast_places(b.shape, *shape);
  Known r = Known::of(a.dtype, *shape);
  for (size_t i = 0; i < r.size(); ++i) {
    const Known& from = q.integers[at_q[i]] ? a : b;
    const size_t at = q.integers[at_q[i]] ? at_a[i] : at_b[i];
    if (r.real()) r.reals[i] = from.reals[at];
    else r.integers[i] = from.integers[at];
  }
  c.give(std::move(r));
  return true;
}

void is_inf_op(Call& c) {
  const bool up = c.integer("detect_positive", 1) != 0, down = c.integer("detect_negative", 1) != 0;
  if (up && down) return c.give(isinf(c[0]));
  if (up) return c.give(isposinf(c[0]));
  if (down) return c.give(isneginf(c[0]));
  c.give(zeros_like(c[0], bool_, c.device()));
}

void identity_op(Call& c) { c.give(c.value(0)); }

int64_t truncated(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? -a : a / b; }
int64_t modulo(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
bool known_add(Call& c) {
  return known_binary(
      c, [](double a, double b) { return a + b; },
      [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      });
}
bool known_sub(Call& c) {
  return known_binary(
      c, [](double a, double b) { return a - b; },
      [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
      });
}
bool known_mul(Call& c) {
  return known_binary(
      c, [](double a, double b) { return a * b; },
      [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      });
}
bool known_div(Call& c) {
  return known_binary(
      c, [](double a, double b) { return a / b; }, truncated);
}
bool known_mod(Call& c) { return !c.integer("fmod", 0) && known_binary(c, nullptr, modulo); }
bool known_max(Call& c) {
  return known_binary(c, nullptr, [](int64_t a, int64_t b) { return std::max(a, b); });
}
bool known_min(Call& c) {
  return known_binary(c, nullptr, [](int64_t a, int64_t b) { return std::min(a, b); });
}
bool known_equal(Call& c) {
  return known_binary(
      c, [](double a, double b) { return static_cast<double>(a == b); },
      [](int64_t a, int64_t b) { return static_cast<int64_t>(a == b); }, true);
}
bool known_less(Call& c) {
  return known_binary(
      c, [](double a, double b) { return static_cast<double>(a < b); },
      [](int64_t a, int64_t b) { return static_cast<int64_t>(a < b); }, true);
}
bool known_greater(Call& c) {
  return known_binary(
      c, [](double a, double b) { return static_cast<double>(a > b); },
      [](int64_t a, int64_t b) { return static_cast<int64_t>(a > b); }, true);
}
bool known_less_equal(Call& c) {
  return known_binary(
      c, [](double a, double b) { return static_cast<double>(a <= b); },
      [](int64_t a, int64_t b) { return static_cast<int64_t>(a <= b); }, true);
}
bool known_greater_equal(Call& c) {
  return known_binary(
      c, [](double a, double b) { return static_cast<double>(a >= b); },
      [](int64_t a, int64_t b) { return static_cast<int64_t>(a >= b); }, true);
}
bool known_and(Call& c) {
  return known_binary(c, nullptr, [](int64_t a, int64_t b) { return static_cast<int64_t>(a && b); });
}
bool known_or(Call& c) {
  return known_binary(c, nullptr, [](int64_t a, int64_t b) { return static_cast<int64_t>(a || b); });
}
bool known_not(Call& c) {
  return known_unary(c, nullptr, [](int64_t a) { return static_cast<int64_t>(a == 0); });
}
bool known_neg(Call& c) {
  return known_unary(
      c, [](double a) { return -a; },
      [](int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); });
}
bool known_abs(Call& c) {
  return known_unary(
      c, [](double a) { return std::fabs(a); }, [](int64_t a) { return a < 0 ? -a : a; });
}
bool known_floor(Call& c) {
  return known_unary(
      c, [](double a) { return std::floor(a); }, nullptr);
}
bool known_ceil(Call& c) {
  return known_unary(
      c, [](double a) { return std::ceil(a); }, nullptr);
}
bool known_sqrt(Call& c) {
  return known_unary(
      c, [](double a) { return std::sqrt(a); }, nullptr);
}

constexpr const char* kOld = "broadcast axis consumed_inputs";

const Operator kElementwise[] = {
    {"Add", 1, 21, kOld, binary<add>, known_add},
    {"Sub", 1, 21, kOld, binary<subtract>, known_sub},
    {"Mul", 1, 21, kOld, binary<multiply>, known_mul},
    {"Div", 1, 21, kOld, divide_op, known_div},
    {"Pow", 1, 21, kOld, pow_op},
    {"Mod", 10, 21, "fmod", mod_op, known_mod},
    {"Max", 1, 21, "consumed_inputs", variadic<maximum>, known_max},
    {"Min", 1, 21, "consumed_inputs", variadic<minimum>, known_min},
    {"Sum", 1, 21, "consumed_inputs", variadic<add>},
    {"Mean", 1, 21, "consumed_inputs", mean_op},
    {"Neg", 1, 21, "consumed_inputs", unary<negative>, known_neg},
    {"Abs", 1, 21, "consumed_inputs", unary<abs>, known_abs},
    {"Sign", 9, 21, "", unary<sign>},
    {"Reciprocal", 1, 21, "consumed_inputs", unary<reciprocal>},
    {"Ceil", 1, 21, "consumed_inputs", unary<ceil>, known_ceil},
    {"Floor", 1, 21, "consumed_inputs", unary<floor>, known_floor},
    {"Round", 11, 21, "", unary<round>},
    {"Sqrt", 1, 21, "consumed_inputs", unary<sqrt>, known_sqrt},
    {"Exp", 1, 21, "consumed_inputs", unary<exp>},
    {"Log", 1, 21, "consumed_inputs", unary<log>},
    {"Sin", 7, 21, "", unary<sin>},
    {"Cos", 7, 21, "", unary<cos>},
    {"Tan", 7, 21, "", unary<tan>},
    {"Sinh", 9, 21, "", unary<sinh>},
    {"Cosh", 9, 21, "", unary<cosh>},
    {"Tanh", 1, 21, "consumed_inputs", unary<tanh>},
    {"Asin", 7, 21, "", unary<asin>},
    {"Acos", 7, 21, "", unary<acos>},
    {"Atan", 7, 21, "", unary<atan>},
    {"Asinh", 9, 21, "", unary<asinh>},
    {"Acosh", 9, 21, "", unary<acosh>},
    {"Atanh", 9, 21, "", unary<atanh>},
    {"Erf", 9, 21, "", unary<erf>},
    {"IsNaN", 9, 21, "", unary<isnan>},
    {"IsInf", 10, 21, "detect_negative detect_positive", is_inf_op},
    {"Equal", 1, 21, kOld, binary<equal>, known_equal},
    {"Less", 1, 21, kOld, binary<less>, known_less},
    {"LessOrEqual", 12, 21, "", binary<less_equal>, known_less_equal},
    {"Greater", 1, 21, kOld, binary<greater>, known_greater},
    {"GreaterOrEqual", 12, 21, "", binary<greater_equal>, known_greater_equal},
    {"And", 1, 21, kOld, binary<logical_and>, known_and},
    {"Or", 1, 21, kOld, binary<logical_or>, known_or},
    {"Xor", 1, 21, kOld, binary<logical_xor>},
    {"Not", 1, 21, "", unary<logical_not>, known_not},
    {"BitwiseAnd", 18, 21, "", binary<bitwise_and>},
    {"BitwiseOr", 18, 21, "", binary<bitwise_or>},
    {"BitwiseXor", 18, 21, "", binary<bitwise_xor>},
    {"BitwiseNot", 18, 21, "", unary<bitwise_invert>},
    {"BitShift", 11, 21, "direction", shift_op, nullptr, check_direction},
    {"Clip", 1, 21, "min max consumed_inputs", clip_op},
    {"Where", 9, 21, "", where_op, known_where},
    {"Cast", 6, 21, "to saturate", cast_op, nullptr, check_cast},
    {"CastLike", 15, 21, "saturate", cast_like_op},
    {"Identity", 1, 21, "", identity_op},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwise; }

}  // namespace lazy::onnx
