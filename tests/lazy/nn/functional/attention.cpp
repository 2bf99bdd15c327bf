// Compares attention with its definition in double precision, and measures its memory.
#include <cmath>
#include <limits>

#include "support/config.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor wave(Shape shape, double frequency) {
  Tensor x = sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency);
  x.eval();
  return x;
}

struct Heads {
  int64_t count, length, keys, width, values;
};

/// Computes packed heads. `bias` is added to the scores, (count, length, keys); -inf hides a key.
std::vector<float> by_definition(const Heads& h, const Tensor& query, const Tensor& key, const Tensor& value,
                                 const std::vector<double>& bias, double scale) {
  const auto q = query.to_vector<float>(), k = key.to_vector<float>(), v = value.to_vector<float>();
  std::vector<float> out;
  std::vector<double> weight(static_cast<size_t>(h.keys));
  for (int64_t b = 0; b < h.count; ++b)
    for (int64_t i = 0; i < h.length; ++i) {
      double top = -std::numeric_limits<double>::infinity(), total = 0;
      for (int64_t j = 0; j < h.keys; ++j) {
        double s = 0;
        for (int64_t e = 0; e < h.width; ++e)
          s += static_cast<double>(q[static_cast<size_t>((b * h.length + i) * h.width + e)]) *
               k[static_cast<size_t>((b * h.keys + j) * h.width + e)];
        s = s * scale + bias[static_cast<size_t>((b * h.length + i) * h.keys + j)];
        weight[static_cast<size_t>(j)] = s;
        top = std::max(top, s);
      }
      for (double& w : weight) w = std::isinf(top) ? 0 : std::exp(w - top), total += w;
      for (int64_t e = 0; e < h.values; ++e) {
        double s = 0;
        for (int64_t j = 0; j < h.keys; ++j)
          s += weight[static_cast<size_t>(j)] * v[static_cast<size_t>((b * h.keys + j) * h.values + e)];
        out.push_back(static_cast<float>(total > 0 ? s / total : 0));
      }
    }
  return out;
}

void close(const Tensor& got, const std::vector<float>& want) {
  const auto v = got.to_vector<float>();
  BOOST_REQUIRE(v.size() == want.size());
  float worst = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    const float d = std::abs(v[i] - want[i]);
    if (!(d <= worst)) worst = d;
  }
  BOOST_TEST(worst <= 2e-6f);
}

constexpr double kHidden = -std::numeric_limits<double>::infinity();

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE(as_defined) {
  for (const char* block : {"0", "1000"})
    for (const Heads& h : {Heads{6, 5, 7, 4, 3}, Heads{6, 1, 33, 8, 8}, Heads{2, 130, 70, 16, 20},
                           Heads{1, 40, 40, 64, 64}, Heads{4, 3, 1, 5, 2}}) {
      const Override size("LAZY_BLOCK_BYTES", block);
      const Shape batch = h.count == 6 ? Shape{2, 3} : Shape{h.count};
      const auto shape = [&](int64_t rows, int64_t columns) {
        Shape s = batch;
        s.push_back(rows);
        s.push_back(columns);
        return s;
      };
      const Tensor q = wave(shape(h.length, h.width), 0.37), k = wave(shape(h.keys, h.width), 0.73),
                   v = wave(shape(h.keys, h.values), 0.11);
      const auto n = static_cast<size_t>(h.count * h.length * h.keys);
      std::vector<double> none(n, 0.0), causal(n), odd(n), added(n);
      std::vector<float> mask(static_cast<size_t>(h.length * h.keys));
      std::vector<int32_t> allowed(mask.size());
      for (size_t i = 0; i < mask.size(); ++i)
        mask[i] = static_cast<float>(i % 7) * 0.3f, allowed[i] = i % 3 != 1;
      for (size_t i = 0; i < n; ++i) {
        const size_t at = i % mask.size(), row = at / static_cast<size_t>(h.keys),
                     column = at % static_cast<size_t>(h.keys);
        causal[i] = column <= row ? 0 : kHidden;
        odd[i] = allowed[at] ? 0 : kHidden;
        added[i] = mask[at];
      }
      const Tensor number_mask = from_span<float>(mask, {h.length, h.keys}),
                   bool_mask = from_span<int32_t>(allowed, {h.length, h.keys}) == 1;
      const double scale = 1 / std::sqrt(static_cast<double>(h.width));
      BOOST_TEST_CONTEXT("queries " << to_string(q.shape()) << ", blocks of " << block) {
        close(scaled_dot_product_attention(q, k, v), by_definition(h, q, k, v, none, scale));
        close(scaled_dot_product_attention(q, k, v, {}, false, 0.5), by_definition(h, q, k, v, none, 0.5));
        close(scaled_dot_product_attention(q, k, v, {}, true), by_definition(h, q, k, v, causal, scale));
        close(scaled_dot_product_attention(q, k, v, {bool_mask}), by_definition(h, q, k, v, odd, scale));
        close(scaled_dot_product_attention(q, k, v, {number_mask}), by_definition(h, q, k, v, added, scale));
      }
    }
}

BOOST_AUTO_TEST_CASE(nothing_to_attend_to) {
  const Tensor q = wave({2, 3, 4}, 0.3), k = wave({2, 5, 4}, 0.2), v = wave({2, 5, 6}, 0.1);
  BOOST_TEST(scaled_dot_product_attention(q, k, v, zeros({3, 5}, bool_)).to_vector<float>() ==
             std::vector<float>(36, 0));
  const Tensor none = scaled_dot_product_attention(q, zeros({2, 0, 4}), zeros({2, 0, 6}));
  BOOST_TEST(none.to_vector<float>() == std::vector<float>(36, 0));
}

BOOST_AUTO_TEST_CASE(the_same_bits_as_op_by_op) {
  const Override ordered("LAZY_CUDA_SUMS", "ordered");
  const Tensor q = wave({2, 3, 50, 24}, 0.37), k = wave({2, 3, 90, 24}, 0.73), v = wave({2, 1, 90, 40}, 0.11);
  for (const bool causal : {false, true}) {
    std::vector<float> expected;
    {
      const Override eager("LAZY_EAGER", "1");
      expected = scaled_dot_product_attention(q, k, v, {}, causal).to_vector<float>();
    }
    for (const char* block : {"0", "1", "20000"})
      for (const char* threads : {"1", "3"}) {
        const Override size("LAZY_BLOCK_BYTES", block), n("LAZY_NUM_THREADS", threads);
        BOOST_TEST(scaled_dot_product_attention(q, k, v, {}, causal).to_vector<float>() == expected);
      }
  }
}

BOOST_AUTO_TEST_CASE(the_scores_never_exist_as_a_whole) {
  if (default_device() != Device{}) return;  // kernels go block by block on the CPU
  const Override threads("LAZY_NUM_THREADS", "1");
  const Tensor q = wave({2, 1024, 32}, 0.37), k = wave({2, 1024, 32}, 0.73), v = wave({2, 1024, 32}, 0.11);
  const uint64_t scores = 2 * 1024 * 1024 * 4;
  for (const bool causal : {false, true}) {
    scaled_dot_product_attention(q, k, v, {}, causal).eval();
    reset_metrics();
    const uint64_t live = metrics().bytes_live;
    scaled_dot_product_attention(q, k, v, {}, causal).eval();
    BOOST_TEST(metrics().bytes_peak - live < scores / 3);
    BOOST_TEST(metrics().tile_groups == 1u);
  }
}

BOOST_AUTO_TEST_CASE(errors) {
  const Tensor q = wave({2, 3, 4}, 0.3), k = wave({2, 5, 4}, 0.2);
  BOOST_CHECK_THROW(scaled_dot_product_attention(q, wave({2, 5, 3}, 0.1), k), ShapeError);
  BOOST_CHECK_THROW(scaled_dot_product_attention(q, k, wave({2, 4, 4}, 0.1)), ShapeError);
  BOOST_CHECK_THROW(scaled_dot_product_attention(wave({4}, 0.1), k, k), ShapeError);
  BOOST_CHECK_THROW(scaled_dot_product_attention(q, k, k, wave({7, 2, 3, 5}, 0.1)), ShapeError);
  BOOST_CHECK_THROW(
      scaled_dot_product_attention(zeros({2, 2}, int32), zeros({2, 2}, int32), zeros({2, 2}, int32)),
      DtypeError);
}

BOOST_AUTO_TEST_SUITE_END()
