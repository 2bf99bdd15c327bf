// Tests steps that share outer dimensions and run block by block: same bits, less memory, one program for all
// sizes.
#include <cmath>

#include "jit/graph/node.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::Override;
using fresh::Probe;

namespace {

using Rows = std::function<std::vector<Tensor>(const Tensor&)>;

std::vector<Tensor> softmax_rows(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims));
  return {e / sum(e, {-1}, keepdims)};
}
std::vector<Tensor> log_softmax_rows(const Tensor& x) {
  const Tensor z = x - max(x, {-1}, keepdims);
  return {z - log(sum(exp(z), {-1}, keepdims))};
}
std::vector<Tensor> layer_norm_rows(const Tensor& x) {
  const Tensor d = x - mean(x, {-1}, keepdims);
  return {d * rsqrt(mean(d * d, {-1}, keepdims) + 1e-5)};
}
std::vector<Tensor> moments(const Tensor& x) { return {mean(x, {-1}), var(x, {-1}), argmax(x, {-1})}; }
std::vector<Tensor> kept_on_the_way(const Tensor& x) {
  const Tensor y = tanh(x) * 2, s = sum(y, {-1}, keepdims);
  return {y, s, y / s};
}
// Computes with a slice of a row: read at another index of the row, but of the same row.
std::vector<Tensor> halves(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims)), y = e / sum(e, {-1}, keepdims);
  const int64_t n = x.shape().back() / 2;
  return {sum(tanh(y(ellipsis, slice(0, n))) * y(ellipsis, slice(n, 2 * n)), {-1})};
}
// Computes with windows along a row, which do not mix rows.
std::vector<Tensor> windows(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims)), y = e / sum(e, {-1}, keepdims);
  const Tensor w = sliding_window_view(y, 3, -1), s = sum(w * w, {-1});
  return {s / sum(s, {-1}, keepdims)};
}
// Mixes rows: a value computed for one row is read for all.
std::vector<Tensor> across_rows(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims));
  return {e / sum(e, {0}, keepdims)};
}
std::vector<Tensor> transposed(const Tensor& x) {
  const Tensor s = sum(exp(x), {-1}, keepdims);
  return {x * s + permute_dims(exp(x) * s, x.shape().size() == 2 ? Axes{1, 0} : Axes{0, 2, 1})};
}

Tensor wave(Shape shape, DType t = float32) {
  Tensor x = sin(reshape(arange(0, numel(shape), 1, float32), shape) * 0.37).astype(t);
  x.eval();
  return x;
}

std::vector<std::string> bits(const std::vector<Tensor>& values) {
  std::vector<std::string> out;
  for (const Tensor& v : values) {
    const Tensor packed = v.copy();
    packed.eval();
    out.emplace_back(static_cast<const char*>(packed.handle()->buffer->data()),
                     packed.handle()->buffer->bytes());
  }
  return out;
}

void same_as_eager(const char* name, const Rows& f, const Tensor& x) {
  std::vector<std::string> expected;
  {
    const Override eager("LAZY_EAGER", "1");
    expected = bits(f(x));
  }
  for (const char* threads : {"1", "3"})
    for (const char* block : {"0", "1", "300", "5000"}) {
      const Override n("LAZY_NUM_THREADS", threads), size("LAZY_BLOCK_BYTES", block);
      BOOST_TEST_CONTEXT(name << " of " << to_string(x.shape()) << " with " << threads
                              << " threads, blocks of " << block) {
        const std::vector<std::string> got = bits(f(x));
        BOOST_REQUIRE(got.size() == expected.size());
        for (size_t i = 0; i < got.size(); ++i) BOOST_TEST((got[i] == expected[i]), "value " << i);
      }
    }
}

/// Returns how many tile groups ran block by block in `f`.
template <class F>
uint64_t tile_groups_in(F&& f) {
  const uint64_t before = metrics().tile_groups;
  f();
  return metrics().tile_groups - before;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tile_groups, fresh::Fixture)

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_blocks) {
  const std::pair<const char*, Rows> all[] = {
      {"softmax", softmax_rows},   {"log_softmax", log_softmax_rows}, {"layer_norm", layer_norm_rows},
      {"moments", moments},        {"kept", kept_on_the_way},         {"halves", halves},
      {"across_rows", across_rows}};
  for (const auto& [name, f] : all)
    for (const Shape& shape : {Shape{2, 2}, Shape{7, 13}, Shape{67, 100}, Shape{3, 1, 5, 31},
                               Shape{4, 3, 2, 130}, Shape{1, 40}, Shape{40, 2}, Shape{2, 4099}})
      same_as_eager(name, f, wave(shape));
  for (const Shape& shape : {Shape{7, 13}, Shape{67, 100}, Shape{4, 3, 130}})
    same_as_eager("windows", windows, wave(shape));
  same_as_eager("transposed", transposed, wave({37, 37}));
  same_as_eager("transposed", transposed, wave({2, 9, 9}));
  same_as_eager("softmax", softmax_rows, wave({23, 37}, float64));
  const Override exact("LAZY_EXACT_CASTS", "on");
  for (const DType t : {float16, bfloat16}) same_as_eager("softmax", softmax_rows, wave({23, 37}, t));
}

BOOST_AUTO_TEST_CASE(views_and_strides) {
  const Tensor x = wave({40, 6, 50});
  same_as_eager("softmax", softmax_rows, x(slice(1, 40, 2), _, slice(3, 45)));
  same_as_eager("layer_norm", layer_norm_rows, permute_dims(x, {1, 0, 2}));
  same_as_eager("softmax", softmax_rows, permute_dims(x, {2, 1, 0}));
  const Override strict("LAZY_RECOMPILE_LIMIT", "1"), never("LAZY_DYNAMIC", "never");
  same_as_eager("layer_norm", layer_norm_rows, x(_, slice(1, 6, 2), _));
}

BOOST_AUTO_TEST_CASE(indices_along_the_outer_dimensions) {
  same_as_eager(
      "iota",
      [](const Tensor& x) -> std::vector<Tensor> {
        const int64_t n = x.shape()[0], m = x.shape()[1];
        const Tensor row = reshape(arange(0, n, 1, float32), {n, 1}), column = arange(0, m, 1, float32);
        const Tensor y = where(column <= row, x, -1e9);
        const Tensor e = exp(y - max(y, {-1}, keepdims));
        return {e / sum(e, {-1}, keepdims) + row * 0.5};
      },
      wave({61, 50}));
}

BOOST_AUTO_TEST_CASE(rows_go_block_by_block) {
  const Override threads("LAZY_NUM_THREADS", "1");
  const Tensor large = wave({2048, 1024}), small = wave({16, 64});
  BOOST_TEST(tile_groups_in([&] { softmax_rows(large)[0].eval(); }) == 1u);
  BOOST_TEST(tile_groups_in([&] { layer_norm_rows(large)[0].eval(); }) == 1u);
  BOOST_TEST(tile_groups_in([&] { windows(large)[0].eval(); }) == 1u);
  BOOST_TEST(tile_groups_in([&] { softmax_rows(small)[0].eval(); }) == 0u);
  const std::string text = to_string(explain([&] { softmax_rows(large)[0].eval(); }));
  BOOST_TEST(contains(text, "3 kernels in 1 tile group"), text);
}

// Columns lie side by side: a block of a few would go through memory in steps of a row.
BOOST_AUTO_TEST_CASE(columns_are_not_cut_into_few) {
  const Override threads("LAZY_NUM_THREADS", "1");
  const Tensor tall = wave({100000, 16});
  const auto standardised = [&] { ((tall - mean(tall, {0})) / sqrt(var(tall, {0}) + 1e-5)).eval(); };
  BOOST_TEST(tile_groups_in(standardised) == 0u);
}

BOOST_AUTO_TEST_CASE(values_in_between_have_no_memory) {
  const Tensor x = wave({2048, 1024});
  const uint64_t full = 2048 * 1024 * 4;
  const auto peak = [&](const Rows& f) {
    f(x)[0].eval();  // compiled
    reset_metrics();
    const uint64_t live = metrics().bytes_live;
    const Tensor y = f(x)[0];
    y.eval();
    return metrics().bytes_peak - live;
  };
  BOOST_TEST(peak(softmax_rows) < full + full / 4);
  BOOST_TEST(peak(halves) < full / 4);
}

BOOST_AUTO_TEST_CASE(one_program_for_all_sizes) {
  softmax_rows(wave({16, 64}))[0].eval();
  const uint64_t compiled = metrics().kernels_compiled, misses = metrics().program_misses;
  for (int64_t rows : {2, 3000, 100, 5000})
    for (int64_t columns : {2, 64, 1000}) {
      const Tensor x = wave({rows, columns});
      const uint64_t before = metrics().program_misses;
      softmax_rows(x)[0].eval();
      BOOST_TEST(metrics().program_misses == before);
    }
  BOOST_TEST(misses == 2u);  // the wave and the softmax
  BOOST_TEST(metrics().kernels_compiled == compiled);
}

BOOST_AUTO_TEST_CASE(an_input_is_overwritten_block_by_block) {
  const Override block("LAZY_BLOCK_BYTES", "1000"), threads("LAZY_NUM_THREADS", "2");
  Tensor x = wave({50, 60});
  const std::vector<std::string> expected = bits(softmax_rows(wave({50, 60})));
  const uint64_t before = metrics().bytes_donated;
  BOOST_TEST(tile_groups_in([&] {
               x = softmax_rows(x)[0];
               x.eval();
             }) == 1u);
  BOOST_TEST((bits({x}) == expected));
  BOOST_TEST(metrics().bytes_donated > before);
}

BOOST_AUTO_TEST_CASE(extents_of_zero) {
  const Override block("LAZY_BLOCK_BYTES", "1"), threads("LAZY_NUM_THREADS", "2");
  for (const Shape& shape : {Shape{0, 5}, Shape{0, 3, 4}}) {
    const Tensor y = softmax_rows(zeros(shape))[0];
    BOOST_TEST(y.to_vector<float>().empty());
  }
  BOOST_TEST(sum(exp(zeros({6, 0})), {-1}).to_vector<float>() == std::vector<float>(6, 0));
}

BOOST_AUTO_TEST_CASE(a_failed_run_can_be_repeated) {
  const Override block("LAZY_BLOCK_BYTES", "1000");
  Probe& probe = Probe::instance();
  const Probe::Hooks hooks;
  const std::vector<std::string> expected = bits(softmax_rows(wave({50, 60})));
  for (int fails = 0; fails < 3; ++fails) {
    Tensor x = wave({50, 60});
    x = softmax_rows(x)[0];
    int left = fails;
    probe.on_allocate = [&](size_t) {
      if (left-- == 0) throw DeviceError("no memory");
    };
    try {
      x.eval();
    } catch (const DeviceError&) {}
    probe.on_allocate = nullptr;
    BOOST_TEST((bits({x}) == expected));
  }
}

BOOST_AUTO_TEST_SUITE_END()
