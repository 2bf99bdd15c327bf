// Compares the rule of each op with differences, to the second order.
#include "lazy/autograd/rules.hpp"

#include <set>

#include "jit/built_in/list.hpp"
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using check::random_values;
using check::two_orders;
using jit::Op;
using List = const std::vector<Tensor>&;

BOOST_AUTO_TEST_SUITE(autograd_rules)

// Without a rule are sources, what is no number of floating point, and what has another dtype.
BOOST_AUTO_TEST_CASE(every_op_has_one_or_needs_none) {
  const std::set<Op> none{Op::constant,   Op::iota,          Op::bitwise_invert, Op::isnan,
                          Op::isinf,      Op::isfinite,      Op::signbit,        Op::bitwise_and,
                          Op::bitwise_or, Op::bitwise_xor,   Op::left_shift,     Op::right_shift,
                          Op::equal,      Op::not_equal,     Op::less,           Op::less_equal,
                          Op::greater,    Op::greater_equal, Op::philox0,        Op::philox1,
                          Op::any,        Op::all,           Op::argmax,         Op::argmin,
                          Op::call,       Op::part,          Op::input};
  for (int i = 0; i < jit::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    BOOST_TEST((detail::rule_of(op) != nullptr) == !none.contains(op), jit::name_of(op));
  }
}

// Without a rule are calls of integers, and those that an intention is expanded to, which has one itself.
BOOST_AUTO_TEST_CASE(every_call_has_one_or_needs_none) {
  const std::set<std::string_view> none{"gcd", "group_dots", "group_numbers", "varlen_attention",
                                        "varlen_attention_backward"};
  for (const jit::CallDefinition* c : jit::kBuiltInCalls)
    BOOST_TEST((detail::rule_of_call(*c) || c->vjp) == !none.contains(c->name), c->name);
}

BOOST_AUTO_TEST_CASE(elementwise) {
  std::mt19937 g(1);
  struct Row {
    const char* name;
    Tensor (*f)(Arg);
    double low, high;
  };
  const Row rows[] = {{"negative", [](Arg x) { return -x; }, -2, 2},
                      {"abs", abs, 0.1, 2},
                      {"abs below 0", abs, -2, -0.1},
                      {"sqrt", sqrt, 0.5, 2},
                      {"rsqrt", rsqrt, 0.5, 2},
                      {"exp", exp, -2, 2},
                      {"expm1", expm1, -2, 2},
                      {"log", log, 0.5, 3},
                      {"log1p", log1p, -0.5, 3},
                      {"log2", log2, 0.5, 3},
                      {"log10", log10, 0.5, 3},
                      {"sin", sin, -2, 2},
                      {"cos", cos, -2, 2},
                      {"tan", tan, -1, 1},
                      {"sinh", sinh, -2, 2},
                      {"cosh", cosh, -2, 2},
                      {"tanh", tanh, -2, 2},
                      {"asin", asin, -0.8, 0.8},
                      {"acos", acos, -0.8, 0.8},
                      {"atan", atan, -2, 2},
                      {"asinh", asinh, -2, 2},
                      {"acosh", acosh, 1.5, 3},
                      {"atanh", atanh, -0.8, 0.8},
                      {"erf", erf, -2, 2},
                      {"erfc", erfc, -2, 2},
                      {"sigmoid", sigmoid, -3, 3},
                      {"gelu", [](Arg x) { return gelu(x); }, -3, 3},
                      {"floor", [](Arg x) { return floor(x) * 1.0; }, 0.2, 0.8}};
  for (const Row& r : rows)
    two_orders(r.name, [&](List x) { return r.f(x[0]); }, {random_values(g, {3, 2}, r.low, r.high)});
}

BOOST_AUTO_TEST_CASE(of_two_and_three) {
  std::mt19937 g(2);
  struct Row {
    const char* name;
    TensorFunction f;
  };
  const Row rows[] = {{"add", [](List x) { return x[0] + x[1]; }},
                      {"subtract", [](List x) { return x[0] - x[1]; }},
                      {"multiply", [](List x) { return x[0] * x[1]; }},
                      {"divide", [](List x) { return x[0] / x[1]; }},
                      {"remainder", [](List x) { return x[0] % x[1]; }},
                      {"power", [](List x) { return pow(x[0], x[1]); }},
                      {"atan2", [](List x) { return atan2(x[0], x[1]); }},
                      {"hypot", [](List x) { return hypot(x[0], x[1]); }},
                      {"copysign", [](List x) { return copysign(x[0], x[1]); }},
                      {"maximum", [](List x) { return maximum(x[0], x[1]); }},
                      {"minimum", [](List x) { return minimum(x[0], x[1]); }},
                      {"where", [](List x) { return where(x[0] > x[1], x[0] * 2, x[1] * x[1]); }}};
  for (const Row& r : rows) {
    two_orders(r.name, r.f, {random_values(g, {2, 3}, 0.6, 2), random_values(g, {2, 3}, 2.1, 3)});
    two_orders(r.name, r.f, {random_values(g, {2, 3}, 2.1, 3), random_values(g, {3}, 0.6, 2)});
    two_orders(r.name, r.f, {random_values(g, {}, 0.6, 2), random_values(g, {2, 1, 2}, 2.1, 3)});
  }
  two_orders(
      "fma", [](List x) { return fma(x[0], x[1], x[2]); },
      {random_values(g, {2, 3}, -1, 1), random_values(g, {3}, -1, 1), random_values(g, {2, 1}, -1, 1)});
}

BOOST_AUTO_TEST_CASE(views_and_updates) {
  std::mt19937 g(3);
  const Tensor x = random_values(g, {3, 4}, -1, 1), v = random_values(g, {4}, -1, 1);
  two_orders("reshape", [](List x) { return sin(reshape(x[0], {2, 6})); }, {x});
  two_orders("transpose", [](List x) { return sin(x[0].T()) * x[0].T(); }, {x});
  two_orders("broadcast", [](List x) { return sin(broadcast_to(x[0], {2, 3, 4})); }, {v});
  two_orders("slices",
             [](List x) { return x[0](slice(none, none, 2), slice(1, 3)) * x[0](slice(1, 3), slice(2)); },
             {x});
  two_orders("backwards", [](List x) { return flip(x[0], {0, 1}) * x[0]; }, {x});
  two_orders("backwards by 2", [](List x) { return exp(x[0](slice(none, none, -2), slice(none, none, -3))); },
             {x});
  two_orders("an element", [](List x) { return x[0](1, 2) * x[0](-1, 0); }, {x});
  two_orders("no elements", [](List x) { return sum(x[0](slice(2, 2), _)) + x[0](0, 0); }, {x});
  two_orders("windows", [](List x) { return sin(sliding_window_view(x[0], {2}, {1})); }, {x});
  two_orders("pooled",
             [](List x) {
               return max_pool(reshape(x[0], {1, 1, 3, 4}), {2, 2}, {.stride = {1, 1}});
             },
             {x});
  two_orders("convolved",
             [](List x) {
               return conv1d(reshape(x[0], {1, 3, 4}),
                             reshape(x[1], {1, 1, 4})(_, slice(0, 1), slice(0, 2)) * ones({2, 3, 1}, float64),
                             {.padding = 1});
             },
             {x, v});
  two_orders("updates",
             [](List x) {
               Tensor y = x[0] * 2;
               y(slice(0, 3, 2), slice(1, 3)) = x[1](slice(0, 2)) * x[1](slice(2, 4));
               y(0, _) += sin(x[1]);
               return y * y;
             },
             {x, v});
  two_orders("joined", [](List x) { return concat({x[0], sin(x[0]), reshape(x[1], {1, 4})}, 0); }, {x, v});
  two_orders("rolled", [](List x) { return roll(x[0], 1, {1}) * x[0]; }, {x});
}

BOOST_AUTO_TEST_CASE(reductions_scans_and_products) {
  std::mt19937 g(4);
  const Tensor x = random_values(g, {3, 4}, 0.5, 2), m = random_values(g, {2, 4, 2}, -1, 1);
  two_orders("sum", [](List x) { return sum(sin(x[0]), {0}); }, {x});
  two_orders("sum of all", [](List x) { return square(sum(x[0])); }, {x});
  two_orders("mean", [](List x) { return mean(exp(x[0]), {1}, keepdims) * x[0]; }, {x});
  two_orders("prod", [](List x) { return prod(x[0], {1}); }, {x});
  two_orders("max", [](List x) { return max(x[0], {1}) * max(x[0]); }, {x});
  two_orders("min", [](List x) { return min(sin(x[0]), {0}); }, {x});
  two_orders("var", [](List x) { return var(x[0], {1}); }, {x});
  two_orders("cumsum", [](List x) { return sin(cumsum(x[0], 1)); }, {x});
  two_orders("cumprod", [](List x) { return cumprod(x[0], 1); }, {x});
  two_orders("cummax", [](List x) { return square(cummax(sin(x[0] * 5), 1).values); }, {x});
  two_orders("cummin", [](List x) { return square(cummin(sin(x[0] * 5), 0).values); }, {x});
  two_orders(
      "logcumsumexp", [](List x) { return logcumsumexp(x[0], 1); }, {x}, 1e-5);
  two_orders("matmul", [](List x) { return matmul(x[0], x[1]); }, {x, m});
  two_orders(
      "softmax", [](List x) { return softmax(x[0], 1); }, {x}, 1e-5);
  two_orders(
      "logsumexp", [](List x) { return logsumexp(x[0], {0}); }, {x}, 1e-5);
  two_orders(
      "layer_norm", [](List x) { return layer_norm(x[0], {4}); }, {x}, 1e-4);
  const Tensor zeros = reshape(asarray(std::vector<double>{1, 0, 2, 3, 0, 0, 4, 5, 2}), {3, 3});
  check::gradients("cumprod of zeros", [](List x) { return cumprod(x[0], 1); }, {zeros});
  check::gradients("prod of zeros", [](List x) { return prod(x[0], {1}); }, {zeros});
}

BOOST_AUTO_TEST_CASE(computed_indices_and_calls) {
  std::mt19937 g(5);
  const Tensor x = random_values(g, {4, 3}, -1, 1), u = random_values(g, {5, 3}, 1.1, 2);
  const Tensor i = asarray(std::vector<int64_t>{3, 0, 0, -2, 3}), rows = broadcast_to(i(_, newaxis), {5, 3});
  two_orders("take", [&](List x) { return sin(take(x[0], i, 0)); }, {x});
  two_orders("take_along_axis", [&](List x) { return take_along_axis(x[0], rows, 0) * 2; }, {x});
  two_orders("mask", [&](List x) { return take(x[0], i, 0, Bounds::mask) * x[1]; }, {x, u});
  struct Row {
    const char* name;
    Combine how;
  };
  for (const Row r : {Row{"set", Combine::set},
                      {"add", Combine::add},
                      {"multiply", Combine::multiply},
                      {"min", Combine::min},
                      {"max", Combine::max}})
    two_orders(r.name, [&](List x) { return sin(put_along_axis(x[0], rows, x[1], 0, r.how)); }, {x, u});
  two_orders("sort", [](List x) { return sort(x[0], 0).values * sort(x[0], 1, true).values; }, {x});
  two_orders("topk", [](List x) { return square(topk(x[0], 2).values); }, {x});
  two_orders("masked", [](List x) { return square(masked_select(x[0], x[0] > 0)); }, {x});
  two_orders("rows of a mask", [](List x) { return sin(x[0](sum(x[0], {1}) > 0)); }, {x});
  two_orders("an index", [&](List x) { return sin(x[0](i, slice(0, 2))) * x[0](i, 0)(_, newaxis); }, {x});
  two_orders("median", [](List x) { return median(x[0], {1}); }, {x});
}

BOOST_AUTO_TEST_SUITE_END()
