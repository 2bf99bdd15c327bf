// Compares recurrent layers, attention and transformers with torch's (tools/parity/layers.py).
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <map>

#include "cases.hpp"
#include "formula.hpp"

using namespace lazy;
using parity::uniform;

namespace {

using Results = std::vector<Tensor>;
/// Holds a layer and what calls it.
struct Layer {
  std::unique_ptr<nn::Module> module;
  std::function<Results()> run;
};
template <class M, class F>
Layer made(M m, F f) {
  auto module = std::make_unique<M>(std::move(m));
  M* const raw = module.get();
  return {std::move(module), [raw, f] { return f(*raw); }};
}

template <class M>
Results call(M& m, const Tensor& x, const Tensor& h0 = {}, [[maybe_unused]] const Tensor& c0 = {}) {
  if constexpr (std::is_same_v<M, nn::LSTM>) {
    const auto [out, h, c] = m(x, h0, c0);
    return {out, h, c};
  } else {
    const auto [out, h] = m(x, h0);
    return {out, h};
  }
}
/// Returns a recurrent layer of 3 inputs and 4 units; `states`: not from zeros.
template <class M>
Layer recurrent(const Shape& shape, bool states, const nn::RecurrentOptions& o, M m) {
  const int64_t depth = o.num_layers * (o.bidirectional ? 2 : 1),
                width = o.proj_size > 0 ? o.proj_size.value : 4;
  const int64_t n = shape[o.batch_first ? 0 : 1];
  const bool one = shape.size() == 2;
  const Tensor h0 = uniform("h0", one ? Shape{depth, width} : Shape{depth, n, width});
  const Tensor c0 = uniform("c0", one ? Shape{depth, 4} : Shape{depth, n, 4});
  const Tensor x = uniform("x", shape);
  return made(std::move(m), [=](M& layer) { return states ? call(layer, x, h0, c0) : call(layer, x); });
}
template <class M>
Layer recurrent(const Shape& shape, bool states, const nn::RecurrentOptions& o = {}) {
  return recurrent(shape, states, o, M(3, 4, o));
}

template <class M>
Layer cell(bool given) {
  return made(M(3, 4), [given](M& m) -> Results {
    const Tensor x = uniform("x", {2, 3}), h = uniform("h0", {2, 4}), c = uniform("c0", {2, 4});
    if constexpr (std::is_same_v<M, nn::LSTMCell>) {
      const nn::LSTMState s = given ? m(x, {h, c}) : m(x);
      return {s.h, s.c};
    } else {
      return {given ? m(x, h) : m(x)};
    }
  });
}

Layer attention(const nn::MultiheadAttentionOptions& o, const nn::AttentionOptions& call, bool self = true) {
  return made(nn::MultiheadAttention(6, 2, o), [=](nn::MultiheadAttention& m) -> Results {
    const auto ordered = [&](const char* name, int64_t n, int64_t t, int64_t width) {
      return uniform(name, o.batch_first ? Shape{n, t, width} : Shape{t, n, width});
    };
    const Tensor q = ordered("q", 2, 5, 6);
    const Tensor k = self ? q : ordered("k", 2, 4, o.kdim > 0 ? o.kdim.value : 6);
    const Tensor v = self ? q : ordered("v", 2, 4, o.vdim > 0 ? o.vdim.value : 6);
    const auto [out, weights] = m(q, k, v, call);
    if (!weights.defined()) return {out};
    return {out, weights};
  });
}

Tensor padding() { return arange(5) >= from_span(std::vector<int64_t>{5, 3}, {2, 1}); }
Tensor later() { return arange(5) > arange(5).reshape({5, 1}); }
Tensor square_mask() { return nn::Transformer::generate_square_subsequent_mask(5); }

Layer encoder(nn::TransformerLayerOptions o) {
  o.dim_feedforward = 10, o.dropout = 0;
  return made(nn::TransformerEncoderLayer(6, 2, o), [o](nn::TransformerEncoderLayer& m) -> Results {
    return {m(uniform("x", o.batch_first ? Shape{2, 5, 6} : Shape{5, 2, 6}),
              {.src_key_padding_mask = padding()})};
  });
}
Layer decoder(bool norm_first) {
  return made(
      nn::TransformerDecoderLayer(6, 2, {.dim_feedforward = 10, .dropout = 0, .norm_first = norm_first}),
      [](nn::TransformerDecoderLayer& m) -> Results {
        return {m(uniform("x", {5, 2, 6}), uniform("memory", {4, 2, 6}), {.tgt_mask = square_mask()})};
      });
}
Layer transformer() {
  return made(nn::Transformer({.d_model = 6,
                               .nhead = 2,
                               .num_encoder_layers = 2,
                               .num_decoder_layers = 2,
                               .layer = {.dim_feedforward = 10, .dropout = 0}}),
              [](nn::Transformer& m) -> Results {
                return {m(uniform("src", {4, 2, 6}), uniform("tgt", {5, 2, 6}),
                          {.tgt = {.tgt_mask = square_mask()}})};
              });
}

const std::map<std::string, std::function<Layer()>> kLayers{
    {"rnn",
     [] {
       return recurrent<nn::RNN>({5, 2, 3}, false);
     }},
    {"rnn_relu",
     [] {
       const nn::RecurrentOptions o{.num_layers = 2, .bidirectional = true};
       return recurrent({5, 2, 3}, true, o, nn::RNN(3, 4, o, nn::RecurrentActivation::relu));
     }},
    {"lstm",
     [] {
       return recurrent<nn::LSTM>({5, 2, 3}, false);
     }},
    {"lstm_states",
     [] {
       return recurrent<nn::LSTM>({5, 2, 3}, true,
                                  {.num_layers = 2, .batch_first = true, .bidirectional = true});
     }},
    {"lstm_projected",
     [] {
       return recurrent<nn::LSTM>({5, 2, 3}, true, {.num_layers = 2, .bidirectional = true, .proj_size = 2});
     }},
    {"lstm_one",
     [] {
       return recurrent<nn::LSTM>({5, 3}, true, {.bias = false});
     }},
    {"gru",
     [] {
       return recurrent<nn::GRU>({5, 2, 3}, false);
     }},
    {"gru_states",
     [] {
       return recurrent<nn::GRU>({5, 2, 3}, true, {.num_layers = 2, .bidirectional = true});
     }},
    {"gru_plain",
     [] {
       return recurrent<nn::GRU>({5, 2, 3}, true, {.bias = false});
     }},
    {"rnn_cell", [] { return cell<nn::RNNCell>(true); }},
    {"lstm_cell", [] { return cell<nn::LSTMCell>(true); }},
    {"lstm_cell_first", [] { return cell<nn::LSTMCell>(false); }},
    {"gru_cell", [] { return cell<nn::GRUCell>(true); }},
    {"attention", [] { return attention({}, {}); }},
    {"attention_masked",
     [] {
       return attention({.batch_first = true},
                        {.key_padding_mask = padding(), .need_weights = false, .attn_mask = later()});
     }},
    {"attention_added",
     [] {
       return attention({}, {.attn_mask = uniform("mask", {4, 5, 5}), .average_attn_weights = false});
     }},
    {"attention_causal", [] { return attention({}, {.need_weights = false, .is_causal = true}); }},
    {"attention_extents", [] { return attention({.kdim = 3, .vdim = 4}, {}, false); }},
    {"attention_extended", [] { return attention({.add_bias_kv = true, .add_zero_attn = true}, {}, false); }},
    {"attention_plain", [] { return attention({.bias = false}, {}, false); }},
    {"encoder", [] { return encoder({}); }},
    {"encoder_first",
     [] {
       return encoder(
           {.activation = [](const Tensor& x) { return gelu(x); }, .batch_first = true, .norm_first = true});
     }},
    {"decoder", [] { return decoder(false); }},
    {"decoder_first", [] { return decoder(true); }},
    {"transformer", transformer}};

const Safetensors& golden() {
  static const Safetensors all =
      load_safetensors(std::string(LAZY_SOURCE_DIR) + "/tests/training/models/golden/layers.safetensors");
  return all;
}

/// Returns the largest difference in units of the largest number, or of 1.
double difference(const std::vector<double>& found, const std::vector<double>& expected) {
  BOOST_TEST_REQUIRE(found.size() == expected.size());
  double largest = 1, worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(expected[i]));
    worst = std::max(worst, std::fabs(found[i] - expected[i]));
  }
  return worst / largest;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(training_models)

BOOST_AUTO_TEST_CASE(layers_are_those_of_torch) {
  size_t compared = 0;
  for (const auto& [name, make] : kLayers) {
    BOOST_TEST_CONTEXT(name) {
      const Layer layer = make();
      parity::fill(*layer.module);
      layer.module->train();
      const Results results = layer.run();
      Tensor loss;
      for (size_t i = 0; i < results.size(); ++i) {
        const Tensor one = sum(results[i] * uniform("cotangent" + std::to_string(i), results[i].shape()));
        loss = loss.defined() ? loss + one : one;
      }
      loss.backward();
      for (size_t i = 0; i < results.size(); ++i, ++compared) {
        const Tensor& wanted = golden().at(name + "/" + std::to_string(i));
        BOOST_TEST(to_string(results[i].shape()) == to_string(wanted.shape()));
        BOOST_TEST(difference(results[i].to_vector<double>(), wanted.to_vector<double>()) <= 1e-5);
      }
      for (const auto& [key, p] : layer.module->named_parameters()) {
        BOOST_TEST_CONTEXT(key) {
          BOOST_TEST_REQUIRE(p->grad().defined());
          BOOST_TEST(difference(parity::summary(p->grad()),
                                golden().at(name + "/grad/" + key).to_vector<double>()) <= 1e-5);
          ++compared;
        }
      }
    }
  }
  BOOST_TEST(compared == golden().size());
}

// Extents 1 and primes, float64, sequences in and against their order: the call gives what its steps,
// recorded one by one, give, and so do its gradients.
BOOST_AUTO_TEST_CASE(steps_recorded_one_by_one) {
  for (const DType t : {float32, float64})
    for (const int64_t steps : {1, 2, 7})
      for (const int64_t n : {1, 5})
        for (const int64_t units : {1, 17, 33}) {
          BOOST_TEST_CONTEXT(name_of(t)
                             << ", " << steps << " steps, batch " << n << ", " << units << " units") {
            const nn::LSTM layer(3, units, {.dtype = t});
            nn::LSTMCell one(3, units, {.dtype = t});
            const NamedTensors state = const_cast<nn::LSTM&>(layer).state_dict();
            one.weight_ih.reset(state.at("weight_ih_l0"));
            one.weight_hh.reset(state.at("weight_hh_l0"));
            one.bias_ih.reset(state.at("bias_ih_l0"));
            one.bias_hh.reset(state.at("bias_hh_l0"));
            const Tensor x = uniform("x", {steps, n, 3}).astype(t),
                         c = uniform("c", {steps, n, units}).astype(t);
            const auto by_call = [&](const Tensor& in) { return sum(layer(in).output * c); };
            const auto by_hand = [&](const Tensor& in) {
              nn::LSTMState s{zeros({n, units}, t), zeros({n, units}, t)};
              Tensor total = zeros({}, t);
              for (int64_t i = 0; i < steps; ++i) {
                s = one(in(i), s);
                total = total + sum(s.h * c(i));
              }
              return total;
            };
            const auto [value, g] = value_and_grad(by_call)(x);
            const auto [expected, g_expected] = value_and_grad(by_hand)(x);
            const double tolerance = t == float32 ? 2e-5 : 1e-12;
            BOOST_TEST(abs(value - expected).item<double>() <=
                       tolerance * (1 + abs(expected).item<double>()));
            BOOST_TEST(max(abs(g - g_expected)).item<double>() <=
                       tolerance * (1 + max(abs(g_expected)).item<double>()));
          }
        }
}

// One and two steps have programs of their own: an extent of 1 is part of the key.
BOOST_AUTO_TEST_CASE(sequences_of_any_length_are_one_program) {
  nn::GRU layer(3, 8, {.num_layers = 2, .bidirectional = true});
  const auto step = [&](int64_t length) {
    const Tensor x = uniform("x", {length, 4, 3});
    x.eval();
    layer.zero_grad();
    const Metrics before = metrics();
    const Tensor loss = sum(square(layer(x).output));
    loss.backward();
    std::vector<Tensor> all{loss};
    for (const ParameterRef& p : layer.parameters()) all.push_back(p->grad());
    eval(all);
    const Metrics after = metrics();
    BOOST_TEST(after.flushes - before.flushes == 1u);
    return after.program_misses - before.program_misses;
  };
  step(7);  // draws the weights, too
  step(7);
  for (const int64_t length : {3, 31, 128}) BOOST_TEST(step(length) == 0u, length << " steps compile");
}

BOOST_AUTO_TEST_CASE(sixteen_bit_floats_and_special_values) {
  for (const DType t : {float16, bfloat16}) {
    const nn::GRU layer(3, 4, {.dtype = t});
    const Tensor out = layer(uniform("x", {5, 2, 3}).astype(t)).output;
    BOOST_TEST((out.dtype() == t));
    BOOST_TEST(all(isfinite(out)).item<bool>());
  }
  const nn::LSTM layer(1, 20);
  Tensor x = zeros({3, 2, 1});
  x(1, 0, 0) = std::numeric_limits<double>::quiet_NaN();
  const Tensor out = layer(x).output;
  BOOST_TEST(!any(isnan(out(0))).item<bool>());
  BOOST_TEST(all(isnan(out(slice(1, 3), 0))).item<bool>());
  BOOST_TEST(!any(isnan(out(_, 1))).item<bool>());
  const Tensor large = layer(full({2, 2, 1}, 1e30f)).output;
  BOOST_TEST(all(abs(large) <= 1).item<bool>());
  BOOST_TEST(layer(zeros({3, 0, 1})).output.size() == 0);
}

BOOST_AUTO_TEST_CASE(dropout_between_layers_is_for_training) {
  nn::RNN layer(3, 16, {.num_layers = 2, .dropout = 0.5});
  const Tensor x = uniform("x", {4, 2, 3});
  layer.eval();
  BOOST_TEST(all(layer(x).output == layer(x).output).item<bool>());
  layer.train();
  BOOST_TEST(!all(layer(x).output == layer(x).output).item<bool>());
}

BOOST_AUTO_TEST_CASE(wrong_arguments_of_layers) {
  nn::LSTM lstm(3, 4, {.num_layers = 2});
  BOOST_CHECK_THROW(lstm(zeros({5})), ShapeError);
  BOOST_CHECK_THROW(lstm(zeros({5, 2, 4})), ShapeError);
  BOOST_CHECK_THROW(lstm(zeros({0, 2, 3})), ShapeError);
  BOOST_CHECK_THROW(lstm(zeros({5, 2, 3}), zeros({1, 2, 4})), ShapeError);
  BOOST_CHECK_THROW(lstm(zeros({5, 2, 3}), {}, zeros({2, 3, 4})), ShapeError);
  BOOST_CHECK_THROW(nn::LSTM(0, 4), ShapeError);
  BOOST_CHECK_THROW(nn::LSTM(3, 4, {.proj_size = 4}), ShapeError);
  BOOST_CHECK_THROW(nn::GRU(3, 4, {.proj_size = 2}), Error);
  BOOST_CHECK_THROW(nn::RNN(3, 4, {.dropout = 2}), Error);
  nn::GRUCell cell(3, 4);
  BOOST_CHECK_THROW(cell(zeros({2, 5})), ShapeError);
  BOOST_CHECK_THROW(cell(zeros({2, 3}), zeros({3, 4})), ShapeError);
  BOOST_CHECK_THROW(nn::MultiheadAttention(6, 4), ShapeError);
  nn::MultiheadAttention m(6, 2);
  const Tensor x = zeros({5, 2, 6});
  BOOST_CHECK_THROW(m(zeros({5, 2, 5}), x, x), ShapeError);
  BOOST_CHECK_THROW(m(x, zeros({4, 3, 6}), zeros({4, 3, 6})), ShapeError);
  BOOST_CHECK_THROW(m(x, x, x, {.key_padding_mask = zeros({3, 5}, bool_)}), ShapeError);
  BOOST_CHECK_THROW(m(x, x, x, {.attn_mask = zeros({5, 4})}), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
