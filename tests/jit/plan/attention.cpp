// Tests which kernels along the same rows are an attention.
#include <boost/test/unit_test.hpp>

#include "jit/ir/attention.hpp"

using namespace lazy;
using namespace lazy::jit;
using namespace lazy::jit::loop;

namespace {

Operand operand(DType t, std::initializer_list<Stride> strides, bool output = false) {
  Operand o;
  o.dtype = t;
  o.output = output;
  std::copy(strides.begin(), strides.end(), o.stride);
  return o;
}
Instr load(uint16_t o) { return {Code::load, {}, DType::float32, o}; }
Instr result() { return {Code::result, {}, DType::float32, 0}; }
Instr op(Op op, ValueId a, ValueId b = kNoValue, ValueId c = kNoValue, DType t = DType::float32) {
  return {Code::op, op, t, 0, a, b, c};
}
constexpr Stride zero = Stride::zero, unit = Stride::unit, strided = Stride::any;

LoopKernel product(const Operand& left, const Operand& right, const Operand& out) {
  LoopKernel k;
  k.form = Form::contract;
  k.rank = 3;  // summed, rows, columns
  k.sequential = 0;
  k.operands = {left, right, out};
  k.body = {load(0), load(1), result()};
  k.epilogue = 2;
  k.contraction = contraction_of(k, 0, 1);
  k.stores = {{2, 2}};
  return k;
}
const Operand row_in = operand(DType::float32, {strided, strided, zero}),
              column_in = operand(DType::float32, {strided, zero, unit});
const Operand both_out = operand(DType::float32, {zero, strided, unit}, true);

/// Builds an attention with values 0: scores, 1: maxima, 2: weights, 3: sums.
FusedRows plain() {
  FusedRows r;
  r.inner = {
      {DType::float32, true}, {DType::float32, false}, {DType::float32, true}, {DType::float32, false}};
  r.members.push_back({product(row_in, column_in, both_out), {-1, -1, 0}});

  LoopKernel top;
  top.form = Form::reduce;
  top.rank = 2;
  top.sequential = 1;
  top.operands = {operand(DType::float32, {strided, unit}), operand(DType::float32, {strided, zero}, true)};
  top.body = {load(0), result()};
  top.epilogue = 1;
  top.reductions = {{Op::max, DType::float32, 0}};
  top.stores = {{1, 1}};
  r.members.push_back({top, {0, 1}});

  LoopKernel weights = top;
  weights.operands = {operand(DType::float32, {strided, unit}), operand(DType::float32, {strided, zero}),
                      operand(DType::float32, {strided, unit}, true),
                      operand(DType::float32, {strided, zero}, true)};
  weights.body = {load(0), load(1), op(Op::subtract, 0, 1), op(Op::exp, 2), result()};
  weights.epilogue = 4;
  weights.reductions = {{Op::sum, DType::float32, 3}};
  weights.stores = {{2, 3}, {3, 4}};
  r.members.push_back({weights, {0, 1, 2, 3}});

  LoopKernel values = product(row_in, column_in, both_out);
  values.operands.push_back(operand(DType::float32, {zero, strided, zero}));
  values.body.push_back(load(3));
  values.body.push_back(op(Op::divide, 2, 3));
  values.stores = {{2, 4}};
  r.members.push_back({values, {2, -1, -1, 3}});
  return r;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE(a_softmax_between_two_products) {
  const FusedRows r = plain();
  for (const auto& m : r.members) BOOST_CHECK_NO_THROW(check(m.kernel));
  const auto a = attention_of(r);
  BOOST_REQUIRE(a);
  BOOST_TEST(a->x == 0);
  BOOST_TEST(a->top == 1);
  BOOST_TEST(!a->finite_top);
  BOOST_TEST(!a->quotients);
  BOOST_TEST(a->hidden == -1);
  BOOST_TEST(a->same_operands.empty());
}

BOOST_AUTO_TEST_CASE(weights_divided_before_the_product) {
  FusedRows r = plain();
  r.inner.push_back({DType::float32, true});
  LoopKernel quotients;
  quotients.rank = 2;
  quotients.operands = {operand(DType::float32, {strided, unit}), operand(DType::float32, {strided, zero}),
                        operand(DType::float32, {strided, unit}, true)};
  quotients.body = {load(0), load(1), op(Op::divide, 0, 1)};
  quotients.epilogue = 3;
  quotients.stores = {{2, 2}};
  r.members.insert(r.members.begin() + 3, {quotients, {2, 3, 4}});
  r.members[4].inner[0] = 4;
  const auto a = attention_of(r);
  BOOST_REQUIRE(a);
  BOOST_TEST(a->quotients);
  BOOST_TEST(a->divisor == 3);
  r.members[3].kernel.body[2].op = Op::subtract;
  BOOST_TEST(!attention_of(r));
}

BOOST_AUTO_TEST_CASE(what_is_none) {
  const auto is_none = [](auto&& change) {
    FusedRows r = plain();
    change(r);
    return !attention_of(r);
  };
  BOOST_TEST(is_none([](FusedRows& r) { r.members.pop_back(); }));
  // Here the row has another function.
  BOOST_TEST(is_none([](FusedRows& r) { r.members[1].kernel.reductions[0].op = Op::min; }));
  BOOST_TEST(is_none([](FusedRows& r) { r.members[2].kernel.reductions[0].op = Op::prod; }));
  BOOST_TEST(is_none([](FusedRows& r) { r.members[2].kernel.body[3].op = Op::expm1; }));
  BOOST_TEST(is_none([](FusedRows& r) { r.members[2].kernel.body[2].op = Op::add; }));
  // Here operands are exchanged.
  BOOST_TEST(
      is_none([](FusedRows& r) { std::swap(r.members[2].kernel.body[2].a, r.members[2].kernel.body[2].b); }));
  // Here exponentials are in double precision.
  BOOST_TEST(is_none([](FusedRows& r) {
    LoopKernel& k = r.members[2].kernel;
    k.body = {load(0),
              load(1),
              op(Op::subtract, 0, 1),
              op(Op::cast, 2, kNoValue, kNoValue, DType::float64),
              op(Op::exp, 3, kNoValue, kNoValue, DType::float64),
              op(Op::cast, 4),
              result()};
    k.epilogue = 6;
    k.reductions[0].value = 5;
    k.stores = {{2, 5}, {3, 6}};
  }));
  // An inner value has memory that others see.
  for (size_t value = 0; value < 3; ++value)
    BOOST_TEST(is_none([&](FusedRows& r) {
                 for (auto& m : r.members)
                   for (auto& i : m.inner)
                     if (i == static_cast<int16_t>(value)) i = FusedRows::kOutside;
               }),
               value);
  // The weights multiply themselves, or another value is multiplied.
  BOOST_TEST(is_none([](FusedRows& r) { r.members[3].inner[1] = 2; }));
  BOOST_TEST(is_none([](FusedRows& r) { r.members[3].inner[0] = 0; }));
  // Here sums have another type.
  BOOST_TEST(is_none([](FusedRows& r) { r.members[0].kernel.contraction.type = DType::float64; }));
}

BOOST_AUTO_TEST_CASE(sums_may_be_seen_by_others) {
  FusedRows r = plain();
  LoopKernel& k = r.members[2].kernel;
  k.operands.push_back(operand(DType::float32, {strided, zero}, true));
  k.body.push_back(op(Op::log, 4));
  k.stores.push_back({4, 5});
  r.members[2].inner.push_back(FusedRows::kOutside);
  BOOST_TEST(attention_of(r).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
