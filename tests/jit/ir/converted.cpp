// Products whose sides are converted on their way, as conversions and a product of what these make.
#include "jit/ir/converted.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/common/kernel_builder.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

constexpr Stride Z = Stride::zero, U = Stride::unit, A = Stride::any;

/// Of k, m, n; each side loaded as the first of its types and cast to the others.
LoopKernel product(const std::vector<DType>& left, const std::vector<DType>& right, DType sum = float32) {
  KernelBuilder b(Form::contract, 3, 0);
  const auto side = [&](const std::vector<DType>& types, const std::vector<Stride>& strides) {
    ValueId v = b.input(types[0], strides);
    for (size_t i = 1; i < types.size(); ++i) v = b.cast(types[i], v);
    return v;
  };
  const ValueId x = side(left, {A, A, Z}), y = side(right, {A, Z, U});
  const int r = b.contract(x, y);
  b.begin_epilogue();
  b.store(b.op(Op::multiply, b.result(r), b.scalar(sum)), {Z, A, U});
  return b.done();
}

bool has(const LoopKernel& k) { return with_converted_sides(k).has_value(); }

/// What the sides of the product are stored as; empty if there is none. Checks that all of it is well-formed.
std::string stored_as(const LoopKernel& k) {
  const auto c = with_converted_sides(k);
  if (!c) return {};
  check(c->product);
  BOOST_TEST(c->product.operands.size() == k.operands.size());
  for (const Conversion& one : c->conversions) {
    check(one.kernel);
    BOOST_TEST((one.kernel.operands[0].dtype == k.operands[one.operand].dtype));
    BOOST_TEST((one.kernel.operands[1].dtype == c->product.operands[one.operand].dtype));
    BOOST_TEST(one.axes.size() == one.kernel.rank);
  }
  const auto p = product_of(c->product);
  BOOST_REQUIRE(p);
  return std::string(short_name(p->left_type)) + " " + short_name(p->right_type);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(converted)

BOOST_AUTO_TEST_CASE(sides_are_stored_as_they_are_multiplied) {
  BOOST_TEST(stored_as(product({float32, bfloat16, float32}, {float32, bfloat16, float32})) == "bf16 bf16");
  BOOST_TEST(stored_as(product({float16, float32}, {float32, float16, float32})) == "f16 f16");
  BOOST_TEST(stored_as(product({float64, float32}, {float32})) == "f32 f32");
  BOOST_TEST(stored_as(product({int32, float64}, {float64}, float64)) == "f64 f64");
  // Where they differ, as what is added up.
  BOOST_TEST(stored_as(product({float16, float32}, {float32})) == "f32 f32");
  BOOST_TEST(stored_as(product({float16, float32}, {bfloat16, float32})) == "f32 f32");
  BOOST_TEST(stored_as(product({int16, float32}, {float16, float32})) == "f32 f32");
  // Bytes are exact in 16-bit floats.
  BOOST_TEST(stored_as(product({float16, float32}, {int8, float32})) == "f16 f16");
  BOOST_TEST(stored_as(product({uint8, float32}, {bfloat16, float32})) == "bf16 bf16");
  BOOST_TEST(stored_as(product({int8, float32}, {uint8, float32})) == "bf16 bf16");
  BOOST_TEST(stored_as(product({int8, float32}, {float32})) == "f32 f32");
}

BOOST_AUTO_TEST_CASE(others_are_left_alone) {
  BOOST_TEST(!has(product({float32}, {float32})));
  BOOST_TEST(!has(product({int32}, {int32}, int32)));
  KernelBuilder b(Form::contract, 3, 0);
  const ValueId x = b.op(Op::abs, b.input(float32, {A, A, Z}));
  const int r = b.contract(x, b.cast(float32, b.input(float64, {A, Z, U})));
  b.begin_epilogue();
  b.store(b.result(r), {Z, A, U});
  BOOST_TEST(!has(b.done()));  // a side that is computed
}

BOOST_AUTO_TEST_CASE(conversions_go_along_the_axes_of_their_side) {
  const auto c = with_converted_sides(product({float32, float16, float32}, {float64, float16, float32}));
  BOOST_REQUIRE(c && c->conversions.size() == 2u);
  BOOST_TEST(c->conversions[0].axes == (std::vector<int>{1, 0}), boost::test_tools::per_element());
  BOOST_TEST(c->conversions[1].axes == (std::vector<int>{0, 2}), boost::test_tools::per_element());
  BOOST_TEST(c->product.body.size() == 7u);  // two loads, two casts, the epilogue
}

BOOST_AUTO_TEST_SUITE_END()
