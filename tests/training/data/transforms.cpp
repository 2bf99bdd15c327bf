// Tests transforms of batches against loops, and that they are fused with what reads them.
#include "lazy/data/transforms.hpp"

#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

namespace {

/// Returns distinct pictures.
Tensor pictures(const Shape& shape, DType t) {
  return reshape(arange(0, numel(shape), 1, t), shape).copy().eval();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transforms)

BOOST_AUTO_TEST_CASE(floats) {
  const Tensor x = tensor({{{0, 51, 255}}}, uint8);
  equal(data::to_float(x), float32, {1, 1, 3}, {0, 51 / 255.0f, 1});
  equal(data::to_float(tensor({{{65535, 13107}}}, uint16)), float32, {1, 1, 2}, {1, 13107 / 65535.0f});
  equal(data::to_float(ones({1, 1, 1}, float64)), float64, {1, 1, 1}, {1});
  THROWS(DtypeError, data::to_float(ones({1, 1, 1}, int32)),
         "to_float: pictures are uint8, uint16 or of floating point, not int32");
  THROWS(ShapeError, data::to_float(ones({4, 4})),
         "to_float: expected pictures [..., channels, height, width], found [4, 4]");
  THROWS(Error, data::to_float(Tensor()),
         "to_float: the tensor is empty (default-constructed): assign to it first");
}

BOOST_AUTO_TEST_CASE(normalised) {
  const Tensor x = pictures({2, 2, 1, 2}, float32);
  equal(data::normalize(x, {1, 2}, {2, 0.5}), float32, {2, 2, 1, 2}, {-0.5, 0, 0, 2, 1.5, 2, 8, 10});
  equal(data::normalize(x, {1}, {2}), float32, {2, 2, 1, 2}, {-0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3});
  equal(data::normalize(x.astype(float16), {1}, {2}), float16, {2, 2, 1, 2},
        {-0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3});
  THROWS(ShapeError, data::normalize(x, {1, 2, 3}, {1}),
         "normalize: 3 numbers as mean of pictures [2, 2, 1, 2]");
  THROWS(ShapeError, data::normalize(x, {1}, {}), "normalize: 0 numbers as std of pictures [2, 2, 1, 2]");
  THROWS(Error, data::normalize(x, {1}, {0}), "normalize: a standard deviation can't be 0.000000");
  THROWS(DtypeError, data::normalize(x.astype(uint8), {1}, {1}),
         "normalize: expected floating point, found uint8");
}

BOOST_AUTO_TEST_CASE(flips) {
  for (const DType t : {uint8, float32}) {
    const Tensor x = pictures({40, 1, 2, 3}, t);
    Generator g(4), same(4);
    const Tensor y = data::random_horizontal_flip(g, x, 0.3);
    BOOST_TEST((y.dtype() == t));
    const auto drawn = rand(same, {40, 1, 1, 1}, float32).to_vector<float>();
    const auto from = x.to_vector<double>(), to = y.to_vector<double>();
    int flipped = 0;
    for (size_t n = 0; n < 40; ++n) {
      const bool flip = drawn[n] < 0.3f;
      flipped += flip;
      for (size_t r = 0; r < 2; ++r)
        for (size_t c = 0; c < 3; ++c)
          BOOST_TEST(to[n * 6 + r * 3 + c] == from[n * 6 + r * 3 + (flip ? 2 - c : c)]);
    }
    BOOST_TEST(flipped > 3);
    BOOST_TEST(flipped < 25);
    BOOST_TEST(g.position() == 1u);
  }
  Generator g(1);
  const Tensor x = pictures({3, 1, 1, 2}, int32);
  equal(data::random_horizontal_flip(g, x, 0), int32, {3, 1, 1, 2}, {0, 1, 2, 3, 4, 5});
  equal(data::random_horizontal_flip(g, x, 1), int32, {3, 1, 1, 2}, {1, 0, 3, 2, 5, 4});
  THROWS(Error, data::random_horizontal_flip(g, x, 1.5),
         "random_horizontal_flip: a probability can't be 1.500000");
  THROWS(ShapeError, data::random_horizontal_flip(g, x(0), 0.5),
         "random_horizontal_flip: expected pictures [n, channels, height, width], found [1, 1, 2]");
}

BOOST_AUTO_TEST_CASE(crops) {
  for (const DType t : {uint8, float32}) {
    const int64_t h = 3, w = 5, pad = 2, windows[][2] = {{h, w}, {1, 1}, {7, 9}, {2, 8}};
    const Tensor x = (pictures({6, 2, h, w}, int32) + 1).astype(t);
    for (const auto& [rows, columns] : windows) {
      Generator g(8), same(8);
      const Tensor y = data::random_crop(g, x, pad, rows, columns);
      BOOST_TEST((y.shape() == Shape{6, 2, rows, columns}));
      BOOST_TEST((y.dtype() == t));
      const auto top = randint(same, 0, h + 2 * pad - rows + 1, {6, 1, 1, 1}).to_vector<int64_t>();
      const auto left = randint(same, 0, w + 2 * pad - columns + 1, {6, 1, 1, 1}).to_vector<int64_t>();
      const auto from = x.to_vector<double>(), to = y.to_vector<double>();
      for (int64_t i = 0, at = 0; i < 12; ++i)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c, ++at) {
            const int64_t p = top[static_cast<size_t>(i / 2)] + r - pad,
                          q = left[static_cast<size_t>(i / 2)] + c - pad;
            const bool inside = p >= 0 && p < h && q >= 0 && q < w;
            BOOST_REQUIRE(to[static_cast<size_t>(at)] ==
                          (inside ? from[static_cast<size_t>((i * h + p) * w + q)] : 0));
          }
    }
  }
  Generator g(1);
  const Tensor x = pictures({2, 1, 3, 3}, float32);
  check::same(data::random_crop(g, x, 0), x);
  THROWS(ShapeError, data::random_crop(g, x, 1, 6, 3),
         "random_crop: a window of 6 x 3 does not fit [2, 1, 3, 3] with 1 pixels around");
  THROWS(ShapeError, data::random_crop(g, x, -1),
         "random_crop: a window of 3 x 3 does not fit [2, 1, 3, 3] with -1 pixels around");
}

BOOST_AUTO_TEST_CASE(cutouts) {
  const int64_t n = 9, h = 4, w = 6;
  const Tensor x = ones({n, 2, h, w}, uint8).copy();
  for (const int64_t size : {0, 1, 3, 4, 20}) {
    Generator g(8), same(8);
    const Tensor y = data::cutout(g, x, size);
    BOOST_TEST((y.dtype() == uint8));
    const auto row = randint(same, 0, h, {n, 1, 1, 1}).to_vector<int64_t>();
    const auto column = randint(same, 0, w, {n, 1, 1, 1}).to_vector<int64_t>();
    const auto to = y.to_vector<int>();
    const auto within = [&](int64_t i, int64_t centre) {
      return i >= centre - size / 2 && i < centre - size / 2 + size;
    };
    for (int64_t i = 0, at = 0; i < 2 * n; ++i)
      for (int64_t r = 0; r < h; ++r)
        for (int64_t c = 0; c < w; ++c, ++at) {
          const auto p = static_cast<size_t>(i / 2);
          BOOST_REQUIRE_EQUAL(to[static_cast<size_t>(at)], !(within(r, row[p]) && within(c, column[p])));
        }
  }
  Generator g(1);
  THROWS(ShapeError, data::cutout(g, x, -1), "cutout: a square of side -1");
}

BOOST_AUTO_TEST_CASE(no_pictures) {
  Generator g(1);
  const Tensor none = zeros({0, 3, 4, 4}, uint8);
  equal(data::random_crop(g, none, 1), uint8, {0, 3, 4, 4}, {});
  equal(data::cutout(g, none, 1), uint8, {0, 3, 4, 4}, {});
  equal(data::random_horizontal_flip(g, none), uint8, {0, 3, 4, 4}, {});
  equal(data::cutout(g, zeros({2, 1, 0, 3}), 2), float32, {2, 1, 0, 3}, {});
}

BOOST_AUTO_TEST_CASE(one_flush_and_one_program) {
  Generator g(1);
  const Tensor x = (arange(0, 16 * 3 * 8 * 8) % 256).astype(uint8).reshape({16, 3, 8, 8}).copy().eval();
  const Tensor w = ones({3 * 8 * 8, 4}).copy().eval();
  Metrics before{};
  for (int step = 0; step < 5; ++step) {
    if (step == 2) before = metrics();
    Tensor batch = data::random_horizontal_flip(g, data::random_crop(g, x, 2));
    batch = data::normalize(data::to_float(data::cutout(g, batch, 3)), {0.5, 0.4, 0.3}, {0.2, 0.2, 0.25});
    sum(matmul(batch.reshape({16, -1}), w)).eval();
  }
  const Metrics after = metrics();
  BOOST_TEST(after.flushes - before.flushes == 3u);
  BOOST_TEST(after.program_misses == before.program_misses);
  BOOST_TEST(after.kernels_compiled == before.kernels_compiled);
}

BOOST_AUTO_TEST_SUITE_END()
