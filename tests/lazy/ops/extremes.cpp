// Tests numbers at the ends of their types as extents, positions, counts and axes: each is refused at the
// user's line, clamped as documented, or gives the right values.
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

namespace {
constexpr int64_t kLowest = INT64_MIN, kHighest = INT64_MAX;
constexpr uint64_t kNatural = UINT64_MAX;

/// Checks that f throws an error of the library's that starts with `name` and ends at `line` of this file.
template <class F>
void refused(const char* name, F&& call, int line) {
  BOOST_TEST_CONTEXT("from line " << line) {
    try {
      call();
      BOOST_ERROR("nothing was thrown");
    } catch (const Error& e) {
      const std::string said = e.what();
      BOOST_TEST(said.starts_with(std::string(name) + ": "), said);
      BOOST_TEST(said.ends_with("(extremes.cpp:" + std::to_string(line) + ")"), said);
    }
  }
}
#define REFUSED(name, expression) \
  refused(                        \
      name, [&] { (void)(expression); }, __LINE__)
}  // namespace

BOOST_AUTO_TEST_SUITE(extremes)

BOOST_AUTO_TEST_CASE(ranges_of_integers) {
  REFUSED("arange", arange(kLowest, kHighest));
  REFUSED("arange", arange(kLowest, kHighest - 1000, 1));
  REFUSED("arange", arange(kHighest));
  REFUSED("arange", arange(0, kNatural));
  REFUSED("arange", arange(uint64_t{0}, kNatural, uint64_t{1}));
  REFUSED("arange", arange(kHighest, kLowest, -1));
  REFUSED("arange", arange(-1, kNatural, kHighest));  // -1 is no uint64
  BOOST_TEST((arange(kLowest, kHighest, kHighest).to_vector<int64_t>() ==
              std::vector<int64_t>{kLowest, -1, kHighest - 1}));
  BOOST_TEST((arange(kHighest, kLowest, kLowest).to_vector<int64_t>() == std::vector<int64_t>{kHighest, -1}));
  BOOST_TEST((arange(kHighest - 2, kHighest).to_vector<int64_t>() ==
              std::vector<int64_t>{kHighest - 2, kHighest - 1}));
  const Tensor last = arange(kNatural - 3, kNatural);
  BOOST_TEST((last.dtype() == uint64));
  BOOST_TEST((last.to_vector<uint64_t>() == std::vector<uint64_t>{kNatural - 3, kNatural - 2, kNatural - 1}));
  BOOST_TEST((arange(kNatural, kNatural - 3, -1).to_vector<uint64_t>() ==
              std::vector<uint64_t>{kNatural, kNatural - 1, kNatural - 2}));
  BOOST_TEST((arange(0, kNatural, uint64_t{1} << 63).to_vector<uint64_t>() ==
              std::vector<uint64_t>{0, uint64_t{1} << 63}));
  BOOST_TEST(arange(kNatural, 5).size() == 0);
  BOOST_TEST(arange(kHighest, kLowest).size() == 0);
}

BOOST_AUTO_TEST_CASE(ranges_whose_values_do_not_fit) {
  THROWS(DtypeError, arange(-3, 2, 1, uint8), "arange: -3 does not fit uint8");
  THROWS(DtypeError, arange(0, 300, 1, uint8), "arange: 299 does not fit uint8");
  THROWS(DtypeError, arange(300.0, 0.0, -1.0, uint8), "arange: 300 does not fit uint8");
  THROWS(DtypeError, arange(127, 129, 1, int8), "arange: 128 does not fit int8");
  THROWS(DtypeError, arange(0, -129.5, -1, int8), "arange: -129 does not fit int8");
  THROWS(DtypeError, arange(kNatural - 3, kNatural, 1, int64),
         "arange: 18446744073709551612 does not fit int64");
  THROWS(DtypeError, arange(-1e300, 0, 1e300, int64),
         "arange: -1267650600228229401496703205376 does not fit int64");
  equal(arange(5, 0, -1, uint8), uint8, {5}, {5, 4, 3, 2, 1});
  equal(arange(5.0, 0.0, -1.0, uint8), uint8, {5}, {5, 4, 3, 2, 1});
  equal(arange(-128, 128, 255, int8), int8, {2}, {-128, 127});
  equal(arange(0, 256, 255, uint8), uint8, {2}, {0, 255});
  equal(arange(300, 0, 1, uint8), uint8, {0}, {});
  equal(arange(3, 5, kHighest, uint8), uint8, {1}, {3});
  equal(arange(-2, 3, 1, bool_), bool_, {5}, {1, 1, 0, 1, 1});
}

BOOST_AUTO_TEST_CASE(ranges_of_floats) {
  REFUSED("arange", arange(0.0, 9.3e18, 1.0));
  REFUSED("arange", arange(0.0, 9223372036854775807.0, 1.0));
  REFUSED("arange", arange(0.0, 1e300, 1.0));
  REFUSED("arange", arange(0.0, check::NaN, 1.0));
  REFUSED("arange", arange(0.0, check::inf, 1.0));
  REFUSED("arange", arange(0, 1, check::NaN));
  BOOST_TEST(arange(-1.5e308, 1.5e308, 1e308, float64).size() == 3);
  BOOST_TEST(arange(0.0, -1e300, 1.0).size() == 0);
  equal(linspace(-1.5e308, 1.5e308, 3, true, float64), float64, {3}, {-1.5e308, 0, 1.5e308});
}

BOOST_AUTO_TEST_CASE(counts_and_extents) {
  REFUSED("linspace", linspace(0, 1, kHighest));
  REFUSED("linspace", linspace(0, 1, kNatural));
  REFUSED("linspace", linspace(0, 1, kLowest));
  REFUSED("zeros", zeros({kHighest}));
  REFUSED("zeros", zeros({int64_t{1} << 31, int64_t{1} << 31}));
  REFUSED("ones", ones({1, int64_t{1} << 60}));
  REFUSED("full", full({kLowest}, 1));
  REFUSED("shape", zeros({kNatural}));
  REFUSED("shape", zeros(kNatural));
  REFUSED("shape", zeros({kNatural, 0}));
  REFUSED("eye", eye(kHighest));
  REFUSED("eye", eye(kNatural, 0));
  REFUSED("eye", eye(int64_t{1} << 31, int64_t{1} << 31));
  REFUSED("eye", eye(kLowest));
  float data[4] = {1, 2, 3, 4};
  REFUSED("from_blob", from_blob(data, {kHighest, 2}, float32));
  REFUSED("from_blob", from_blob(data, {3, 2}, float32, {kHighest, 1}));
  REFUSED("from_blob", from_blob(data, {3, 2}, float32, {kLowest, 1}));
  equal(from_blob(data, {1, 2}, float32, {kLowest, 1}), float32, {1, 2}, {1, 2});
  BOOST_TEST(zeros({int64_t{1} << 58}).size() == int64_t{1} << 58);
  const Tensor none = zeros({int64_t{1} << 58, 0});
  equal(sum(none), float32, {}, {0});
  equal(flatten(exp(none).T()) + 1, float32, {0}, {});
  // A constant without elements may have any extents; nothing is computed with them.
  for (const Shape& shape : {Shape{kHighest, kHighest, 0}, Shape{0, kHighest, kHighest}}) {
    const Tensor x = zeros(shape);
    BOOST_TEST(x.size() == 0);
    BOOST_TEST(x.nbytes() == 0u);
    BOOST_TEST(x.to_vector<float>().empty());
    BOOST_TEST((x + 1).size() == 0);
    equal(flatten(x), float32, {0}, {});
    REFUSED("sum", sum(x));
    REFUSED("max", max(x, 1));
    REFUSED("exp", exp(x));
    REFUSED("concat", concat({x, x}));
  }
}

BOOST_AUTO_TEST_CASE(diagonals) {
  const Tensor x = ones({3, 3}).eval();
  for (int64_t k : {kLowest, kLowest + 1, int64_t{-4}, int64_t{-3}}) {
    equal(tril(x, k), float32, {3, 3}, std::vector<double>(9, 0));
    equal(triu(x, k), float32, {3, 3}, std::vector<double>(9, 1));
    equal(eye(3, 3, k), float32, {3, 3}, std::vector<double>(9, 0));
  }
  for (int64_t k : {int64_t{3}, int64_t{4}, kHighest - 2, kHighest - 1, kHighest}) {
    equal(tril(x, k), float32, {3, 3}, std::vector<double>(9, 1));
    equal(triu(x, k), float32, {3, 3}, std::vector<double>(9, 0));
    equal(eye(3, 3, k), float32, {3, 3}, std::vector<double>(9, 0));
  }
  equal(tril(x, kNatural), float32, {3, 3}, std::vector<double>(9, 1));
  equal(eye(3, 3, kNatural), float32, {3, 3}, std::vector<double>(9, 0));
  equal(triu(zeros({0, 3}), kLowest), float32, {0, 3}, {});
}

BOOST_AUTO_TEST_CASE(positions) {
  Tensor x = arange(5);
  REFUSED("index", x(kNatural));
  REFUSED("index", x(kHighest));
  REFUSED("index", x(kLowest));
  REFUSED("index", x(size_t{5}));
  REFUSED("index", x(uint32_t{0xffffffff}));
  REFUSED("index", x(kNatural) = 1);
  equal(x(slice(kNatural - 2)), int64, {5}, {0, 1, 2, 3, 4});
  equal(x(slice(kNatural, none)), int64, {0}, {});
  equal(x(slice(kLowest, kHighest, kHighest)), int64, {1}, {0});
  equal(x(slice(kHighest, kLowest, kLowest)), int64, {1}, {4});
  equal(x(slice(none, none, kNatural)), int64, {1}, {0});
  equal(x(slice(kHighest, kLowest, -2)), int64, {3}, {4, 2, 0});
  REFUSED("size", x.size(kNatural));
  REFUSED("size", x.size(int64_t{1} << 32));
  REFUSED("size", x.size(kLowest));
}

BOOST_AUTO_TEST_CASE(axes) {
  const Tensor x = ones({2, 3});
  for (int64_t a : {kLowest, kHighest, int64_t{1} << 32, -(int64_t{1} << 32)}) {
    REFUSED("sum", sum(x, a));
    REFUSED("cumsum", cumsum(x, a));
    REFUSED("argmax", argmax(x, a));
    REFUSED("expand_dims", expand_dims(x, a));
    REFUSED("swapaxes", swapaxes(x, a, 0));
    REFUSED("permute_dims", permute_dims(x, {a, 0}));
    REFUSED("moveaxis", moveaxis(x, a, 0));
    REFUSED("squeeze", squeeze(x, a));
    REFUSED("flip", flip(x, a));
    REFUSED("concat", concat({x, x}, a));
    REFUSED("stack", stack({x, x}, a));
    REFUSED("vecdot", vecdot(x, x, a));
    REFUSED("tensordot", tensordot(x, x, a));
    REFUSED("mark_static", mark_static(x, a));
    REFUSED("mark_dynamic", mark_dynamic(x, a));
  }
  REFUSED("sum", sum(x, kNatural));
  REFUSED("expand_dims", expand_dims(x, kNatural));
  REFUSED("swapaxes", x.swapaxes(kNatural, 0));
  REFUSED("concat", concat({x, x}, kNatural));
  REFUSED("tensordot", tensordot(x, x, kNatural));
  REFUSED("mark_dynamic", mark_dynamic(x, 0, kHighest, kNatural));
  mark_dynamic(x, 0, kLowest, kNatural);
}

BOOST_AUTO_TEST_CASE(shapes_of_views_and_products) {
  const Tensor x = arange(6), huge = zeros({int64_t{1} << 40});
  REFUSED("reshape", reshape(x, {kHighest, kHighest}));
  REFUSED("reshape", reshape(x, {int64_t{1} << 32, int64_t{1} << 32, -1}));
  REFUSED("reshape", reshape(x, {3, int64_t{1} << 63 >> 62, kLowest}));
  REFUSED("reshape", reshape(zeros({0}), {0, kHighest, kHighest}));
  REFUSED("broadcast_to", broadcast_to(x, {kHighest, 6}));
  REFUSED("broadcast_to", broadcast_to(x, {kLowest, 6}));
  REFUSED("outer", outer(huge, huge));
  REFUSED("multiply", reshape(huge, {-1, 1}) * reshape(huge, {1, -1}));
  REFUSED("matmul", matmul(reshape(huge, {-1, 1}), reshape(huge, {1, -1})));
  REFUSED("meshgrid", meshgrid({huge, huge}));
  REFUSED("where", where(reshape(huge, {-1, 1}) == 0, reshape(huge, {1, -1}), 0));
  REFUSED("concat", concat(std::vector<Tensor>(40, zeros({int64_t{1} << 58}))));
  REFUSED("stack", stack(std::vector<Tensor>(40, zeros({int64_t{1} << 58}))));
  REFUSED("stack", stack({ones({1, 1, 1, 1, 1, 1, 1, 1})}));
  REFUSED("einsum", einsum("i,j->ij", {huge, huge}));
  REFUSED("tensordot", tensordot(huge, huge, 0));
}

BOOST_AUTO_TEST_CASE(windows) {
  const Tensor x = arange(6), image = ones({1, 2, 5, 5}), w = ones({2, 2, 3, 3});
  REFUSED("sliding_window_view", sliding_window_view(x, kHighest));
  REFUSED("sliding_window_view", sliding_window_view(x, kNatural));
  REFUSED("sliding_window_view", sliding_window_view(x, 3, 0, 1, kHighest));
  REFUSED("sliding_window_view", sliding_window_view(zeros({int64_t{1} << 40}), int64_t{1} << 39));
  equal(sliding_window_view(x, 2, 0, kHighest), int64, {1, 2}, {0, 1});
  for (int64_t n : {kHighest, kHighest - 1, (kHighest - 5) / 2, int64_t{1} << 62}) {
    REFUSED("conv2d", conv2d(image, w, {.padding = n}));
    REFUSED("conv2d", conv2d(image, w, {.dilation = n}));
    REFUSED("conv2d", conv2d(image, w, {.groups = n}));
    REFUSED("conv_transpose", conv_transpose(image, w, {.stride = n}));
    REFUSED("conv_transpose", conv_transpose(image, w, {.padding = n}));
    REFUSED("conv_transpose", conv_transpose(image, w, {.dilation = n}));
    REFUSED("conv_transpose", conv_transpose(image, w, {.output_padding = n}));
    REFUSED("max_pool", max_pool(image, n));
    REFUSED("max_pool", max_pool(image, 2, {.padding = n}));
    REFUSED("avg_pool", avg_pool(image, 2, {.dilation = n}));
    REFUSED("adaptive_avg_pool", adaptive_avg_pool(image, n));
    REFUSED("adaptive_max_pool", adaptive_max_pool(image, n));
    equal(max_pool(image, 2, {.stride = n}), float32, {1, 2, 1, 1}, {1, 1});
    equal(sum(conv2d(image, w, {.stride = n})), float32, {}, {36});
  }
  REFUSED("conv2d", conv2d(image, w, {.groups = kNatural}));
  REFUSED("conv2d", conv2d(ones({1, 0, 5, 5}), ones({0, 0, 3, 3}), {.groups = kHighest}));
  REFUSED("conv_transpose", conv_transpose(ones({1, 0, 5, 5}), ones({0, 2, 3, 3}), {.groups = kHighest}));
  REFUSED("conv2d", conv2d(image, w, {.groups = kLowest}));
  REFUSED("conv2d", conv2d(image, w, {.stride = kLowest}));
}

BOOST_AUTO_TEST_CASE(printing) {
  const PrintOptions before = get_printoptions();
  set_printoptions({.threshold = 2, .edgeitems = kHighest});
  BOOST_TEST(to_string(arange(4)) == "[0 1 2 3]");
  set_printoptions({.threshold = kHighest, .edgeitems = 1});
  BOOST_TEST(to_string(arange(4)) == "[0 1 2 3]");
  REFUSED("set_printoptions", set_printoptions({.edgeitems = kLowest}));
  set_printoptions(before);
}

BOOST_AUTO_TEST_SUITE_END()
