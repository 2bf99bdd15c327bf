// Tests copies in which neighbours in memory become rows.
#include "lazy/lazy.hpp"
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
      for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 13, 64, 65, 130}) compare(b.k, {m, n});
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

BOOST_AUTO_TEST_CASE(short_axes_side_by_side) {
  // (O, C, K, L) read as (K, L, C, O): K and L are too short for rows of their own.
  for (const DType t : {DType::float32, DType::float64})
    for (const int64_t o : {1, 8, 9, 70})
      for (const int64_t c : {1, 2, 17})
        for (const auto& [k, l] : {std::pair<int64_t, int64_t>{3, 3}, {1, 5}, {7, 1}, {2, 9}}) {
          const Tensor w = astype(reshape(arange(0, o * c * k * l, 1, float32), {o, c, k, l}), t);
          w.eval();
          const Tensor copy = permute(w, {2, 3, 1, 0}).copy();
          const auto got = copy.to_vector<double>(), from = w.to_vector<double>();
          size_t at = 0, wrong = 0;
          for (int64_t i = 0; i < k; ++i)
            for (int64_t j = 0; j < l; ++j)
              for (int64_t ci = 0; ci < c; ++ci)
                for (int64_t oi = 0; oi < o; ++oi)
                  wrong += got[at++] != from[static_cast<size_t>(((oi * c + ci) * k + i) * l + j)];
          BOOST_TEST(wrong == 0u);
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
