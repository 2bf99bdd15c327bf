#include "tests/differential/random_graph.hpp"

namespace random_graph {
namespace {

/// Returns x with +0 in the place of NaN where a compiler that is not ours, as NVRTC, may choose which NaN of
/// two a sum passes on, and its sign: fused it may be another than alone.
lazy::Arg without_signs_of_nan(lazy::Arg x) {
  if (lazy::default_device().kind == lazy::DeviceKind::cpu) return x;
  const lazy::Tensor value(x.handle());
  return where(isnan(value), zeros_like(value), value);
}
lazy::Tensor signbit(lazy::Arg x) { return lazy::signbit(without_signs_of_nan(std::move(x))); }
lazy::Tensor copysign(lazy::Arg a, lazy::Arg b) {
  return lazy::copysign(std::move(a), without_signs_of_nan(std::move(b)));
}

}  // namespace

// exact: the same on every instruction set. Which of two NaNs a sum passes on is not, nor is what reads their
// sign.
#define ROW(name, exact)                                               \
  {                                                                    \
#name, [](lazy::Arg x) { return lazy::name(std::move(x)); }, exact \
  }
const std::vector<UnaryRow> kUnary = {
    ROW(negative, true),    ROW(abs, true),
    ROW(sign, true),        ROW(square, true),
    ROW(reciprocal, true),  ROW(relu, true),
    ROW(ceil, true),        ROW(floor, true),
    ROW(trunc, true),       ROW(round, true),
    ROW(sqrt, true),        ROW(rsqrt, false),
    ROW(exp, false),        ROW(expm1, false),
    ROW(log, false),        ROW(log1p, false),
    ROW(log2, false),       ROW(log10, false),
    ROW(sin, false),        ROW(cos, false),
    ROW(tan, false),        ROW(sinh, false),
    ROW(cosh, false),       ROW(tanh, false),
    ROW(asin, false),       ROW(acos, false),
    ROW(atan, false),       ROW(asinh, false),
    ROW(acosh, false),      ROW(atanh, false),
    ROW(erf, false),        ROW(erfc, false),
    ROW(sigmoid, false),    ROW(gelu, false),
    ROW(isnan, true),       ROW(isinf, true),
    ROW(isfinite, true),    {"signbit", signbit, false},
    ROW(logical_not, true), ROW(bitwise_invert, true),
};
#undef ROW

#define ROW(name, exact)                                                                          \
  {                                                                                               \
#name, [](lazy::Arg a, lazy::Arg b) { return lazy::name(std::move(a), std::move(b)); }, exact \
  }
const std::vector<BinaryRow> kBinary = {
    ROW(add, true),
    ROW(subtract, true),
    ROW(multiply, true),
    ROW(divide, true),
    ROW(floor_divide, true),
    ROW(remainder, true),
    ROW(pow, false),
    ROW(maximum, true),
    ROW(minimum, true),
    ROW(atan2, false),
    ROW(hypot, false),
    {"copysign", copysign, false},
    ROW(logaddexp, false),
    ROW(equal, true),
    ROW(not_equal, true),
    ROW(less, true),
    ROW(less_equal, true),
    ROW(greater, true),
    ROW(greater_equal, true),
    ROW(logical_and, true),
    ROW(logical_or, true),
    ROW(logical_xor, true),
    ROW(bitwise_and, true),
    ROW(bitwise_or, true),
    ROW(bitwise_xor, true),
    ROW(bitwise_left_shift, true),
    ROW(bitwise_right_shift, true),
    ROW(add, true),
    ROW(multiply, true),
    ROW(subtract, true),
};
#undef ROW

#define ROW(name, exact, one)                                                                              \
  {                                                                                                        \
#name, [](const Tensor& x, lazy::Axes a, lazy::KeepDims k) { return lazy::name(x, a, k); }, exact, one \
  }
const std::vector<ReduceRow> kReduce = {
    ROW(sum, true, false),
    ROW(sum, true, false),
    ROW(prod, true, false),
    ROW(mean, true, false),
    ROW(max, true, false),
    ROW(min, true, false),
    ROW(any, true, false),
    ROW(all, true, false),
    ROW(argmax, true, true),
    ROW(argmin, true, true),
    ROW(count_nonzero, true, false),
    ROW(logsumexp, false, false),
    {"var", [](const Tensor& x, lazy::Axes a, lazy::KeepDims k) { return lazy::var(x, a, k); }, true, false},
    {"std", [](const Tensor& x, lazy::Axes a, lazy::KeepDims k) { return lazy::std(x, a, k); }, true, false},
};

const std::vector<ScanRow> kScan = {
    {"cumsum", [](const Tensor& x, lazy::Axes axis) { return lazy::cumsum(x, axis); }},
    {"cumprod", [](const Tensor& x, lazy::Axes axis) { return lazy::cumprod(x, axis); }},
    {"cummax", [](const Tensor& x, lazy::Axes axis) { return lazy::cummax(x, axis).values; }},
    {"cummin", [](const Tensor& x, lazy::Axes axis) { return lazy::cummin(x, axis).values; }},
    {"cummax_indices", [](const Tensor& x, lazy::Axes axis) { return lazy::cummax(x, axis).indices; }},
};
#undef ROW

}  // namespace random_graph
