// Tests models that are saved: they are loaded again and give what they gave.
#include "lazy/onnx/save.hpp"

#include <fstream>
#include <iterator>

#include "lazy/nn/nn.hpp"
#include "lazy/quant/quantize.hpp"
#include "tests/common/folder.hpp"
#include "tests/onnx/models.hpp"

using namespace lazy;
using check::close;

namespace {

struct Net : nn::Module {
  nn::Conv2d conv{3, 4, 3, {.padding = 1}};
  nn::BatchNorm2d norm{4};
  nn::Linear head{4, 2};
  LAZY_MODULE(conv, norm, head)
  Tensor operator()(const Tensor& x) {
    const Tensor features = max_pool2d(relu(norm(conv(x))), 2);
    return softmax(head(mean(features, {2, 3})), -1);
  }
};

/// Saves a function of one tensor and returns what the saved model gives for another.
Tensor saved(const std::function<Tensor(const Tensor&)>& f, const Tensor& example, const Tensor& x,
             bool dynamic = false) {
  const lazy::test::Folder folder;
  onnx::save([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0])}; }, {}, {example},
             folder / "m.onnx", {.dynamic_batch = dynamic});
  return onnx::load(folder / "m.onnx")(x).eval();
}
void holds(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const Tensor expected = f(x), found = saved(f, x, x);
  BOOST_TEST(found.dtype() == expected.dtype());
  BOOST_TEST(found.shape() == expected.shape());
  close(found, expected.to_vector<double>(), 1e-5);
}
void holds_for_any_batch(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const Tensor expected = f(x);
  close(saved(f, narrow(x, 0, 0, 1), x, true), expected.to_vector<double>(), 1e-5);
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return {};
}

Tensor wave(const Shape& shape) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * 0.37f).eval();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(onnx_save)

BOOST_AUTO_TEST_CASE(a_network_for_one_batch_and_for_any) {
  const lazy::test::Folder folder;
  Net net;
  net.eval();
  const Tensor x = wave({2, 3, 6, 6});
  reset_metrics();
  onnx::save(net, x, folder / "one.onnx");
  BOOST_TEST(metrics().calls == 0u);
  onnx::Model one = onnx::load(folder / "one.onnx");
  const NamedTensors state = one.state_dict();
  for (const char* const name : {"conv.weight", "conv.bias", "norm.running_var", "head.weight"})
    BOOST_TEST(array_equal(state.at(name), net.state_dict().at(name)).item<bool>());
  const no_grad scope;
  close(one(x), net(x).to_vector<double>(), 1e-6);
  onnx::save(net, x, folder / "any.onnx",
             {.inputs = {"image"}, .outputs = {"scores"}, .dynamic_batch = true});
  const onnx::Model any = onnx::load(folder / "any.onnx");
  BOOST_TEST(std::get<std::string>((*any.inputs()[0].shape)[0]) == "batch");
  BOOST_TEST(std::get<std::string>((*any.outputs()[0].shape)[0]) == "batch");
  for (const int64_t rows : {1, 5})
    close(any({{"image", wave({rows, 3, 6, 6})}}).at("scores"),
          net(wave({rows, 3, 6, 6})).to_vector<double>(), 1e-6);
}

struct Small : nn::Module {
  nn::Conv2d first{1, 6, 3, {.padding = 1}};
  nn::Linear hidden{6 * 64, 64};
  nn::Linear head{64, 4, {.bias = false}};
  LAZY_MODULE(first, hidden, head)
  Tensor operator()(const Tensor& x) const {
    return head(relu(hidden(relu(first(x)).reshape({x.size(0), 6 * 64}))));
  }
};

BOOST_AUTO_TEST_CASE(layers_of_integers) {
  manual_seed(31);
  quant::Config balanced = quant::int8_fixed(), affine = quant::int8_weights(), zeros = quant::int8_fixed(),
                few = quant::int8_fixed();
  zeros.activation_scheme = {.is_signed = false, .symmetric = false};
  few.activation_scheme.bits = 6;  // no node says so
  balanced.balance = 0.5;
  affine.weights.symmetric = false;
  struct Kind {
    const char* name;
    quant::Config config;
    size_t quantize, dequantize;  // nodes
  };
  const Kind kinds[] = {{"int8 weights", quant::int8_weights(), 0, 3},
                        {"affine weights", affine, 0, 3},
                        {"dynamic", quant::int8_dynamic(), 0, 3},
                        {"fixed", quant::int8_fixed(), 3, 6},
                        {"balanced", balanced, 3, 6},
                        {"uint8 with zero points", zeros, 3, 6},
                        {"fixed, 6 bits", few, 0, 3},
                        {"int4 weights", quant::int4_weights(32), 0, 0},
                        {"e4m3", quant::float8_weights(), 0, 0}};
  for (const Kind& kind : kinds) BOOST_TEST_CONTEXT(kind.name) {
      const lazy::test::Folder folder;
      const no_grad scope;
      Small net;
      const Tensor x = randn({5, 1, 8, 8}).eval();
      quant::prepare_(net, kind.config);
      (void)net(x).eval();
      quant::convert_(net);
      onnx::save(net, x, folder / "m.onnx", {.dynamic_batch = true});
      onnx::Model model = onnx::load(folder / "m.onnx");
      for (const int64_t rows : {5, 2}) {
        const Tensor y = net(narrow(x, 0, 0, rows));
        close(model(narrow(x, 0, 0, rows)), y.to_vector<double>(),
              kind.config.activations == quant::Activations::fixed ? 0.02 : 2e-5);
      }
      std::ifstream in(folder / "m.onnx", std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      const auto count = [&](const std::string& op) {
        size_t n = 0;
        const std::string field = "\x22" + std::string(1, static_cast<char>(op.size())) + op;
        for (size_t at = 0; (at = bytes.find(field, at)) != std::string::npos; ++at) ++n;
        return n;
      };
      BOOST_TEST(count("QuantizeLinear") == kind.quantize);
      BOOST_TEST(count("DequantizeLinear") == kind.dequantize);
      // The file holds integers: float32 would take 100 KB.
      BOOST_TEST(bytes.size() < 45000u);
    }
}

BOOST_AUTO_TEST_CASE(values_of_initializers_are_aligned) {
  const lazy::test::Folder folder;
  const std::vector<float> w = {1.5f, 2.5f, 3.5f};
  const Tensor weight = from_span(w);
  onnx::save([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] * weight}; },
             {{"w", weight}}, {ones({3})}, folder / "m.onnx");
  std::ifstream in(folder / "m.onnx", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const size_t at =
      bytes.find(std::string(reinterpret_cast<const char*>(w.data()), sizeof(float) * w.size()));
  BOOST_REQUIRE(at != std::string::npos);
  BOOST_TEST(at % 64 == 0u);
}

BOOST_AUTO_TEST_CASE(ops) {
  const Tensor x = wave({4, 6});
  holds([](const Tensor& t) { return gelu(t) + log1p(abs(t)) - expm1(t) * rsqrt(t * t + 1.0f); }, x);
  holds([](const Tensor& t) { return where(t > 0.25f, trunc(t * 3.0f), floor(t)); }, x);
  holds([](const Tensor& t) { return logical_and(t > 0.0f, isfinite(t)); }, x);
  holds([](const Tensor& t) { return concat({t, t * 2.0f, exp(t)}, 1); }, x);
  holds([](const Tensor& t) { return flip(t, 1)(_, slice(1, 6, 2)); }, x);
  holds([](const Tensor& t) { return pad(t, {{1, 2}, {0, 3}}); }, x);
  holds([](const Tensor& t) { return argmax(t, 1) + argmin(t, 1); }, x);
  holds([](const Tensor& t) { return cumsum(t, 1); }, x);
  holds([](const Tensor& t) { return var(t, 0) + max(t, 0) * prod(t, 0); }, x);
  holds([](const Tensor& t) { return matmul(t, swapaxes(t, 0, 1)).reshape({2, 8}); }, x);
  holds([](const Tensor& t) { return tril(matmul(t, swapaxes(t, 0, 1))); }, x);
  holds([](const Tensor& t) { return avg_pool2d(reshape(t, {1, 1, 4, 6}), 2); }, x);
  holds(
      [](const Tensor& t) {
        return scaled_dot_product_attention(reshape(t, {1, 4, 6}), reshape(t, {1, 4, 6}),
                                            reshape(t, {1, 4, 6}));
      },
      x);
  holds([](const Tensor& t) { return t.to(int64); }, x * 5.0f);
  holds(
      [](const Tensor& t) {
        return take(t, from_span(std::vector<int64_t>{1, -1, 7}), 0, Bounds::wrap);
      },
      x);
  // Numbers that are as good as equal in six digits are two.
  holds([](const Tensor& t) { return t * 1e-9f + 2e-9f + t * 3e-9f; }, x * 1e9f);
}

BOOST_AUTO_TEST_CASE(extents_that_follow_from_the_batch) {
  const Tensor x = wave({5, 2, 4}), token = wave({1, 1, 4});
  holds_for_any_batch([](const Tensor& t) { return reshape(t, {-1, 4}) * 2.0f; }, x);
  holds_for_any_batch([&](const Tensor& t) { return concat({expand(token, {t.size(0), 1, 4}), t}, 1); }, x);
  holds_for_any_batch(
      [](const Tensor& t) {
        return t + reshape(arange(0, t.size(0), 1, float32), {-1, 1, 1});
      },
      x);
  holds_for_any_batch([](const Tensor& t) { return permute(t, {1, 0, 2})(_, slice(1, none), _); }, x);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_saved_is_listed_and_nothing_is_written) {
  const lazy::test::Folder folder;
  const auto save = [&](const std::function<Tensor(const Tensor&)>& f, bool dynamic = false) {
    return message([&] {
      onnx::save([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0])}; }, {},
                 {ones({4, 4})}, folder / "m.onnx", {.dynamic_batch = dynamic});
    });
  };
  const std::string text = save([](const Tensor& t) { return copysign(sort(t, 1).values, atan2(t, t)); });
  for (const char* const part : {"the model can't be saved:\n", "sort of", "copysign of", "atan2 of"})
    BOOST_TEST((text.find(part) != text.npos), text);
  const std::string read = save([](const Tensor& t) { return t * sum(t).item<float>(); });
  BOOST_TEST(!read.empty());
  const std::string rows =
      save([](const Tensor& t) { return reshape(t, {-1})(slice(0, t.size(0) + 1)); }, true);
  BOOST_TEST((rows.find("which is no multiple of them") != rows.npos), rows);
  const std::string made = save(
      [](const Tensor& t) {
        return t * from_span(std::vector<float>(static_cast<size_t>(t.size(0)), 2.0f)).reshape({-1, 1});
      },
      true);
  BOOST_TEST((made.find("depends on the number of rows") != made.npos), made);
  BOOST_TEST(!std::ifstream(folder / "m.onnx").good());
}

BOOST_AUTO_TEST_SUITE_END()
