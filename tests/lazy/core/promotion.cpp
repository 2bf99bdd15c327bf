#include "lazy/core/promotion.hpp"

#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

namespace {
std::string type(const Tensor& x) { return name_of(x.dtype()); }
}  // namespace

BOOST_AUTO_TEST_SUITE(promotion)

BOOST_AUTO_TEST_CASE(across_kinds) {
  for (DType i : {bool_, int8, int64, uint8, uint64})
    for (DType f : {float16, bfloat16, float32, float64}) {
      BOOST_TEST(std::string(name_of(result_type(i, f))) == name_of(f));
      BOOST_TEST(std::string(name_of(result_type(f, i))) == name_of(f));
      BOOST_TEST(can_cast(i, f));
      BOOST_TEST(!can_cast(f, i));
    }
  BOOST_TEST((result_type(float16, bfloat16) == float32));
  BOOST_TEST((result_type(bfloat16, float32) == float32));
  BOOST_TEST((result_type(bfloat16, float64) == float64));
  BOOST_TEST((result_type(bfloat16, bfloat16) == bfloat16));
  BOOST_TEST(can_cast(uint8, int16));
  BOOST_TEST(!can_cast(uint8, int8));
  BOOST_TEST(!can_cast(uint64, int64));
  THROWS(DtypeError, result_type(uint64, int8),
         "result_type: uint64 and int8 have no common dtype: convert one with astype");
  THROWS(DtypeError, zeros({2}, uint64) + zeros({2}, int64),
         "add: uint64 and int64 have no common dtype: convert one with astype");
}

BOOST_AUTO_TEST_CASE(scalars_are_weak) {
  const Tensor i8 = ones({2}, int8), u8 = ones({2}, uint8), f16 = ones({2}, float16),
               b16 = ones({2}, bfloat16), f32 = ones({2}), b = ones({2}, bool_), u64 = ones({2}, uint64);
  BOOST_TEST(type(i8 + 1) == "int8");
  BOOST_TEST(type(1LL + i8) == "int8");
  BOOST_TEST(type(i8 + 1.0f) == "float32");
  BOOST_TEST(type(f16 * 0.1) == "float16");
  BOOST_TEST(type(b16 * 2) == "bfloat16");
  BOOST_TEST(type(f32 * 0.1) == "float32");
  BOOST_TEST(type(f32 * 0.1L) == "float32");
  BOOST_TEST(type(b + 1) == "int64");
  BOOST_TEST(type(b + true) == "bool");
  BOOST_TEST(type(i8 + true) == "int8");
  BOOST_TEST(type(f32 + float16_t(1.0f)) == "float32");
  BOOST_TEST(type(u64 + 1) == "uint64");
  equal(u64 + UINT64_MAX, uint64, {2}, {0, 0});
  equal(f32 * 0.5 + 1, float32, {2}, {1.5, 1.5});
  equal(ones({1}) * 16777217, float32, {1}, {16777216});  // rounded to float32
  equal(ones({1}, float16) * 1e6, float16, {1}, {check::inf});
  THROWS(DtypeError, i8 + 128, "add: 128 does not fit int8: cast the tensor with astype first");
  THROWS(DtypeError, u8 - -1, "subtract: -1 does not fit uint8: cast the tensor with astype first");
  equal(i8 == 300, bool_, {2}, {0, 0});  // more in comparisons.cpp
  THROWS(DtypeError, ones({2}, int64) + UINT64_MAX,
         "add: 18446744073709551615 does not fit int64: cast the tensor with astype first");
  // Without a tensor scalars keep their dtypes.
  BOOST_TEST(type(where(b, 1.0f, 0.0f)) == "float32");
  BOOST_TEST(type(where(b, 1.0, 0)) == "float32");
  BOOST_TEST(type(where(b, 1, 0)) == "int64");
  BOOST_TEST(type(add(1, 2)) == "int64");
  BOOST_TEST((result_type(Arg(f32), Arg(1)) == float32));
  BOOST_TEST((result_type(i8, 1, f16) == float16));
}

BOOST_AUTO_TEST_CASE(functions_of_floats) {
  const Tensor i = tensor({1, 4});
  equal(i / 2, float32, {2}, {0.5, 2});
  equal(sqrt(i), float32, {2}, {1, 2});
  equal(mean(i), float32, {}, {2.5});
  BOOST_TEST(type(exp(ones({1}, bool_))) == "float32");
  BOOST_TEST(type(exp(ones({1}, float16))) == "float16");
  BOOST_TEST(type(ones({1}, uint8) / ones({1}, float32)) == "float32");
}

BOOST_AUTO_TEST_CASE(casting) {
  const check::DefaultDType doubles(float64);
  using check::inf;
  using check::NaN;
  const Tensor x = tensor({2.9, -2.9, 1e30, -1e30, inf, -inf, NaN, -0.0, 0.4});
  equal(astype(x, int32), int32, {9}, {2, -2, 2147483647, -2147483648.0, 2147483647, -2147483648.0, 0, 0, 0});
  equal(x.astype(uint8), uint8, {9}, {2, 0, 255, 0, 255, 0, 0, 0, 0});
  equal(x.astype(bool_), bool_, {9}, {1, 1, 1, 1, 1, 1, 1, 0, 1});
  BOOST_TEST(x.astype(int64).to_vector<int64_t>()[2] == INT64_MAX);
  BOOST_TEST(x.astype(uint64).to_vector<uint64_t>()[2] == UINT64_MAX);
  equal(tensor({300, -1}).astype(int8), int8, {2}, {44, -1});
  equal(tensor({300, -1}).astype(uint16), uint16, {2}, {300, 65535});
  equal(tensor({true, false}).astype(float32), float32, {2}, {1, 0});
  // 1 + 2^-11 + 2^-40 is above the middle of two float16; by way of float32 it would be the middle, and round
  // to even.
  equal(tensor({1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65519.9, 65520.0}).astype(float16), float16, {4},
        {1 + 0x1p-10, 1, 65504, inf});
  equal(tensor({1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 3.5e38}).astype(bfloat16), bfloat16, {3},
        {1 + 0x1p-7, 1, inf});
  // Likewise 2^24 (1 + 2^-8) + 1 on its way from an integer to bfloat16.
  equal(tensor({16842753, -16842753}).astype(bfloat16), bfloat16, {2}, {16908288, -16908288});
  equal(tensor({2049, 65519, 65520}).astype(float16), float16, {3}, {2048, 65504, inf});
  const Tensor f = ones({2}, float32);
  BOOST_TEST(f.astype(float32).handle().get() == f.handle().get());
}

BOOST_AUTO_TEST_CASE(limits) {
  BOOST_TEST(finfo(float32).eps == 0x1p-23);
  BOOST_TEST(finfo(float16).max == 65504);
  BOOST_TEST(finfo(bfloat16).smallest_normal == 0x1p-126);
  BOOST_TEST(finfo(ones({1}, float64)).bits == 64);
  BOOST_TEST(finfo(float64).min == -std::numeric_limits<double>::max());
  BOOST_TEST(iinfo(uint64).max == UINT64_MAX);
  BOOST_TEST(iinfo(int8).min == -128);
  THROWS(DtypeError, finfo(int8), "finfo: int8 is not a floating-point dtype");
  THROWS(DtypeError, iinfo(bool_), "iinfo: bool is not an integer dtype");
}

BOOST_AUTO_TEST_SUITE_END()
