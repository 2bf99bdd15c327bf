// Tests models in the ONNX format whose weights became integers: which do, and what the model gives then.
#include "lazy/onnx/quantize.hpp"

#include <cmath>

#include "lazy/inference/session.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/onnx/models.hpp"

using namespace lazy;
using namespace onnx_test;

namespace {

/// Returns numbers of [-1, 1).
std::vector<float> numbers(uint64_t seed, size_t n) {
  Generator g(seed);
  return (rand(g, {static_cast<int64_t>(n)}) * 2 - 1).to_vector<float>();
}

/// Returns a model that multiplies rows of 24 by weights in each way that there is.
Graph all_ways(uint64_t seed) {
  Graph g;
  g.inputs = {value("x", {"rows", "24"})};
  g.outputs = {any("y"), any("z")};
  g.initializers = {floats("product", {24, 16}, numbers(seed, 24 * 16)),
                    floats("lying", {16, 12}, numbers(seed + 1, 16 * 12)),
                    floats("upright", {8, 12}, numbers(seed + 2, 8 * 12)),
                    floats("bias", {8}, numbers(seed + 3, 8)),
                    floats("kernel", {4, 1, 3, 3}, numbers(seed + 4, 36)),
                    floats("shared", {24, 24}, numbers(seed + 5, 576)),
                    ints("image", {-1, 1, 2, 4})};
  g.nodes = {
      node("MatMul", {"x", "product"}, {"a"}),
      node("Gemm", {"a", "lying"}, {"b"}),
      node("Gemm", {"b", "upright", "bias"}, {"c"}, {attribute("transB", 1), attribute("alpha", 0.5f)}),
      node("Reshape", {"c", "image"}, {"d"}),
      node("Conv", {"d", "kernel"}, {"y"}, {attribute("pads", std::vector<int64_t>{1, 1, 1, 1})}),
      node("MatMul", {"x", "shared"}, {"e"}),
      node("Add", {"e", "shared"}, {"f"}),
      node("ReduceSum", {"f"}, {"z"})};
  return g;
}

double relative(const Tensor& found, const Tensor& expected) {
  const Tensor d = found - expected;
  return std::sqrt(sum(d * d).item<float>() / sum(expected * expected).item<float>());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(onnx_quantize)

BOOST_AUTO_TEST_CASE(weights_of_products_become_integers) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  const Tensor x = Tensor(numbers(seed + 9, 24 * 24), {24, 24});
  for (const auto& config : {quant::int8_weights(), quant::int8_dynamic(), quant::float8_weights()}) {
    BOOST_TEST_CONTEXT(quant::to_string(config)) {
      onnx::Model m = load_model(all_ways(seed));
      const std::vector<Tensor> before = m(std::vector<Tensor>{x});
      const auto done = onnx::quantize_(m, config);
      std::vector<std::string> names;
      for (const quant::Change& c : done) names.push_back(c.layer);
      BOOST_TEST((names == std::vector<std::string>{"product", "lying", "upright", "kernel"}));
      BOOST_TEST(done[0].bytes_before == 24 * 16 * 4);
      BOOST_TEST(done[0].bytes_after == 24 * 16 + 16 * 4);
      const std::vector<Tensor> after = m(std::vector<Tensor>{x});
      const double apart = relative(after[0], before[0]);
      BOOST_TEST(apart > 0);
      BOOST_TEST(apart < (config.weights.is_float8() ? 0.1 : 0.03));
      BOOST_TEST(relative(after[1], before[1]) == 0);
      BOOST_TEST(onnx::quantize_(m, config).empty());  // nothing is left to do
      // The same in a session, in a copy, and with the integers of a state dictionary.
      onnx::Model copy = m;
      const auto same = [&](const std::vector<Tensor>& r) { return relative(r[0], after[0]) < 1e-6; };
      BOOST_TEST(same(copy(std::vector<Tensor>{x})));
      auto session = inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(m);
      BOOST_TEST(same(session({x})));
      onnx::Model other = load_model(all_ways(seed + 100));
      onnx::quantize_(other, config);
      other.load_state_dict(m.state_dict());
      BOOST_TEST(same(other(std::vector<Tensor>{x})));
    }
  }
}

BOOST_AUTO_TEST_CASE(products_are_by_the_integers) {
  Graph g;
  g.inputs = {value("x", {"1", "2"})};
  g.outputs = {any("y")};
  // The scales are the largest of the columns by 127.5: 1 and 2.
  g.initializers = {floats("w", {2, 2}, {127.5f, 255, -3.4f, 5.1f})};
  g.nodes = {node("MatMul", {"x", "w"}, {"y"})};
  onnx::Model m = load_model(g);
  onnx::quantize_(m);
  const Tensor y = m(Tensor(std::vector<float>{1, 10}, {1, 2}));
  BOOST_TEST(y.to_vector<float>() == (std::vector<float>{127 - 30, 254 + 60}),
             boost::test_tools::per_element());
}

/// Returns integers of 0 to 255, as bytes.
std::vector<uint8_t> bytes(uint64_t seed, size_t n) {
  Generator g(seed);
  return randint(g, 0, 256, {static_cast<int64_t>(n)}).astype(uint8).to_vector<uint8_t>();
}

/// Describes weights of a layer whose sides are both dequantised.
struct Kind {
  const char* name;
  Type type;           // of the weights
  bool by_channel;     // scales
  uint8_t zero_point;  // of the weights
  bool by_integers;    // is what it is about
};

BOOST_AUTO_TEST_CASE(dequantised_sides_are_multiplied_as_integers) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  constexpr int64_t kIn = 3, kOut = 5, kDepth = 48;  // channels of the image, outputs, elements of a row
  for (const Kind& kind : {Kind{"int8 by channel", kInt8, true, 0, true}, Kind{"int8", kInt8, false, 0, true},
                           Kind{"uint8 around 128", kUint8, false, 128, true},
                           Kind{"uint8 around 100", kUint8, false, 100, false}})
    for (const int zero : {0, 77})
      for (const char* const op : {"MatMul", "Gemm", "Conv"})
        BOOST_TEST_CONTEXT(kind.name << " " << zero << " " << op) {
          const bool conv = op[0] == 'C', upright = op[0] != 'M';
          const std::vector<int64_t> shape = conv      ? std::vector<int64_t>{kOut, kIn, 3, 2}
                                             : upright ? std::vector<int64_t>{kOut, kDepth}
                                                       : std::vector<int64_t>{kDepth, kOut};
          const size_t scales = kind.by_channel ? kOut : 1;
          std::vector<float> scale = numbers(seed + 1, scales);
          for (float& f : scale) f = std::abs(f) * 0.02f + 0.01f;
          const std::vector<int64_t> of_scales =
              kind.by_channel ? std::vector<int64_t>{kOut} : std::vector<int64_t>{};
          const auto weights = bytes(seed + 2, static_cast<size_t>(kOut * (conv ? kIn * 6 : kDepth)));
          Graph g;
          g.inputs = {any("x")};
          g.outputs = {any("y")};
          g.initializers = {
              floats("x_scale", {}, {0.05f}),
              tensor("x_zero", kUint8, {}, std::vector<uint8_t>{static_cast<uint8_t>(zero)}),
              tensor("w", kind.type, shape, weights),
              floats("w_scale", of_scales, scale),
              tensor("w_zero", kind.type, of_scales, std::vector<uint8_t>(scales, kind.zero_point)),
              tensor("b_integers", kInt32, {kOut}, std::vector<int32_t>{7, -3, 100, 0, 55})};
          g.nodes = {
              node("DequantizeLinear", {"b_integers", "x_scale"}, {"b"}),  // of one axis, which is not 1
              node("QuantizeLinear", {"x", "x_scale", "x_zero"}, {"q"}),
              node("DequantizeLinear", {"q", "x_scale", "x_zero"}, {"near"}),
              node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"v"},
                   {attribute("axis", op[0] == 'M' ? 1 : 0)}),
              conv      ? node(op, {"near", "v", "b"}, {"y"},
                               {attribute("pads", std::vector<int64_t>{1, 0, 1, 1}),
                                attribute("strides", std::vector<int64_t>{1, 2})})
              : upright ? node(op, {"near", "v", "b"}, {"y"}, {attribute("transB", 1)})
                        : node(op, {"near", "v"}, {"y"})};
          onnx::Model m = load_model(g);
          const Shape given = conv ? Shape{2, kIn, 6, 7} : Shape{4, kDepth};
          const Tensor x = (Tensor(numbers(seed + 4, static_cast<size_t>(numel(given))), given) * 6).eval();
          const Tensor y = m(x);
          // In integers of 64 bits.
          const Tensor q = clip(round(x / 0.05f) + zero, 0, 255).astype(int64) - zero;
          Tensor w = from_span(std::span<const uint8_t>(weights), Shape(std::span<const int64_t>(shape)));
          w = kind.type == kInt8 ? where(w > 127, w.astype(int64) - 256, w.astype(int64)) : w.astype(int64);
          w = w - static_cast<int64_t>(kind.zero_point);
          const Tensor factor = Tensor(scale, {static_cast<int64_t>(scales)}) * 0.05f,
                       b = tensor({7, -3, 100, 0, 55}).astype(float32) * 0.05f;
          Tensor expected;
          if (conv) {
            const Tensor image = pad(q, {0, 1, 1, 1});
            expected = lazy::conv(image, w, {.stride = {1, 2}}).astype(float32) * factor.reshape({-1, 1, 1}) +
                       b.reshape({-1, 1, 1});
          } else {
            expected = matmul(q, upright ? w.T() : w).astype(float32) * factor;
            if (upright) expected = expected + b;
          }
          if (kind.by_integers)
            BOOST_TEST(y.to_vector<float>() == expected.to_vector<float>(), boost::test_tools::per_element());
          else BOOST_TEST(relative(y, expected) < 1e-5);
        }
}

BOOST_AUTO_TEST_CASE(weights_in_branches) {
  Graph g = Graph{.inputs = {any("x"), value("on", {}, kBool)},
                  .outputs = {any("y")},
                  .nodes = {},
                  .initializers = {floats("w", {8, 8}, numbers(1, 64)), floats("v", {8, 8}, numbers(2, 64))}};
  const auto branch = [](const char* op, const char* weights) {
    return Graph{.inputs = {}, .outputs = {any("r")}, .nodes = {node(op, {"x", weights}, {"r"})}}.message();
  };
  g.nodes = {node("If", {"on"}, {"y"},
                  {graph_attribute("then_branch", branch("MatMul", "w")),
                   graph_attribute("else_branch", branch("Add", "v"))})};
  onnx::Model m = load_model(g);
  const NamedTensors in{{"x", Tensor(numbers(3, 64), {8, 8})}, {"on", full({}, true, bool_)}};
  const Tensor before = m(in).begin()->second;
  const auto done = onnx::quantize_(m);
  BOOST_TEST(done.size() == 1u);
  BOOST_TEST(done[0].layer == "w");
  const double apart = relative(m(in).begin()->second, before);
  BOOST_TEST(apart > 0);
  BOOST_TEST(apart < 0.03);
}

BOOST_AUTO_TEST_CASE(errors) {
  onnx::Model none;
  test::fails_at<Error>("quantize.cpp", __LINE__ + 1, "quantize_: the model is default-constructed",
                        [&] { onnx::quantize_(none); });
  onnx::Model m = load_model(all_ways(1));
  test::fails_at<Error>("quantize.cpp", __LINE__ + 1, "quantize_: fixed activations of product",
                        [&] { onnx::quantize_(m, quant::int8_fixed()); });
  BOOST_TEST(onnx::quantize_(m).size() == 4u);  // it changed nothing
}

BOOST_AUTO_TEST_SUITE_END()
