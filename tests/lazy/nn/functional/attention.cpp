// Compares attention with its definition in double precision, and measures its memory.
#include <cmath>
#include <limits>

#include "support/config.hpp"
#include "tests/common/check.hpp"
#include "tests/common/needs.hpp"

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

BOOST_AUTO_TEST_CASE(the_scores_never_exist_as_a_whole,
                     *test::needs("the CPU: kernels go block by block there",
                                  [] { return default_device() == Device{}; })) {
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

BOOST_AUTO_TEST_CASE(heads_that_share_keys) {
  const Tensor q = wave({2, 6, 5, 4}, 0.37), k = wave({2, 3, 7, 4}, 0.73), v = wave({2, 3, 7, 2}, 0.11);
  const auto each = [](const Tensor& x) { return repeat_interleave(x, 2, -3); };
  for (const Tensor& mask :
       {Tensor(), wave({5, 7}, 0.3), wave({2, 6, 5, 7}, 0.3), wave({2, 1, 5, 7}, 0.3) > 0.0})
    for (const bool causal : {false, true})
      close(scaled_dot_product_attention(q, k, v, mask, causal, 0.4, true),
            scaled_dot_product_attention(q, each(k), each(v), mask, causal, 0.4).to_vector<float>());
  BOOST_CHECK_THROW(
      scaled_dot_product_attention(q, wave({2, 4, 7, 4}, 1), wave({2, 4, 7, 4}, 1), {}, false, {}, true),
      ShapeError);
  BOOST_CHECK_THROW(scaled_dot_product_attention(q, k, wave({2, 6, 7, 4}, 1), {}, false, {}, true),
                    ShapeError);
  BOOST_CHECK_THROW(scaled_dot_product_attention(q(0, 0), k(0, 0), v(0, 0), {}, false, {}, true), ShapeError);
}

BOOST_AUTO_TEST_CASE(rotations_by_place) {
  const Tensor x = wave({2, 3, 4, 6}, 0.37), places = arange(5, 9, 1, float32);
  for (const bool interleaved : {false, true}) {
    const auto v = x.to_vector<float>(), y = rotary_embedding(x, places, 100, interleaved).to_vector<float>();
    for (size_t row = 0; row < v.size() / 6; ++row)
      for (size_t i = 0; i < 3; ++i) {
        const size_t a = row * 6 + (interleaved ? 2 * i : i), b = interleaved ? a + 1 : a + 3;
        const double angle =
            static_cast<double>(5 + row % 4) * std::pow(100.0, -2.0 * static_cast<double>(i) / 6);
        BOOST_TEST(std::abs(y[a] - (v[a] * std::cos(angle) - v[b] * std::sin(angle))) < 1e-6);
        BOOST_TEST(std::abs(y[b] - (v[b] * std::cos(angle) + v[a] * std::sin(angle))) < 1e-6);
      }
  }
  // Scores go by how far places are apart.
  const auto score = [&](double at) {
    const Tensor p = full({1}, at, float32);
    return sum(rotary_embedding(x(0, 0)(slice(0, 1)), p) * rotary_embedding(x(0, 0)(slice(1, 2)), p + 3.0f))
        .item<float>();
  };
  BOOST_TEST(std::abs(score(0) - score(40)) < 1e-5);
  const Tensor each = stack({places, places + 1.0f}).reshape({2, 1, 4});
  BOOST_TEST(rotary_embedding(x, each)(1).to_vector<float>() ==
                 rotary_embedding(x(1), places + 1.0f).to_vector<float>(),
             boost::test_tools::per_element());
  BOOST_TEST(name_of(rotary_embedding(x.astype(bfloat16), places).dtype()) == name_of(bfloat16));
  BOOST_CHECK_THROW(rotary_embedding(wave({2, 3}, 1), arange(2)), ShapeError);
  BOOST_CHECK_THROW(rotary_embedding(x, arange(5)), ShapeError);
  BOOST_CHECK_THROW(rotary_embedding(arange(8).reshape({2, 4}), arange(2)), DtypeError);
}

BOOST_AUTO_TEST_CASE(what_goes_by_distance) {
  check::equal(alibi_slopes(4), float32, {4}, {0.25, 0.0625, 0.015625, 0.00390625});
  check::close(alibi_slopes(3), {1.0 / 16, 1.0 / 256, 0.25}, 1e-6);
  check::equal(alibi(1, 2, 3), float32, {1, 2, 3},
               {-1.0 / 256, -0.0, -1.0 / 256, -2.0 / 256, -1.0 / 256, -0.0});
  check::equal(window_mask(2, 4, 2), bool_, {2, 4}, {0, 1, 1, 0, 0, 0, 1, 1});
  check::equal(window_mask(2, 4, 2, false), bool_, {2, 4}, {0, 1, 1, 1, 0, 0, 1, 1});
  BOOST_CHECK_THROW(alibi_slopes(0), ShapeError);
  BOOST_CHECK_THROW(window_mask(2, 2, 0), ShapeError);
  // Dense attention with these is attention over one sequence with those options.
  const Tensor q = wave({9, 4, 8}, 0.37), k = wave({9, 4, 8}, 0.73), v = wave({9, 4, 8}, 0.11);
  const auto heads = [](const Tensor& x) { return permute(x, {1, 0, 2}); };
  const Tensor dense = scaled_dot_product_attention(heads(q), heads(k), heads(v),
                                                    where(window_mask(9, 9, 3), alibi(4, 9, 9), -inf));
  const Ragged r = scaled_dot_product_attention(ragged({q}), ragged({k}), ragged({v}),
                                                {.causal = true, .window = 3, .slopes = alibi_slopes(4)});
  close(r.values, heads(dense).to_vector<float>());
}

BOOST_AUTO_TEST_SUITE_END()
