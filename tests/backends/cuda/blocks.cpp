// Tests tile groups that are cut into blocks, so that values between their kernels are small: the same bits,
// less memory.
#include <functional>

#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

struct OnGpuInOrder : OnGpu {
  const Override ordered{"LAZY_CUDA_SUMS", "ordered"};
};

using F = std::function<Tensor(const Tensor& x, const Tensor& w)>;

Tensor softmax(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims));
  return e / sum(e, {-1}, keepdims);
}

/// Checks f with blocks of so many bytes; returns how many tile groups were cut.
uint64_t check(const char* name, const F& f, const Tensor& x, const Tensor& w, const char* bytes) {
  const Override size("LAZY_BLOCK_BYTES", bytes);
  const Tensor there = x.to(cuda), weights = w.to(cuda);
  std::vector<uint64_t> got;
  uint64_t tile_groups = 0;
  for (int run = 0; run < 3; ++run) {  // in graphs too
    reset_metrics();
    got = bits(f(there, weights));
    tile_groups = metrics().tile_groups;
  }
  const OnCpu host;
  BOOST_TEST((got == bits(f(x, w))), name << ", blocks of " << bytes);
  return tile_groups;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(blocks, OnGpuInOrder)

BOOST_AUTO_TEST_CASE(convolutions) {
  const F last = [](const Tensor& x, const Tensor& w) {
    return relu(conv2d(x, w, {.padding = {1}, .layout = channels_last}) + 0.5f);
  };
  const F first = [](const Tensor& x, const Tensor& w) { return conv2d(x, w, {.stride = {1}}) * 2; };
  const Tensor x = varied({3, 9, 11, 5}, float32, 1), w = varied({3, 3, 5, 7}, float32, 2);
  const Tensor y = varied({2, 3, 9, 53}, float32, 3), v = varied({4, 3, 3, 3}, float32, 4);  // long rows
  for (const char* bytes : {"1", "1000", "4000", "20000"}) {
    BOOST_TEST(check("channels last", last, x, w, bytes) == 1u, bytes);
    BOOST_TEST(check("channels first", first, y, v, bytes) == 1u, bytes);
  }
  BOOST_TEST(check("channels last", last, x, w, "10000000") == 0u);
  BOOST_TEST(check("channels last", last, x, w, "0") == 0u);
}

BOOST_AUTO_TEST_CASE(attentions_that_are_no_one_kernel) {
  const F f = [](const Tensor& x, const Tensor& w) {
    return scaled_dot_product_attention(x, w, w, {}, true);
  };
  const Tensor q = varied({2, 3, 20, 8}, float32, 1), k = varied({2, 3, 33, 8}, float32, 2);
  for (const char* bytes : {"1", "2000", "9000"}) BOOST_TEST(check("attention", f, q, k, bytes) == 1u, bytes);
}

BOOST_AUTO_TEST_CASE(rows_that_are_too_long_for_one_kernel) {
  const F f = [](const Tensor& x, const Tensor&) { return softmax(x); };
  const Tensor x = varied({5, 17000}), none = varied({1});
  for (const char* bytes : {"1", "150000"}) BOOST_TEST(check("softmax", f, x, none, bytes) == 1u, bytes);
}

BOOST_AUTO_TEST_CASE(windows_exist_in_blocks_only) {
  const Tensor x = varied({4, 66, 66, 8}).to(cuda), w = varied({3, 3, 8, 4}).to(cuda);
  const auto taken = [&](const char* bytes) {
    const Override size("LAZY_BLOCK_BYTES", bytes);
    const auto run = [&] { return conv2d(x, w, {.layout = channels_last}).eval(); };
    run();
    gpu().allocator.release_kept();
    const size_t before = gpu().allocator.stats().used;
    const Tensor y = run();
    return gpu().allocator.stats().used + gpu().allocator.stats().kept - before;
  };
  const size_t windows = 4 * 64 * 64 * 72 * 4;
  BOOST_TEST(taken("0") > windows);
  BOOST_TEST(taken("100000") < windows / 4);
}

BOOST_AUTO_TEST_SUITE_END()
