// Tests kernels along the same rows as one: the same bits as op by op and as on the CPU, for rows of every
// length.
#include <functional>

#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

using Layer = std::function<Tensor(const Tensor&)>;

Tensor softmax_rows(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims));
  return e / sum(e, {-1}, keepdims);
}
Tensor log_softmax_rows(const Tensor& x) {
  const Tensor c = x - max(x, {-1}, keepdims);
  return c - log(sum(exp(c), {-1}, keepdims));
}
/// Returns weights along the last axis.
Tensor weight(const Tensor& x, double from) {
  Tensor w = astype(sin(astype(arange(x.shape()[x.ndim() - 1]), float32) * 0.37 + from), x.dtype());
  return w.to(x.device()).eval();
}
Tensor layer_norm_rows(const Tensor& x) {
  const Tensor m = mean(x, {-1}, keepdims), c = x - m, v = mean(c * c, {-1}, keepdims);
  return c / sqrt(v + 1e-5) * weight(x, 1) + weight(x, 2);
}
Tensor rms_norm_rows(const Tensor& x) { return x / sqrt(mean(x * x, {-1}, keepdims) + 1e-6) * weight(x, 3); }
Tensor deviations(const Tensor& x) {  // a result that is a column, beside rows
  const Tensor m = mean(x, {-1});
  return sqrt(mean((x - m(ellipsis, newaxis)) * (x - m(ellipsis, newaxis)), {-1})) + m;
}

const std::vector<std::pair<const char*, Layer>> layers = {{"softmax", softmax_rows},
                                                           {"log_softmax", log_softmax_rows},
                                                           {"layer_norm", layer_norm_rows},
                                                           {"rms_norm", rms_norm_rows},
                                                           {"deviations", deviations}};

std::vector<uint64_t> eagerly(const Layer& f, const Tensor& x) {
  const Override eager("LAZY_EAGER", "1");
  return bits(f(x));
}

/// Compares a layer on the GPU with op by op, and with the CPU.
void check(const char* name, const Layer& f, const Tensor& h) {
  const Tensor x = h.to(cuda);
  const auto fused = bits(f(x));
  const std::string what = std::string(name) + " " + name_of(h.dtype()) + " " + to_string(h.shape());
  {  // op by op each result is rounded to 16 bits
    const Override rounded("LAZY_EXACT_CASTS", size_of(h.dtype()) == 2 ? "on" : "off");
    BOOST_TEST((bits(f(x)) == eagerly(f, x)), what << " op by op");
  }
  const OnCpu host;
  BOOST_TEST((fused == bits(f(h))), what << " on the CPU");
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rows, OnGpu)

BOOST_AUTO_TEST_CASE(every_length_gives_the_same_bits) {
  for (const auto& [name, f] : layers) {
    for (int64_t n = 1; n <= 70; ++n) check(name, f, varied({3, n}, float32, static_cast<uint32_t>(n)));
    for (int64_t n : {1000, 4096, 16384, 16385, 20000}) check(name, f, varied({2, n}));
  }
}

BOOST_AUTO_TEST_CASE(every_dtype_gives_the_same_bits) {
  for (DType t : {float64, float16, bfloat16})
    for (const auto& [name, f] : layers)
      for (int64_t n : {1, 5, 16, 17, 31, 32, 33, 64, 257, 1000, 4096, 16384, 16385})
        check(name, f, varied({2, n}, t));
}

BOOST_AUTO_TEST_CASE(ranks_and_views) {
  for (const auto& [name, f] : layers) {
    for (const Shape& shape :
         {Shape{70}, Shape{3, 4, 70}, Shape{2, 1, 3, 33}, Shape{0, 64}, Shape{2, 3, 2, 2, 40}})
      check(name, f, varied(shape));
    check(
        name, [f = f](const Tensor& x) { return f(x.T()); }, varied({70, 9}));
    check(
        name, [f = f](const Tensor& x) { return f(flip(x, {1})); }, varied({9, 70}));
    check(
        name, [f = f](const Tensor& x) { return f(x(_, slice(3, none, 2))); }, varied({9, 201}));
    check(
        name,
        [f = f](const Tensor& x) {
          return f(broadcast_to(x, {4, 5, 64}));
        },
        varied({5, 64}));
  }
}

BOOST_AUTO_TEST_CASE(metrics_tell_that_it_was_one_kernel) {
  const auto run = [](const Layer& f, int64_t n) {
    const Tensor x = varied({8, n}).to(cuda);
    f(x).eval();
    reset_metrics();
    f(x).eval();
    const Metrics m = metrics();
    return std::pair(m.tile_groups, m.launches);
  };
  for (const auto& [name, f] : layers) {
    if (name == std::string("deviations")) continue;
    const auto [tile_groups, launches] = run(f, 1000);
    BOOST_TEST(tile_groups == 1u, name);
    // The kernels that make the weights are separate.
    BOOST_TEST(launches <= 3u, name);
  }
  BOOST_TEST(run(softmax_rows, 1000).second == 1u);
  BOOST_TEST(run(softmax_rows, 8192).second == 1u);  // its inner values take 32 KiB of shared memory
  BOOST_TEST(run(softmax_rows, 16385).first == 0u);  // a row is more than one block of its sum
}

BOOST_AUTO_TEST_CASE(values_in_between_take_no_memory) {
  const Tensor x = varied({64, 4096}).to(cuda);  // 1 MiB
  softmax_rows(x).eval();
  gpu().allocator.release_kept();
  const size_t before = gpu().allocator.stats().used;
  const Tensor y = softmax_rows(x).eval();
  BOOST_TEST(gpu().allocator.stats().used - before <= size_t{2} << 20);
  BOOST_TEST(gpu().allocator.stats().kept == 0u);
  BOOST_TEST(metrics().tile_groups > 0u);
}

BOOST_AUTO_TEST_CASE(values_that_are_kept_are_right) {
  const Tensor h = varied({6, 300}), x = h.to(cuda);
  const auto all = [](const Tensor& t) {
    const Tensor m = max(t, {-1}, keepdims), e = exp(t - m), s = sum(e, {-1}, keepdims), y = e / s;
    eval(m, e, s, y);
    return std::vector{bits(m), bits(e), bits(s), bits(y)};
  };
  const auto got = all(x);
  BOOST_TEST((all(x) == got));
  const OnCpu host;
  BOOST_TEST((got == all(h)));
}

BOOST_AUTO_TEST_CASE(graphs_hold_them_too) {
  const Tensor h = varied({6, 300}), x = h.to(cuda);
  const auto step = [](const Tensor& t) { return bits(softmax_rows(t) - sum(t, {0}, keepdims)); };
  const auto first = step(x);
  for (int run = 0; run < 5; ++run) BOOST_TEST((step(x) == first));
  BOOST_TEST(metrics().graph_launches > 0u);
  const OnCpu host;
  BOOST_TEST((step(h) == first));
}

BOOST_AUTO_TEST_SUITE_END()
