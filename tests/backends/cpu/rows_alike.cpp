// Tests maps that read much that is the same in every row, as depthwise convolutions do: several rows are
// written at once where their operands' rows lie the same distance apart, and one by one where they don't.
#include "support/config.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

const std::vector<Stride> kImage{Stride::any, Stride::any, Stride::unit},
    kShared{Stride::zero, Stride::zero, Stride::unit};

/// Sums `taps` products of an image's elements with weights, then adds a value of each row and a scalar.
LoopKernel sum_of_taps(DType t, int taps, bool more) {
  KernelBuilder b(Form::map, 3);
  const DType work = is_half(t) ? DType::float32 : t;
  const auto read = [&](const std::vector<Stride>& strides) {
    const ValueId v = b.input(t, strides);
    return work == t ? v : b.cast(work, v);
  };
  ValueId total = kNoValue;
  for (int i = 0; i < taps; ++i) {
    const ValueId x = read(kImage), w = read(kShared);
    if (total == kNoValue) total = b.op(Op::multiply, x, w);
    else if (is_float(work)) total = b.op(Op::fma, x, w, total);
    else total = b.op(Op::add, total, b.op(Op::multiply, x, w));
  }
  if (more) {
    total = b.op(Op::add, total, b.input(work, {Stride::any, Stride::any, Stride::zero}));
    total = b.op(Op::maximum, total, b.scalar(work));
  }
  b.store(work == t ? total : b.cast(t, total), kImage);
  if (more) b.store(total, kImage);
  b.done();
  return b.k;
}

Options apart(int64_t gap, bool backwards = false) {
  Options o;
  o.gap = gap, o.backwards = backwards;
  return o;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rows_alike)

BOOST_AUTO_TEST_CASE(every_count_of_rows_and_columns) {
  for (const int taps : {3, 9}) {
    const LoopKernel k = sum_of_taps(DType::float32, taps, taps == 9);
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 11})
      for (const int64_t columns : {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 70})
        for (const int64_t gap : {0, 3, -1}) compare(k, {2, rows, columns}, apart(gap));
  }
}

BOOST_AUTO_TEST_CASE(every_dtype) {
  for (const DType t :
       {DType::float64, DType::float16, DType::bfloat16, DType::int32, DType::int64, DType::uint8})
    for (const bool more : {false, true})
      for (const int64_t columns : {3, 16, 37}) compare(sum_of_taps(t, 5, more), {3, 7, columns}, apart(1));
}

BOOST_AUTO_TEST_CASE(many_taps_and_backwards) {
  const LoopKernel k = sum_of_taps(DType::float32, 25, true);
  for (const int64_t columns : {5, 40}) {
    compare(k, {3, 9, columns}, apart(2));
    compare(k, {3, 9, columns}, apart(2, true));
  }
}

BOOST_AUTO_TEST_CASE(one_row_axis_alone) {
  KernelBuilder b(Form::map, 2);
  ValueId total = b.scalar(DType::float32);
  for (int i = 0; i < 4; ++i)
    total = b.op(Op::fma, b.input(DType::float32, {Stride::any, Stride::unit}),
                 b.input(DType::float32, {Stride::zero, Stride::unit}), total);
  b.store(total, {Stride::any, Stride::unit});
  b.done();
  for (const int64_t rows : {1, 4, 6, 13}) compare(b.k, {rows, 50}, apart(0));
  const config::Override three("LAZY_NUM_THREADS", "3");
  compare(b.k, {500, 301}, apart(0));
}

BOOST_AUTO_TEST_SUITE_END()
