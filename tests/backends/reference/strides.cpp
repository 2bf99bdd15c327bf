// Tests index maps: broadcasts, negative and odd strides, views, unaligned pointers, iota with an origin,
// scalars of every type.
#include <boost/test/unit_test.hpp>

#include "tests/backends/reference/apply.hpp"

using namespace lazy;
using namespace lazy::test;

BOOST_AUTO_TEST_SUITE(reference_strides)

BOOST_AUTO_TEST_CASE(a_row_and_a_column_broadcast) {
  KernelBuilder b(Form::map, 2);
  const ValueId row = b.input(DType::int32, {Stride::zero, Stride::unit}),
                column = b.input(DType::int32, {Stride::any, Stride::zero});
  b.store(b.op(Op::add, row, column), {Stride::any, Stride::unit});
  const std::vector<int32_t> r{1, 2, 3}, c{10, 20};
  std::vector<int32_t> out(6);
  Launch args(b.done());
  args.extents({2, 3})
      .operand(0, r.data(), {0, 4})
      .operand(1, c.data(), {4, 0})
      .operand(2, out.data(), {12, 4});
  run(b.k, args.data());
  LAZY_CHECK_LIST(out, {11, 12, 13, 21, 22, 23});
}

BOOST_AUTO_TEST_CASE(negative_transposed_and_stepped) {
  KernelBuilder b(Form::map, 3);
  b.store(b.input(DType::int16));
  std::vector<int16_t> x(24);
  for (int i = 0; i < 24; ++i) x[i] = static_cast<int16_t>(i);
  // x is (4, 3, 2) in memory; read it as (2, 4, 3) with the 4 and the 3 backwards; write with gaps.
  std::vector<int16_t> out(48, -1);
  Launch args(b.done());
  args.extents({2, 4, 3}).operand(0, &x[3 * 6 + 2 * 2], {2, -12, -4}).operand(1, out.data(), {48, 12, 4});
  run(b.k, args.data());
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 3; ++k) {
        BOOST_CHECK_EQUAL(out[i * 24 + j * 6 + k * 2], (3 - j) * 6 + (2 - k) * 2 + i);
        BOOST_CHECK_EQUAL(out[i * 24 + j * 6 + k * 2 + 1], -1);
      }
}

BOOST_AUTO_TEST_CASE(unaligned_and_longer_than_a_strip) {
  const int64_t n = 1000;
  std::vector<char> in(n * 8 + 3), out(n * 8 + 5);
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(i);
    std::memcpy(in.data() + 3 + i * 8, &v, 8);
  }
  KernelBuilder b(Form::map, 1);
  b.store(b.op(Op::negative, b.input(DType::float64, {Stride::unit})), {Stride::unit});
  Launch args(b.done());
  args.extents({n}).operand(0, in.data() + 3, {8}).operand(1, out.data() + 5, {8});
  run(b.k, args.data());
  for (int64_t i = 0; i < n; ++i) {
    double v;
    std::memcpy(&v, out.data() + 5 + i * 8, 8);
    BOOST_CHECK_EQUAL(v, -static_cast<double>(i));
  }
}

BOOST_AUTO_TEST_CASE(iota_counts_from_the_origin) {
  KernelBuilder b(Form::map, 2);
  const ValueId outer = b.iota(0), inner = b.iota(1);
  b.store(b.op(Op::add, b.op(Op::multiply, outer, b.scalar(DType::int64)), inner));
  std::vector<int64_t> out(2 * 300);
  Launch args(b.done());
  args.extents({2, 300})
      .origin(0, 5)
      .origin(1, -2)
      .scalar(0, int64_t{1000})
      .operand(0, out.data(), {2400, 8});
  run(b.k, args.data());
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 300; ++j) BOOST_CHECK_EQUAL(out[i * 300 + j], (i + 5) * 1000 + j - 2);
}

BOOST_AUTO_TEST_CASE(scalars_of_each_width) {
  KernelBuilder b(Form::map, 1);
  std::vector<ValueId> v;
  for (DType t : {DType::uint8, DType::int16, DType::float32, DType::float16, DType::bool_})
    v.push_back(b.cast(DType::float64, b.scalar(t)));
  ValueId sum = v[0];
  for (size_t i = 1; i < v.size(); ++i) sum = b.op(Op::add, sum, v[i]);
  b.store(sum);
  std::vector<double> out(3);
  Launch args(b.done());
  args.extents({3}).operand(0, out.data(), {8});
  args.scalar(0, uint8_t{200})
      .scalar(1, int16_t{-1000})
      .scalar(2, 0.25f)
      .scalar(3, uint16_t{0x4900})
      .scalar(4, uint8_t{1});
  run(b.k, args.data());
  LAZY_CHECK_LIST(out, {-788.75, -788.75, -788.75});
}

BOOST_AUTO_TEST_CASE(empty_boxes_touch_nothing) {
  KernelBuilder b(Form::map, 3);
  b.store(b.input(DType::float32));
  for (int axis = 0; axis < 3; ++axis) {
    Launch args(b.done());
    std::vector<int64_t> e{2, 3, 4};
    e[axis] = 0;
    args.extents(e);  // pointers stay null
    run(b.k, args.data());
  }
  KernelBuilder s(Form::scan, 2, 0);
  s.store(s.result(s.reduce(Op::cumsum, s.input(DType::int32))));
  Launch args(s.done());
  args.extents({0, 5});
  run(s.k, args.data());
}

BOOST_AUTO_TEST_CASE(an_input_may_be_overwritten_in_place) {
  KernelBuilder b(Form::map, 1);
  b.store(b.op(Op::multiply, b.input(DType::float32, {Stride::unit}), b.scalar(DType::float32)),
          {Stride::unit});
  std::vector<float> x(777, 3.0f);
  Launch args(b.done());
  args.extents({777}).scalar(0, 2.0f).operand(0, x.data(), {4}).operand(1, x.data(), {4});
  run(b.k, args.data());
  for (float v : x) BOOST_CHECK_EQUAL(v, 6.0f);
}

BOOST_AUTO_TEST_CASE(a_launch_says_its_schedule) {
  KernelBuilder b(Form::map, 1);
  b.store(b.input(DType::float32));
  const auto kernel = reference::make_backend()->compile(b.done());
  BOOST_CHECK_EQUAL(kernel->schedule(), "reference loops");
  BOOST_CHECK_EQUAL(kernel->code_bytes(), 0u);
}

BOOST_AUTO_TEST_SUITE_END()
