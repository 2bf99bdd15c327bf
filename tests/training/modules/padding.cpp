// Tests layers of transformers on sequences of different lengths: without padding they give what they give
// with it.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "lazy/autograd/backward.hpp"
#include "lazy/inference/replay.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"

using namespace lazy;

namespace {

Tensor wave(Shape shape, double frequency) {
  return sin(reshape(arange(1, numel(shape) + 1, 1, float32), shape) * frequency).eval();
}
Tensor hides_from(const std::vector<int64_t>& lengths, int64_t places) {
  const auto n = static_cast<int64_t>(lengths.size());
  return (arange(places).reshape({1, places}) >= asarray(lengths).reshape({n, 1})).eval();
}
void close(const Tensor& a, const Tensor& b, double tolerance) {
  BOOST_REQUIRE(a.shape() == b.shape());
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  float worst = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const float d = std::abs(x[i] - y[i]); !(d <= worst)) worst = d;
  BOOST_TEST(worst <= tolerance);
}
nn::TransformerEncoder encoder(bool batch_first, bool norm_first) {
  return {nn::TransformerEncoderLayer(16, 4,
                                      {.dim_feedforward = 24,
                                       .activation = [](const Tensor& x) { return gelu(x); },
                                       .batch_first = batch_first,
                                       .norm_first = norm_first}),
          3, nn::LayerNorm(16)};
}
uint64_t calls() { return metrics().calls; }

}  // namespace

BOOST_AUTO_TEST_SUITE(sequences_without_padding)

BOOST_AUTO_TEST_CASE(encoders_leave_padding_out) {
  const std::vector<int64_t> lengths{7, 0, 3, 9};
  for (const bool batch_first : {true, false})
    for (const bool norm_first : {true, false})
      for (const bool causal : {true, false}) {
        nn::TransformerEncoder model = encoder(batch_first, norm_first);
        model.eval();
        const Tensor x = batch_first ? wave({4, 9, 16}, 0.7) : wave({9, 4, 16}, 0.7),
                     hides = hides_from(lengths, 9);
        const nn::EncoderMasks masks{.src_key_padding_mask = hides, .is_causal = causal};
        const Tensor padded = model(x, masks).eval();  // gradients: padding stays
        const uint64_t before = calls();
        const no_grad scope;
        const Tensor fast = model(x, masks).eval();
        BOOST_TEST(calls() == before + 3);  // an attention a layer
        const Tensor shown =
            unsqueeze(batch_first ? logical_not(hides) : swapaxes(logical_not(hides), 0, 1), 2);
        close(fast, where(shown, padded, 0.0f), 2e-5);
      }
}

BOOST_AUTO_TEST_CASE(padding_stays_where_it_must) {
  nn::TransformerEncoder model = encoder(true, false);
  const Tensor x = wave({2, 5, 16}, 0.7);
  const auto fast = [&](const nn::EncoderMasks& masks) {
    const uint64_t before = calls();
    model(x, masks).eval();
    return calls() != before;
  };
  const Tensor hides = hides_from({5, 2}, 5);
  {
    const no_grad scope;
    BOOST_TEST(!fast({.src_key_padding_mask = hides}));  // training
    model.eval();
    BOOST_TEST(fast({.src_key_padding_mask = hides}));
    BOOST_TEST(!fast({}));
    BOOST_TEST(!fast({.src_key_padding_mask = hides_from({5, 5}, 5)}));
    BOOST_TEST(!fast({.src_key_padding_mask = logical_not(hides).eval()}));  // not at the ends
    BOOST_TEST(!fast({.src_key_padding_mask = where(hides, -inf, 0.0).astype(float32).eval()}));  // numbers
    BOOST_TEST(!fast({.mask = zeros({5, 5}, bool_), .src_key_padding_mask = hides}));
    BOOST_TEST(!fast({.src_key_padding_mask = logical_not(logical_not(hides))}));  // not there yet
  }
  BOOST_TEST(!fast({.src_key_padding_mask = hides}));  // gradients
  // A replay goes with any mask.
  const auto step = replay(
      [&](const Tensor& t, const Tensor& mask) { return model(t, {.src_key_padding_mask = mask}); }, model);
  const no_grad scope;
  for (const auto& lengths : {std::vector<int64_t>{5, 2}, {3, 4}}) {
    const Tensor mask = hides_from(lengths, 5), shown = unsqueeze(logical_not(mask), 2);
    close(where(shown, step(x, mask), 0.0f), model(x, {.src_key_padding_mask = mask}), 2e-5);
  }
}

/// Gradients of what is computed without padding are those with it.
BOOST_AUTO_TEST_CASE(trains_without_padding) {
  const std::vector<int64_t> lengths{4, 1, 6};
  const auto gradients = [&](bool ragged_way) {
    Generator g(3);
    nn::TransformerEncoder model(
        nn::TransformerEncoderLayer(
            8, 2, {.dim_feedforward = 12, .dropout = 0, .batch_first = true, .generator = &g}),
        2);
    const Tensor x = wave({3, 6, 8}, 0.7), hides = hides_from(lengths, 6), w = wave({3, 6, 8}, 1.7);
    const Tensor shown = unsqueeze(logical_not(hides), 2);
    const Tensor y = ragged_way ? model(ragged(x, std::span(lengths))).to_padded(6)
                                : where(shown, model(x, {.src_key_padding_mask = hides}), 0.0f);
    sum(y * w).backward();
    std::vector<float> all;
    for (const ParameterRef& p : model.parameters())
      for (const float v : p->grad().to_vector<float>()) all.push_back(v);
    return all;
  };
  const auto a = gradients(true), b = gradients(false);
  BOOST_REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i)
    BOOST_TEST(std::abs(a[i] - b[i]) <= 5e-5f, i << ": " << a[i] << ", " << b[i]);
}

BOOST_AUTO_TEST_CASE(cross_attention_and_messages) {
  nn::MultiheadAttention m(12, 3, {.kdim = 5, .vdim = 7});
  m.eval();
  const Ragged q = ragged(wave({2, 4, 12}, 0.3), {4, 1}), k = ragged(wave({2, 6, 5}, 0.6), {2, 6}),
               v = ragged(wave({2, 6, 7}, 0.9), {2, 6});
  const Ragged y = m(q, k, v);
  for (int64_t n = 0; n < 2; ++n) {
    const auto rows = [&](const Ragged& r) {
      const auto o = r.offsets.to_vector<int64_t>();
      return r.values(slice(o[static_cast<size_t>(n)], o[static_cast<size_t>(n) + 1]));
    };
    close(rows(y), m(rows(q), rows(k), rows(v), {.need_weights = false}).output, 1e-5);
  }
  BOOST_CHECK_THROW(m(q, q, v), ShapeError);
  nn::MultiheadAttention dropping(12, 3, {.dropout = 0.5}), more(12, 3, {.add_zero_attn = true});
  BOOST_CHECK_THROW(dropping(q, q, q), Error);
  BOOST_CHECK_THROW(more(q, q, q), Error);
  dropping.eval();
  BOOST_TEST(dropping(q, q, q).values.shape() == (Shape{5, 12}));
}

BOOST_AUTO_TEST_SUITE_END()
