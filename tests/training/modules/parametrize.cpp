// Tests parameters that are computed from parts whenever they are read. tests/golden/make_parametrize.py
// wrote how torch trains such models.
#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "lazy/core/build.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

namespace {

using namespace lazy;
using namespace lazy::nn::utils::parametrize;
namespace ready = lazy::nn::utils::parametrizations;

struct Case {
  std::string name;
  std::vector<std::pair<std::string, Tensor>> state, after;
  Tensor losses, weight;
};

/// Reads "DTYPE SHAPE x ..." from a word on.
Tensor read_tensor(const std::vector<std::string>& words, size_t at) {
  Shape shape;
  if (words[at + 1] != "-")
    for (const std::string& extent : golden::words(words[at + 1], ',')) shape.push_back(std::stoll(extent));
  std::vector<double> v;
  for (size_t i = at + 2; i < words.size(); ++i) v.push_back(std::stod(words[i]));
  return from_span(v, shape).astype(golden::dtype_named(words[at]));
}

std::vector<Case> read_cases() {
  std::ifstream in(LAZY_SOURCE_DIR "/tests/golden/parametrize.txt");
  BOOST_REQUIRE(in);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> w = golden::words(line);
    if (w[0] == "case") cases.emplace_back().name = w[1];
    else if (w[0] == "state") cases.back().state.emplace_back(w[1], read_tensor(w, 2));
    else if (w[0] == "after") cases.back().after.emplace_back(w[1], read_tensor(w, 2));
    else if (w[0] == "losses") cases.back().losses = read_tensor(w, 1);
    else if (w[0] == "weight") cases.back().weight = read_tensor(w, 1);
  }
  return cases;
}

Tensor symmetric(const Tensor& x) { return triu(x) + triu(x, 1).T(); }
std::vector<Tensor> in_three(const Tensor& x) { return split(x, 3, 0); }

Tensor scale_of(const Tensor& x, double largest, bool by_row) {
  const Tensor top = by_row ? max(abs(x), 1, keepdims) : max(abs(x));
  return maximum(top / largest, 0x1p-23);
}

/// Rounds to integers; the gradient goes through.
struct FakeQuantize final : Parametrization {
  int bits;
  bool by_row;
  FakeQuantize(int width, bool rows) : bits(width), by_row(rows) {}
  Tensor forward(const std::vector<Tensor>& x, Site) override {
    const Tensor given = x[0].detach();
    const double top = std::ldexp(1.0, bits - 1) - 1;
    const Tensor scale = scale_of(given, top, by_row);
    const Tensor rounded = clip(round(given * (1 / scale)), -top - 1, top) * scale;
    return x[0] + (rounded - x[0]).detach();
  }
};

/// Makes a weight of integers, and of a scale for each row, which is trained.
struct Dequantize final : Parametrization {
  Tensor forward(const std::vector<Tensor>& x, Site) override { return x[0].astype(x[1].dtype()) * x[1]; }
  std::optional<std::vector<Tensor>> right_inverse(const Tensor& value, Site) override {
    const Tensor scale = scale_of(value, 127, true);
    return std::vector{clip(round(value * (1 / scale)), -127, 127).astype(int8), scale};
  }
};

struct Model {
  nn::Sequential net;
  nn::Module* layer;
  const char* parameter = "weight";
  Shape input{5, 4};
};

Model linear_model(int64_t hidden = 6) {
  Model m{nn::Sequential{nn::Linear{4, hidden}, nn::Tanh{}, nn::Linear{hidden, 4}}, nullptr};
  m.layer = &m.net.get<nn::Linear>(0);
  return m;
}
Model convolution_model() {
  Model m{nn::Sequential{nn::Conv1d{2, 3, 3}, nn::Tanh{}, nn::Flatten{}, nn::Linear{12, 4}}, nullptr};
  m.layer = &m.net.get<nn::Conv1d>(0);
  m.input = {3, 2, 6};
  return m;
}

using Registers = std::function<void(Model&)>;

Model with(Model m, const Registers& f, const char* parameter = "weight") {
  m.parameter = parameter;
  f(m);
  return m;
}

const std::map<std::string, std::function<Model()>>& models() {
  static const std::map<std::string, std::function<Model()>> all{
      {"weight_norm", [] { return with(linear_model(), [](Model& m) { ready::weight_norm(*m.layer); }); }},
      {"weight_norm_columns",
       [] { return with(linear_model(), [](Model& m) { ready::weight_norm(*m.layer, "weight", 1); }); }},
      {"weight_norm_of_all",
       [] { return with(linear_model(), [](Model& m) { ready::weight_norm(*m.layer, "weight", {}); }); }},
      {"weight_norm_of_a_bias",
       [] {
         return with(
             linear_model(), [](Model& m) { ready::weight_norm(*m.layer, "bias"); }, "bias");
       }},
      {"weight_norm_of_a_convolution",
       [] { return with(convolution_model(), [](Model& m) { ready::weight_norm(*m.layer); }); }},
      {"spectral_norm",
       [] { return with(linear_model(), [](Model& m) { ready::spectral_norm(*m.layer); }); }},
      {"spectral_norm_twice",
       [] {
         return with(linear_model(), [](Model& m) { ready::spectral_norm(*m.layer, "weight", 2, 1e-12, 1); });
       }},
      {"spectral_norm_of_a_convolution",
       [] { return with(convolution_model(), [](Model& m) { ready::spectral_norm(*m.layer); }); }},
      {"low_rank",
       [] { return with(linear_model(), [](Model& m) { ready::low_rank(*m.layer, "weight", 2, 3); }); }},
      {"low_rank_of_a_convolution",
       [] { return with(convolution_model(), [](Model& m) { ready::low_rank(*m.layer, "weight", 2, 3); }); }},
      {"fake_quantize",
       [] {
         return with(linear_model(),
                     [](Model& m) { register_parametrization(*m.layer, "weight", FakeQuantize(8, false)); });
       }},
      {"fake_quantize_channels",
       [] {
         return with(linear_model(),
                     [](Model& m) { register_parametrization(*m.layer, "weight", FakeQuantize(4, true)); });
       }},
      {"dequantize",
       [] {
         return with(linear_model(),
                     [](Model& m) { register_parametrization(*m.layer, "weight", Dequantize()); });
       }},
      {"shards",
       [] {
         return with(linear_model(), [](Model& m) {
           register_parametrization(
               *m.layer, "weight", [](const std::vector<Tensor>& x) { return concat(x, 0); }, in_three);
         });
       }},
      {"symmetric",
       [] {
         return with(linear_model(4),
                     [](Model& m) { register_parametrization(*m.layer, "weight", symmetric); });
       }},
      {"exponential",
       [] {
         return with(
             linear_model(),
             [](Model& m) {
               nn::init::ones_(dynamic_cast<nn::Linear&>(*m.layer).bias);
               register_parametrization(
                   *m.layer, "bias", [](const std::vector<Tensor>& x) { return exp(x[0]); },
                   [](const Tensor& x) { return std::vector<Tensor>{log(x)}; });
             },
             "bias");
       }},
      {"chained",
       [] {
         return with(linear_model(), [](Model& m) {
           ready::weight_norm(*m.layer);
           register_parametrization(*m.layer, "weight", FakeQuantize(8, true));
         });
       }},
  };
  return all;
}

void near(const std::string& what, const Tensor& x, const Tensor& expected) {
  BOOST_TEST_CONTEXT(what) {
    BOOST_TEST(to_string(x.shape()) == to_string(expected.shape()));
    BOOST_TEST(name_of(x.dtype()) == std::string(name_of(expected.dtype())));
    check::close(x, expected.to_vector<double>(), 2e-5);
  }
}

std::string names(const NamedTensors& state) {
  std::string all;
  for (const auto& [name, t] : state) all += name + " " + to_string(t.shape()) + "\n";
  return all;
}

NamedTensors named(const std::vector<std::pair<std::string, Tensor>>& list) {
  NamedTensors all;
  for (const auto& [name, t] : list) all.set(name, t);
  return all;
}

void run(const Case& c) {
  const auto builder = models().find(c.name);
  BOOST_REQUIRE_MESSAGE(builder != models().end(), "no model for " + c.name);
  Model m = builder->second();
  BOOST_TEST(names(m.net.state_dict()) == names(named(c.state)));
  m.net.load_state_dict(named(c.state));
  const Tensor x = reshape(arange(0, numel(m.input), 1, float32) / 8 - 1, m.input);
  optim::SGD optimizer(m.net.parameters(), {.lr = 0.1});
  std::vector<Tensor> losses;
  for (int i = 0; i < 6; ++i) {
    Tensor loss = mean(square(m.net(x)));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.eval());
  }
  near("losses", stack(losses, 0), c.losses);
  const NamedTensors after = m.net.state_dict();
  for (const auto& [name, t] : c.after) near(name, after.at(name), t);
  m.net.eval();
  const Tensor before = m.net(x).eval();
  BOOST_TEST(is_parametrized(*m.layer, m.parameter));
  remove_parametrizations(*m.layer, m.parameter);
  BOOST_TEST(!is_parametrized(*m.layer));
  near("weight", m.net.state_dict().at(std::string("0.") + m.parameter), c.weight);
  near("the same", m.net(x), before);
}

/// Holds a layer whose weight is twice its part.
nn::Linear doubled(const Tensor& weight) {
  nn::Linear layer{weight.size(1), weight.size(0)};
  layer.weight = weight;
  register_parametrization(
      layer, "weight", [](const std::vector<Tensor>& x) { return x[0] * 2; },
      [](const Tensor& x) { return std::vector<Tensor>{x * 0.5}; });
  return layer;
}

Parameter& part(nn::Module& m, size_t i = 0) { return parametrizations(m, "weight").original(i); }

}  // namespace

BOOST_AUTO_TEST_SUITE(parametrize)

BOOST_AUTO_TEST_CASE(trained_as_torch_does) {
  size_t count = 0;
  for (const Case& c : read_cases()) {
    BOOST_TEST_CONTEXT(c.name) {
      try {
        run(c);
      } catch (const Error& e) { BOOST_ERROR(e.what()); }
    }
    ++count;
  }
  BOOST_TEST(count == models().size());
}

// Each way of reading gives the value, of the parts as they are.
BOOST_AUTO_TEST_CASE(every_way_of_reading) {
  const Tensor value = reshape(arange(1, 10, 1, float32), {3, 3}).eval(), mask = value > 4;
  nn::Linear layer = doubled(value);
  const std::vector<std::pair<const char*, std::function<Tensor(Tensor&)>>> ways{
      {"copy", [](Tensor& w) { return w; }},
      {"assigned",
       [](Tensor& w) {
         Tensor x = zeros({1});
         return x = w, x;
       }},
      {"operator", [](Tensor& w) { return w + w; }},
      {"const", [](Tensor& w) { return std::as_const(w) * 3; }},
      {"member", [](Tensor& w) { return w.T() + w.sum(0); }},
      {"view", [](Tensor& w) { return Tensor(w(slice(1, 3), 0)); }},
      {"element", [](Tensor& w) { return std::as_const(w)(1); }},
      {"list of indices",
       [](Tensor& w) {
         return std::as_const(w)(std::vector<Index>{1, slice(0, 2)});
       }},
      {"selection", [&](Tensor& w) { return Tensor(w(mask)); }},
      {"const selection", [&](Tensor& w) { return std::as_const(w)(mask); }},
      {"index", [](Tensor& w) { return arange(100)(w.to(int64)); }},
      {"list",
       [](Tensor& w) {
         return concat(std::vector<Tensor>{w, w}, 0);
       }},
      {"bias",
       [](Tensor& w) {
         return linear(ones({3, 3}), w, w(0)) + linear(ones({3, 3}), ones({3, 3}), w);
       }},
      {"norm",
       [](Tensor& w) {
         return layer_norm(ones({3, 3}) * arange(3), {3, 3}, w, w);
       }},
      {"einsum", [](Tensor& w) { return einsum("ij,jk->ik", w, w); }},
      {"where", [&](Tensor& w) { return where(mask, w, 0); }},
      {"mask",
       [](Tensor& w) {
         const Tensor q = reshape(arange(0, 18, 1, float32) / 18, {1, 1, 3, 6});
         return scaled_dot_product_attention(q, q, q, w);
       }},
      {"astype", [](Tensor& w) { return w.to(float64) + w.astype(int32); }},
      {"device", [](Tensor& w) { return w.to(w.device()); }},
      {"evaluated", [](Tensor& w) { return w.eval().copy() + w.clone() + w.detach() + w.contiguous(); }},
      {"lists evaluated",
       [](Tensor& w) {
         eval(w, w);
         eval(std::vector<Tensor>{w});
         return w + 1;
       }},
      {"elements",
       [](Tensor& w) {
         return from_span(w.to_vector<float>(), {3, 3});
       }},
      {"item", [](Tensor& w) { return tensor(std::as_const(w)(2, 2).item<double>()); }},
      {"moved",
       [](Tensor& w) {
         Tensor x = w;
         return Tensor(std::move(x)) * 2;
       }},
      {"loss",
       [](Tensor& w) {
         return binary_cross_entropy_with_logits(ones({3, 3}), ones({3, 3}), w, Reduction::mean, w);
       }},
  };
  for (const auto& [what, way] : ways) BOOST_TEST_CONTEXT(what) {
      for (const bool scoped : {false, true}) {
        std::optional<no_grad> scope;
        if (scoped) scope.emplace();
        Tensor plain = value.copy();
        const Tensor expected = way(plain), got = way(layer.weight);
        BOOST_TEST(to_string(got) == to_string(expected));
        BOOST_TEST(to_string(got.shape()) == to_string(expected.shape()));
      }
      BOOST_TEST(is_parametrized(layer.weight));
    }
  BOOST_TEST(to_string(layer.weight) == to_string(value));
  std::ostringstream out;
  out << layer.weight;
  BOOST_TEST(out.str() == to_string(value));
  const Tensor& w = layer.weight;
  BOOST_TEST(to_string(w.shape()) == "[3, 3]");
  BOOST_TEST(w.size() == 9);
  BOOST_TEST(w.nbytes() == 36u);
  BOOST_TEST((w.dtype() == float32));
  BOOST_TEST(w.requires_grad());
  BOOST_TEST((w * 2).requires_grad());
  const no_grad scope;
  BOOST_TEST(!(w * 2).requires_grad());
}

// What was read stays, whatever becomes of the parts.
BOOST_AUTO_TEST_CASE(values_that_were_read) {
  nn::Linear layer = doubled(ones({2, 2}));
  const Tensor before = layer.weight, pending = layer.weight + 1;
  std::vector<Tensor> list{layer.weight};
  {
    const no_grad scope;
    part(layer) += 1;
  }
  check::equal(before, float32, {2, 2}, {1, 1, 1, 1});
  check::equal(pending, float32, {2, 2}, {2, 2, 2, 2});
  check::equal(list[0], float32, {2, 2}, {1, 1, 1, 1});
  check::equal(layer.weight, float32, {2, 2}, {3, 3, 3, 3});
}

BOOST_AUTO_TEST_CASE(assigning) {
  nn::Linear layer = doubled(ones({2, 2}));
  const ParameterRef original = part(layer).ref();
  layer.weight = tensor({{2.0, 4.0}, {6.0, 8.0}});
  check::equal(*original, float32, {2, 2}, {1, 2, 3, 4});
  {
    const no_grad scope;
    layer.weight += 2;
    layer.weight(0) = 0;
    layer.weight(layer.weight > 9) = 1;
  }
  check::equal(layer.weight, float32, {2, 2}, {0, 0, 8, 1});
  check::equal(*original, float32, {2, 2}, {0, 0, 4, 0.5});
  nn::init::constant_(layer.weight, 6);
  check::equal(*original, float32, {2, 2}, {3, 3, 3, 3});
  BOOST_TEST(original->requires_grad());
  register_parametrization(layer, "weight", symmetric);
  THROWS(Error, layer.weight = ones({2, 2}),
         "Function: a parameter that it computes was assigned to, and it has no right_inverse()");
  nn::Linear other = doubled(ones({2, 2}));
  THROWS(ShapeError, other.weight = ones({3, 2}),
         "Function: right_inverse() gave a part of shape [3, 2] for one of [2, 2]");
}

BOOST_AUTO_TEST_CASE(gradients) {
  nn::Linear layer = doubled(tensor({{1.0, 2.0}, {3.0, 4.0}}));
  const Tensor x = tensor({{1.0, 10.0}});
  // Read twice: both ways back end at the one part.
  const Tensor y = sum(matmul(x, layer.weight)) + sum(layer.weight * layer.weight);
  y.backward();
  check::equal(part(layer).grad(), float32, {2, 2}, {6, 10, 32, 36});
  layer.weight.zero_grad();
  BOOST_TEST(!part(layer).grad().defined());
  layer.weight.backward(ones({2, 2}));
  check::equal(part(layer).grad(), float32, {2, 2}, {2, 2, 2, 2});
  layer.zero_grad();
  layer.weight.requires_grad_(false);
  BOOST_TEST(!part(layer).requires_grad());
  BOOST_TEST(!layer.weight.requires_grad());
  layer.requires_grad_();
  BOOST_TEST(layer.weight.requires_grad());
  const auto g = grad([&](const Tensor& a) { return sum(a * layer.weight); })(ones({2, 2}));
  check::equal(g, float32, {2, 2}, {1, 2, 3, 4});
  const Tensor again = checkpoint(
      [&](const std::vector<Tensor>& a) { return sum(a[0] * square(layer.weight)); }, {ones({2, 2})});
  again.backward();
  check::equal(part(layer).grad(), float32, {2, 2}, {4, 8, 12, 16});
}

// Equal parts give equal values: one flush computes what was read twice once, as any equal subexpressions. A
// formula with a number in it is none of these: a number is an argument.
BOOST_AUTO_TEST_CASE(read_twice) {
  nn::Linear normed{64, 48}, integers{64, 48};
  ready::weight_norm(normed);
  register_parametrization(integers, "weight", Dequantize());
  const Tensor x = ones({3, 64}), y = ones({5, 64});
  const no_grad scope;
  for (nn::Linear* layer : {&normed, &integers}) {
    eval(part(*layer, 0), part(*layer, 1), x, y);
    const auto kernels = [](const std::function<void()>& f) {
      const Explanation e = explain(f);
      BOOST_REQUIRE(e.flushes.size() == 1u);
      return e.flushes[0].kernels;
    };
    const Tensor& weight = layer->weight;
    const uint64_t twice = kernels([&] { (sum(matmul(x, weight.T())) + sum(matmul(y, weight.T()))).eval(); });
    const uint64_t once = kernels([&] {
      Tensor r;
      {
        const Tensor w = weight;
        r = sum(matmul(x, w.T())) + sum(matmul(y, w.T()));
      }
      r.eval();
    });
    BOOST_TEST(twice == once);
  }
}

// Nothing that is read is left behind: the weights in memory are the integers.
BOOST_AUTO_TEST_CASE(nothing_is_stored) {
  nn::Linear layer{1024, 1024, {.bias = false}};
  layer.requires_grad_(false);
  register_parametrization(layer, "weight", Dequantize());
  eval(part(layer, 0), part(layer, 1));
  const Tensor x = ones({2, 1024}).eval();
  const auto step = [&] {
    layer(x).eval();
    (void)sum(layer.weight).item<float>();
    layer.weight.eval();
  };
  step();
  for (int i = 0; i < 12; ++i) {
    const uint64_t before = metrics().bytes_live;
    step();
    BOOST_TEST(metrics().bytes_live <= before);
  }
  BOOST_TEST(part(layer, 0).nbytes() == 1024u * 1024u);
}

/// Has all parameters of a copy of the module computed from halves, and compares what f makes of both.
template <class M, class F>
void compare(const char* what, const M& m, const F& f) {
  BOOST_TEST_CONTEXT(what) {
    M other = m;
    for (const auto& [name, p] : other.named_parameters())
      register_parametrization(
          other, name, [](const std::vector<Tensor>& x) { return x[0] * 2; },
          [](const Tensor& x) { return std::vector<Tensor>{x * 0.5}; });
    const std::vector<Tensor> expected = f(m), got = f(other);
    for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(to_string(got[i]) == to_string(expected[i]));
    sum(got[0]).backward();
    sum(expected[0]).backward();
    std::vector<ParameterRef> all = const_cast<M&>(m).parameters(), parts = other.parameters();
    std::map<std::string, Tensor> gradients;
    for (const auto& [name, p] : const_cast<M&>(m).named_parameters()) gradients[name] = p->grad();
    BOOST_TEST(parts.size() == all.size());
    size_t compared = 0;
    for (auto& [name, p] : other.named_parameters()) {
      std::string plain = name;
      for (const char* added : {"parametrizations.", ".original"})
        if (const size_t at = plain.find(added); at != plain.npos) plain.erase(at, std::string(added).size());
      if (!gradients[plain].defined()) continue;
      check::close(p->grad(), (gradients[plain] * 2).to_vector<double>(), 2e-5);
      ++compared;
    }
    BOOST_TEST(compared > 0u);
  }
}

BOOST_AUTO_TEST_CASE(layers_that_return_more) {
  const auto wave = [](const Shape& shape) {
    return sin(reshape(arange(0, numel(shape), 1, float32), shape));
  };
  const Tensor x = wave({5, 2, 4}), one = wave({2, 4});
  const auto first = [&](const auto& layer) {
    const auto r = layer(x);
    return std::vector<Tensor>{r.output};
  };
  compare("RNN", nn::RNN{4, 3}, first);
  compare("GRU", nn::GRU{4, 3, {.num_layers = 2, .bidirectional = true}}, first);
  compare("LSTM", nn::LSTM{4, 3, {.proj_size = 2}}, first);
  const auto once = [&](const auto& layer) { return std::vector<Tensor>{layer(one)}; };
  compare("RNNCell", nn::RNNCell{4, 3}, once);
  compare("GRUCell", nn::GRUCell{4, 3}, once);
  compare("LSTMCell", nn::LSTMCell{4, 3}, [&](const nn::LSTMCell& layer) {
    const auto r = layer(one, {});
    return std::vector<Tensor>{r.h, r.c};
  });
  const auto attend = [&](const nn::MultiheadAttention& layer) {
    return std::vector<Tensor>{layer(x, x, x).output, layer(x, x * 2, x * 3).output};
  };
  compare("MultiheadAttention", nn::MultiheadAttention{4, 2}, attend);
  compare("MultiheadAttention with more", nn::MultiheadAttention{4, 2, {.add_bias_kv = true}}, attend);
  compare("TransformerEncoderLayer", nn::TransformerEncoderLayer{4, 2, {.dim_feedforward = 8, .dropout = 0}},
          [&](const auto& layer) { return std::vector<Tensor>{layer(x)}; });
}

BOOST_AUTO_TEST_CASE(copies_and_moves) {
  nn::Linear layer = doubled(ones({2, 2}));
  const ParameterRef original = part(layer).ref();
  nn::Linear copied = layer;
  nn::Linear moved = std::move(layer);
  BOOST_TEST(original.get() == &part(moved));
  BOOST_TEST(original.get() != &part(copied));
  {
    const no_grad scope;
    *original += 1;
  }
  check::equal(moved.weight, float32, {2, 2}, {3, 3, 3, 3});
  check::equal(copied.weight, float32, {2, 2}, {1, 1, 1, 1});
  sum(copied.weight * moved.weight).backward();
  check::equal(original->grad(), float32, {2, 2}, {2, 2, 2, 2});
  check::equal(part(copied).grad(), float32, {2, 2}, {6, 6, 6, 6});
  // Of a model, and back and forth between those that have one and those that have none.
  nn::Sequential net{nn::Linear{2, 2}, nn::Linear{2, 2}};
  ready::spectral_norm(net.get<nn::Linear>(1));
  nn::Sequential other = net;
  BOOST_TEST(names(other.state_dict()) == names(net.state_dict()));
  const Tensor x = ones({1, 2});
  net.eval(), other.eval();
  BOOST_TEST(net(x).to_vector<float>() == other(x).to_vector<float>(), boost::test_tools::per_element());
  nn::Linear plain{2, 2};
  const nn::Linear kept = plain;
  plain = copied;
  check::equal(plain.weight, float32, {2, 2}, {1, 1, 1, 1});
  BOOST_TEST(is_parametrized(plain));
  plain = kept;
  BOOST_TEST(!is_parametrized(plain));
  BOOST_TEST(to_string(plain.weight) == to_string(kept.weight));
  Parameter alone(moved.weight);
  BOOST_TEST(is_parametrized(alone));
  const Tensor value = std::move(alone);
  check::equal(value * 1, float32, {2, 2}, {3, 3, 3, 3});
  const Parameter of_value = Tensor(moved.weight);
  BOOST_TEST(!is_parametrized(of_value));
}

BOOST_AUTO_TEST_CASE(what_optimizers_refer_to) {
  nn::Linear layer{2, 2, {.bias = false}};
  layer.weight = ones({2, 2});
  optim::SGD optimizer(layer.parameters(), {.lr = 0.5});
  register_parametrization(layer, "weight", [](const Tensor& x) { return x * 2; });
  sum(layer.weight).backward();
  optimizer.step();
  check::equal(part(layer), float32, {2, 2}, {0, 0, 0, 0});
  BOOST_TEST(part(layer).grad().defined());
  remove_parametrizations(layer, "weight", false);
  optimizer.zero_grad();
  sum(layer.weight * 3).backward();
  optimizer.step();
  check::equal(layer.weight, float32, {2, 2}, {-1.5, -1.5, -1.5, -1.5});
  BOOST_TEST(layer.num_parameters() == 4);
}

BOOST_AUTO_TEST_CASE(removing) {
  nn::Linear layer{4, 3};
  const Tensor before = layer.weight;
  ready::weight_norm(layer);
  THROWS(Error, (remove_parametrizations(layer, "weight", false), 0),
         "remove_parametrizations: the parameter has 2 parts: none of them is what it was before");
  remove_parametrizations(layer, "weight");
  check::close(layer.weight, before.to_vector<double>(), 1e-6);
  BOOST_TEST(layer.weight.requires_grad());
  THROWS(Error, (remove_parametrizations(layer, "weight"), 0),
         "remove_parametrizations: the parameter has no parametrization");
  ready::low_rank(layer, "weight", 1);
  {
    const no_grad scope;
    auto& more = dynamic_cast<ready::LowRank&>(parametrizations(layer, "weight")[0]);
    more.lora_A = ones({1, 4});
    more.lora_B = ones({3, 1});
  }
  remove_parametrizations(layer, "weight");
  check::close(layer.weight, (before + 1).to_vector<double>(), 1e-6);
  BOOST_TEST(!layer.weight.requires_grad());
  // The parts were of another dtype.
  register_parametrization(layer, "weight", Dequantize());
  BOOST_TEST((part(layer).dtype() == int8));
  remove_parametrizations(layer, "weight");
  BOOST_TEST((layer.weight.dtype() == float32));
  check::close(layer.weight, (before + 1).to_vector<double>(), 0.02);
}

// Adapters on integers: one parametrization takes what the one before gives.
BOOST_AUTO_TEST_CASE(one_after_the_other) {
  nn::Linear layer{4, 3};
  register_parametrization(layer, "weight", Dequantize());
  ready::low_rank(layer, "weight", 2);
  const std::string expected =
      "bias [3]\nparametrizations.weight.original0 [3, 4]\nparametrizations.weight.original1 [3, 1]\n"
      "parametrizations.weight.1.lora_A [2, 4]\nparametrizations.weight.1.lora_B [3, 2]\n";
  BOOST_TEST(names(layer.state_dict()) == expected);
  sum(layer(ones({2, 4}))).backward();
  BOOST_TEST(!part(layer, 1).grad().defined());
  BOOST_TEST(layer.named_parameters().size() == 5u);
  int64_t trained = 0;
  for (const ParameterRef& p : layer.parameters()) trained += p->requires_grad();
  BOOST_TEST(trained == 3);
  std::ostringstream text;
  text << layer;
  BOOST_TEST(text.str() ==
             "Linear(in_features=4, out_features=3, bias=True  # bias [3]: 3\n"
             "  (parametrizations): ModuleDict(\n"
             "    (weight): ParametrizationList(  # original0 [3, 4], original1 [3, 1]: 15\n"
             "      (0): Dequantize()\n"
             "      (1): LowRank(rank=2, scale=0.5)  # lora_A [2, 4], lora_B [3, 2]: 14\n"
             "    )\n"
             "  )\n"
             ")\n"
             "# 32 parameters, 17 of them trained");
}

BOOST_AUTO_TEST_CASE(moved_to_other_dtypes) {
  nn::Linear layer{4, 3};
  register_parametrization(layer, "weight", Dequantize());
  layer.to(bfloat16);
  BOOST_TEST((layer.weight.dtype() == bfloat16));
  BOOST_TEST((part(layer, 0).dtype() == int8));
  BOOST_TEST((part(layer, 1).dtype() == bfloat16));
  BOOST_TEST((layer(ones({2, 4}, bfloat16)).dtype() == bfloat16));
  layer.to(float64);
  BOOST_TEST((layer.weight.dtype() == float64));
  BOOST_TEST(layer.weight.nbytes() == 96u);
}

BOOST_AUTO_TEST_CASE(evaluation_changes_nothing) {
  manual_seed(1);  // there are weights whose vectors don't change after the first steps
  nn::Linear layer{4, 3};
  ready::spectral_norm(layer);
  const auto u = [&] { return layer.state_dict().at("parametrizations.weight.0._u").to_vector<float>(); };
  const auto first = u();
  layer.eval();
  (void)layer(ones({1, 4})).eval();
  BOOST_TEST(u() == first, boost::test_tools::per_element());
  layer.train();
  layer.to(float32);  // which looks at the value, and so does a copy
  const nn::Linear copied = layer;
  BOOST_TEST(u() == first, boost::test_tools::per_element());
  (void)layer(ones({1, 4})).eval();
  BOOST_TEST((u() != first));
  // The largest singular value of what is read comes near 1.
  for (int i = 0; i < 200; ++i) (void)layer(ones({1, 4})).eval();
  layer.eval();
  BOOST_TEST(matrix_norm(layer.weight, 2).item<float>() == 1.0f, boost::test_tools::tolerance(1e-3f));
}

BOOST_AUTO_TEST_CASE(threads) {
  nn::Linear layer = doubled(reshape(arange(0, 16, 1, float32), {4, 4}));
  layer.eval();
  const Tensor x = ones({1, 4}).eval();
  const std::vector<float> expected = layer(x).to_vector<float>();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int k = 0; k < 50; ++k) wrong += layer(x).to_vector<float>() != expected;
    });
  for (std::thread& t : all) t.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(errors) {
  nn::Linear layer{4, 3};
  const Tensor before = layer.weight;
  THROWS(Error, (register_parametrization(layer, "wait", symmetric), 0),
         "register_parametrization: Linear has no parameter 'wait'");
  THROWS(Error, parametrizations(layer, "weight"), "parametrizations: the parameter has none");
  THROWS(
      ShapeError, (register_parametrization(layer, "weight", [](const Tensor& x) { return x.T(); }), 0),
      "register_parametrization: it makes a value of shape [4, 3] for a parameter of [3, 4]: register it as "
      "unsafe if that is meant");
  THROWS(DtypeError,
         (register_parametrization(layer, "weight", [](const Tensor& x) { return x.to(float64); }), 0),
         "register_parametrization: it makes a value of float64 for a parameter of float32: register it as "
         "unsafe "
         "if that is meant");
  BOOST_TEST(!is_parametrized(layer));
  BOOST_TEST(to_string(layer.weight) == to_string(before));
  THROWS(Error, (ready::low_rank(layer, "weight", 0), 0), "low_rank: a rank of 0: at least 1 is needed");
  THROWS(ShapeError, (ready::low_rank(layer, "bias", 1), 0), "low_rank: a parameter of [3] is no matrix");
  THROWS(IndexError, (ready::weight_norm(layer, "weight", 2), 0),
         "weight_norm: axis 2 is out of range for 2 dimensions");
  THROWS(Error, (ready::spectral_norm(layer, "w"), 0), "spectral_norm: Linear has no parameter 'w'");
  BOOST_TEST(!is_parametrized(layer));

  register_parametrization(layer, "weight", [](const Tensor& x) { return x * 2; });
  const Tensor& w = layer.weight;
  THROWS(Error, w.data<float>(),
         "data: the parameter has a parametrization, and no elements of its own: copy it to a Tensor");
  THROWS(Error, w.grad(), "grad: the parameter has a parametrization: its parts have gradients");
  THROWS(Error, (layer.weight.set_grad(w), 0),
         "set_grad: the parameter has a parametrization: its parts have gradients");
  THROWS(Error, register_post_accumulate_grad_hook(w, {}),
         "register_post_accumulate_grad_hook: the value is computed from others: only a marked one has a "
         "gradient");
  // A function of the library that would forget to read.
  THROWS(Error, lazy::detail::alias_of(w.handle(), Site::current()),
         "parametrization: a parameter that has one was used without being read: pass it as an Arg");
  THROWS(Error, lazy::detail::transfer(w.handle(), w.device(), Site::current()),
         "parametrization: a parameter that has one was used without being read: pass it as an Arg");
  // The second is turned down, the first remains.
  THROWS(
      ShapeError, (register_parametrization(layer, "weight", [](const Tensor& x) { return x.T(); }), 0),
      "register_parametrization: it makes a value of shape [4, 3] for a parameter of [3, 4]: register it as "
      "unsafe if that is meant");
  BOOST_TEST(parametrizations(layer, "weight").size() == 1u);
  check::close(w, (before * 2).to_vector<double>(), 1e-6);
  // What throws in it throws at each reading, and the program goes on.
  bool fails = false;
  register_parametrization(layer, "bias", [&](const Tensor& x) {
    if (fails) throw std::runtime_error("not now");
    return x + 1;
  });
  fails = true;
  BOOST_CHECK_THROW(layer(ones({1, 4})), std::runtime_error);
  BOOST_CHECK_THROW((void)Tensor(layer.bias), std::runtime_error);
  fails = false;
  (void)layer(ones({1, 4})).eval();
}

BOOST_AUTO_TEST_SUITE_END()
