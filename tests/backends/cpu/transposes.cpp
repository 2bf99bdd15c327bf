// Tests copies in which neighbours in memory become rows.
#include "support/config.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

BOOST_AUTO_TEST_SUITE(transposes)

BOOST_AUTO_TEST_CASE(matrices) {
  for (DType t : {DType::float32, DType::float64, DType::int32, DType::uint64, DType::int16, DType::bool_}) {
    KernelBuilder b(Form::map, 2);
    b.store(b.input(t, {Stride::unit, Stride::any}), {Stride::any, Stride::unit});
    b.done();
    for (int64_t m : {1, 7, 8, 9, 16, 17, 70})
      for (int64_t n : {1, 7, 8, 13, 64, 65, 130}) compare(b.k, {m, n});
  }
}

BOOST_AUTO_TEST_CASE(stacks) {
  for (const auto& strides : std::vector<std::vector<Stride>>{{Stride::any, Stride::unit, Stride::any},
                                                              {Stride::unit, Stride::any, Stride::any},
                                                              {Stride::zero, Stride::unit, Stride::any}}) {
    KernelBuilder b(Form::map, 3);
    b.store(b.input(DType::float32, strides), {Stride::any, Stride::any, Stride::unit});
    b.done();
    for (int64_t m : {1, 3, 9})
      for (int64_t n : {1, 9, 33}) compare(b.k, {m, n, 40});
  }
}

BOOST_AUTO_TEST_CASE(threads) {
  KernelBuilder b(Form::map, 2);
  b.store(b.input(DType::float32, {Stride::unit, Stride::any}), {Stride::any, Stride::unit});
  b.done();
  const config::Override three("LAZY_NUM_THREADS", "3");
  compare(b.k, {700, 901});
}

BOOST_AUTO_TEST_SUITE_END()
