// Tests products whose sides are integers that are converted to floating point on their way: exact, for the
// numbers are small, whatever the shapes, the order of the sides in memory and the dtypes.
#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(products_of_converted)

namespace {

/// Returns small integers, each exact in the dtype.
Tensor integers(const Shape& shape, DType t, int64_t step) {
  const Tensor n = (arange(0, numel(shape), 1, int64) * step) % 23;
  return (t == uint8 || t == uint16 || t == uint32 ? n : n - 11).astype(t).reshape(shape).eval();
}

void check(const Tensor& got, const Tensor& left, const Tensor& right) {
  const Tensor expected = matmul(left.astype(int64), right.astype(int64));
  BOOST_TEST(got.astype(int64).to_vector<int64_t>() == expected.to_vector<int64_t>(),
             boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(either_side_of_any_shape) {
  for (const DType t : {int8, uint8, int16, uint16, int32, uint32, float32})
    for (const DType to : {float32, float64})
      for (const int64_t rows : {1, 2, 3, 5, 8, 17, 97})
        for (const auto& [depth, columns] :
             {std::pair<int64_t, int64_t>{1, 1}, {7, 5}, {64, 16}, {129, 33}, {200, 100}})
          BOOST_TEST_CONTEXT(name_of(t)
                             << " to " << name_of(to) << ": " << rows << " x " << depth << " x " << columns) {
            const Tensor x = integers({rows, depth}, to, 7), w = integers({columns, depth}, t, 5),
                         v = integers({depth, columns}, t, 3), y = integers({rows, depth}, t, 11);
            check(linear(x, w.astype(to)), x, w.T());
            check(matmul(x, v.astype(to)), x, v);
            check(matmul(y.astype(to), v.astype(to)), y, v);
            check(matmul(y.astype(to), integers({depth, columns}, to, 5)), y,
                  integers({depth, columns}, to, 5));
            check(matmul(x, w(slice(_, _, -1)).astype(to).T()), x, w(slice(_, _, -1)).T());
          }
}

BOOST_AUTO_TEST_CASE(in_batches_and_windows) {
  const Tensor x = integers({3, 5, 64}, float32, 7), w = integers({3, 20, 64}, int8, 5);
  check(matmul(x, w.astype(float32).mT()), x, w.mT());
  const Tensor image = integers({2, 8, 9, 7}, float32, 3), taps = integers({6, 8, 3, 3}, int8, 5);
  BOOST_TEST(conv2d(image, taps.astype(float32), {.padding = 1}).astype(int64).to_vector<int64_t>() ==
                 conv2d(image.astype(int64), taps.astype(int64), {.padding = 1}).to_vector<int64_t>(),
             boost::test_tools::per_element());
  const Tensor bytes = integers({2, 8, 9, 7}, int8, 3);
  BOOST_TEST(conv2d(bytes.astype(float32), taps.astype(float32)).astype(int64).to_vector<int64_t>() ==
                 conv2d(bytes.astype(int64), taps.astype(int64)).to_vector<int64_t>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(convolutions_of_bytes) {
  for (const DType t : {int8, uint8})
    for (const auto& [groups, out] : {std::pair<int64_t, int64_t>{1, 6}, {2, 6}, {8, 8}, {8, 16}})
      for (const int64_t extent : {1, 5, 30})
        for (const int64_t window : {1, 3})
          for (const bool last : {false, true})
            BOOST_TEST_CONTEXT(name_of(t) << " groups " << groups << " to " << out << ", " << extent << " by "
                                          << window << (last ? ", last" : "")) {
              Tensor x = integers({2, 8, extent, extent}, t, 3);
              const Tensor w = integers({out, 8 / groups, window, window}, int8, 5);
              if (last) x = x.to_memory_format(channels_last);
              const ConvOptions o{.stride = 2, .padding = 1, .groups = groups};
              ConvOptions wide = o;
              wide.dtype = int32;
              const Tensor y = conv2d(x, w, wide);
              BOOST_TEST((y.dtype() == int32));
              BOOST_TEST(y.astype(int64).to_vector<int64_t>() ==
                             conv2d(x.astype(int64), w.astype(int64), o).to_vector<int64_t>(),
                         boost::test_tools::per_element());
            }
  const Tensor x = integers({1, 3, 5, 5}, int8, 3), w = integers({2, 3, 3, 3}, int8, 5);
  BOOST_TEST((conv2d(x, w, {.dtype = float32}).dtype() == float32));
  BOOST_TEST((conv2d(x, w).dtype() == int8));
}

BOOST_AUTO_TEST_SUITE_END()
