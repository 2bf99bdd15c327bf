// Tests operators, a few of each family, against values known by hand; tools/onnx_cases runs the format's own
// cases.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/onnx/models.hpp"

using namespace lazy;
using namespace onnx_test;
using check::close;
using check::equal;

BOOST_AUTO_TEST_SUITE(onnx_operators)

BOOST_AUTO_TEST_CASE(elementwise) {
  equal(run(node("Div", {"a", "b"}, {"y"}), {tensor({-7, 7}, int32), tensor({2, -2}, int32)}, kInt32), int32,
        {2}, {-3, -3});
  equal(run(node("Mod", {"a", "b"}, {"y"}), {tensor({-7, 7}, int32), tensor({3, -3}, int32)}, kInt32), int32,
        {2}, {2, -2});
  equal(
      run(node("Mod", {"a", "b"}, {"y"}, {attribute("fmod", 1)}), {tensor({-7.f, 7.f}), tensor({3.f, -3.f})}),
      float32, {2}, {-1, 1});
  equal(run(node("Pow", {"a", "b"}, {"y"}), {tensor({2, 3}, int32), tensor({2.f, 3.f})}, kInt32), int32, {2},
        {4, 27});
  equal(run(node("Clip", {"a", "", "b"}, {"y"}), {tensor({-5.f, 5.f}), tensor(1.f)}), float32, {2}, {-5, 1});
  equal(run(node("Clip", {"a"}, {"y"}, {attribute("min", -1.f), attribute("max", 1.f)}),
            {tensor({-5.f, 5.f})}, kFloat, 6),
        float32, {2}, {-1, 1});
  equal(run(node("Add", {"a", "b"}, {"y"}, {attribute("axis", 0), attribute("broadcast", 1)}),
            {zeros({2, 3}), tensor({1.f, 2.f})}, kFloat, 6),
        float32, {2, 3}, {1, 1, 1, 2, 2, 2});
  equal(run(node("Cast", {"a"}, {"y"}, {attribute("to", kInt32)}), {tensor({1.9f, -1.9f})}, kInt32), int32,
        {2}, {1, -1});
}

BOOST_AUTO_TEST_CASE(activations) {
  // Before version 13 the axes from `axis` on are one.
  const Tensor x = zeros({2, 2, 2});
  close(run(node("Softmax", {"a"}, {"y"}), {x}, kFloat, 11), std::vector<double>(8, 0.25), 1e-6);
  close(run(node("Softmax", {"a"}, {"y"}), {x}, kFloat, 13), std::vector<double>(8, 0.5), 1e-6);
  equal(run(node("Hardmax", {"a"}, {"y"}), {tensor({{3.f, 3.f, 1.f}})}), float32, {1, 3}, {1, 0, 0});
  equal(run(node("PRelu", {"a", "b"}, {"y"}), {tensor({{-2.f, 2.f}}), tensor({3.f, 5.f})}), float32, {1, 2},
        {-6, 2});
}

BOOST_AUTO_TEST_CASE(reductions) {
  const Tensor x = reshape(arange(0, 6, 1, float32), {2, 3});
  equal(run(node("ReduceSum", {"a"}, {"y"}), {x}), float32, {1, 1}, {15});
  equal(run(node("ReduceSum", {"a", "b"}, {"y"}, {attribute("keepdims", 0)}), {x, tensor({1})}), float32, {2},
        {3, 12});
  equal(run(node("ReduceMax", {"a"}, {"y"},
                 {attribute("axes", std::vector<int64_t>{-1}), attribute("keepdims", 0)}),
            {x}),
        float32, {2}, {2, 5});
  equal(run(node("ReduceSum", {"a", "b"}, {"y"}, {attribute("noop_with_empty_axes", 1)}),
            {x, zeros({0}, int64)}),
        float32, {2, 3}, {0, 1, 2, 3, 4, 5});
  equal(run(node("ArgMax", {"a"}, {"y"}, {attribute("axis", 1), attribute("select_last_index", 1)}),
            {ones({1, 3})}, kInt64),
        int64, {1, 1}, {2});
  equal(run(node("CumSum", {"a", "b"}, {"y"}, {attribute("exclusive", 1), attribute("reverse", 1)}),
            {tensor({1.f, 2.f, 3.f}), tensor(0)}),
        float32, {3}, {5, 3, 0});
}

BOOST_AUTO_TEST_CASE(shapes_and_indices) {
  const Tensor x = reshape(arange(0, 6, 1, float32), {2, 3});
  equal(run(node("Slice", {"a", "b", "c", "d", "e"}, {"y"}),
            {x, tensor({-1}), tensor({-100}), tensor({1}), tensor({-2})}),
        float32, {2, 2}, {2, 0, 5, 3});
  equal(run(node("Pad", {"a", "b"}, {"y"}, {attribute("mode", "reflect")}), {x, tensor({0, 1, 0, -1})}),
        float32, {2, 3}, {1, 0, 1, 4, 3, 4});
  equal(run(node("Gather", {"a", "b"}, {"y"}, {attribute("axis", 1)}), {x, tensor({-1})}), float32, {2, 1},
        {2, 5});
  equal(run(node("GatherND", {"a", "b"}, {"y"}, {attribute("batch_dims", 1)}), {x, tensor({{2}, {0}})}),
        float32, {2}, {2, 3});
  equal(run(node("ScatterND", {"a", "b", "c"}, {"y"}, {attribute("reduction", "add")}),
            {zeros({3}), tensor({{1}, {1}}), tensor({2.f, 3.f})}),
        float32, {3}, {0, 5, 0});
  equal(run(node("ScatterElements", {"a", "b", "c"}, {"y"}), {zeros({2, 3}), tensor({{1}}), tensor({{9.f}})}),
        float32, {2, 3}, {0, 0, 0, 9, 0, 0});
  equal(run(node("OneHot", {"a", "b", "c"}, {"y"}), {tensor({0, -1}), tensor(3), tensor({2.f, 5.f})}),
        float32, {2, 3}, {5, 2, 2, 2, 2, 5});
  equal(run(node("DepthToSpace", {"a"}, {"y"}, {attribute("blocksize", 2)}),
            {reshape(arange(0, 4, 1, float32), {1, 4, 1, 1})}),
        float32, {1, 1, 2, 2}, {0, 1, 2, 3});
}

BOOST_AUTO_TEST_CASE(windows) {
  const Tensor x = reshape(arange(1, 10, 1, float32), {1, 1, 3, 3}), w = ones({1, 1, 2, 2});
  equal(run(node("Conv", {"a", "b"}, {"y"}, {attribute("auto_pad", "SAME_UPPER")}), {x, w}), float32,
        {1, 1, 3, 3}, {12, 16, 9, 24, 28, 15, 15, 17, 9});
  equal(run(node("Conv", {"a", "b"}, {"y"}, {attribute("pads", std::vector<int64_t>{1, 0, 0, 0})}), {x, w}),
        float32, {1, 1, 3, 2}, {3, 5, 12, 16, 24, 28});
  const std::vector<int64_t> two{2, 2};
  equal(run(node("MaxPool", {"a"}, {"y"},
                 {attribute("kernel_shape", two), attribute("strides", two), attribute("ceil_mode", 1)}),
            {x}),
        float32, {1, 1, 2, 2}, {5, 6, 8, 9});
  equal(run(node("AveragePool", {"a"}, {"y"},
                 {attribute("kernel_shape", two), attribute("pads", std::vector<int64_t>{0, 0, 1, 1})}),
            {x}),
        float32, {1, 1, 3, 3}, {3, 4, 4.5, 6, 7, 7.5, 7.5, 8.5, 9});
  const onnx::Model indices =
      load_model(Graph{.inputs = {any("x")},
                       .outputs = {any("y"), any("i", kInt64)},
                       .nodes = {node("MaxPool", {"x"}, {"y", "i"},
                                      {attribute("kernel_shape", two),
                                       attribute("pads", std::vector<int64_t>{1, 1, 0, 0})})}});
  const Tensor images = concat({x, negative(x)}, 1);
  equal(indices({{"x", images}}).at("i"), int64, {1, 2, 3, 3},
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 9, 9, 10, 12, 12, 13});
  equal(run(node("ConvTranspose", {"a", "b"}, {"y"},
                 {attribute("output_shape", std::vector<int64_t>{5, 5}), attribute("strides", two)}),
            {ones({1, 1, 2, 2}), ones({1, 1, 2, 2})}),
        float32, {1, 1, 5, 5}, {1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(contractions) {
  const Tensor a = reshape(arange(0, 6, 1, float32), {2, 3}), b = ones({2, 3});
  equal(run(node("Gemm", {"a", "b", "c"}, {"y"},
                 {attribute("transB", 1), attribute("alpha", 2.f), attribute("beta", 3.f)}),
            {a, b, tensor({1.f, 2.f})}),
        float32, {2, 2}, {9, 12, 27, 30});
  equal(run(node("Gemm", {"a", "b", "c"}, {"y"}, {attribute("transB", 1)}), {a, b, tensor({1.f, 2.f})}),
        float32, {2, 2}, {4, 5, 13, 14});
  equal(run(node("Einsum", {"a", "b"}, {"y"}, {attribute("equation", "...ij, ...kj -> ...ik")}), {a, b}),
        float32, {2, 2}, {3, 3, 12, 12});
}

BOOST_AUTO_TEST_CASE(quantised) {
  equal(run(node("QuantizeLinear", {"a", "b", "c"}, {"y"}),
            {tensor({-1.f, 0.5f, 1.5f, 300.f, -300.f}), tensor(1.f), tensor(128, uint8)}, kUint8),
        uint8, {5}, {127, 128, 130, 255, 0});
  equal(run(node("DequantizeLinear", {"a", "b", "c"}, {"y"}, {attribute("axis", 0)}),
            {tensor({0, 255}, uint8), tensor({2.f, 0.5f}), tensor({128, 0}, uint8)}),
        float32, {2}, {-256, 127.5});
  equal(run(node("MatMulInteger", {"a", "b", "c"}, {"y"}),
            {full({1, 300}, 255, uint8), full({300, 1}, -128, int8), tensor(1, uint8)}, kInt32),
        int32, {1, 1}, {-9753600});
  equal(
      run(node("ConvInteger", {"a", "b", "c"}, {"y"}, {attribute("pads", std::vector<int64_t>{1, 1, 1, 1})}),
          {full({1, 1, 1, 1}, 5, uint8), ones({1, 1, 3, 3}, uint8), tensor(2, uint8)}, kInt32),
      int32, {1, 1, 1, 1}, {3});
}

// Sums of rows and columns take out zero points of every form; a sum of differences is the same to the bit.
BOOST_AUTO_TEST_CASE(integer_products_are_exact) {
  const Tensor a = randint(0, 256, {2, 5, 300}).astype(uint8), b = randint(-128, 128, {300, 4}).astype(int8);
  const Tensor row_zeros = tensor({1, 2, 3, 4, 255}, uint8), column_zeros = tensor({-128, 0, 1, 127}, int8);
  const auto expected = [&](const Tensor& za, const Tensor& zb) {
    return matmul(a.astype(int32) - za.astype(int32), b.astype(int32) - zb.astype(int32));
  };
  const auto found = [&](const Tensor& za, const Tensor& zb) {
    return run(node("MatMulInteger", {"a", "b", "c", "d"}, {"y"}), {a, b, za, zb}, kInt32);
  };
  const Tensor one = tensor(uint8_t{200}), two = tensor(int8_t{-100});
  check::same(found(one, two), expected(one, two));
  check::same(found(row_zeros, column_zeros), expected(row_zeros.reshape({5, 1}), column_zeros));
  check::same(run(node("MatMulInteger", {"a", "b", "c"}, {"y"}), {a, b, one}, kInt32),
              expected(one, tensor(int8_t{0})));
  check::same(run(node("MatMulInteger", {"a", "b"}, {"y"}), {a, b}, kInt32),
              expected(tensor(uint8_t{0}), tensor(int8_t{0})));
}

BOOST_AUTO_TEST_CASE(recurrent) {
  // The unit's weights are 0: its state halves at each step, the update gate being 0.5.
  const Tensor x = zeros({3, 1, 1}), w = zeros({1, 3, 1}), h = ones({1, 1, 1});
  const onnx::Model m = load_model(Graph{
      .inputs = {any("x"), any("w"), any("r"), any("h"), any("n", kInt32)},
      .outputs = {any("y"), any("s")},
      .nodes = {node("GRU", {"x", "w", "r", "", "n", "h"}, {"y", "s"}, {attribute("hidden_size", 1)})}});
  const auto results = m(std::vector<Tensor>{x, w, w, h, tensor({2}, int32)});
  equal(results[0], float32, {3, 1, 1, 1}, {0.5, 0.25, 0});
  equal(results[1], float32, {1, 1, 1}, {0.25});
}

// Elements that are known while ops are recorded are computed at once, by other code: an op of initializers
// gives what it gives of inputs.
BOOST_AUTO_TEST_CASE(known_elements_give_what_tensors_give) {
  const auto integers = [](const Message& m, int type = kInt64) {
    return std::pair(m, static_cast<Type>(type));
  };
  const std::vector<int64_t> a{-7, 5, 0, 12}, b{2, -3, 4, 12}, places{3, 0, -1};
  const auto binary_of = [&](const char* op, int type = kInt64) {
    return integers(node(op, {"a", "b"}, {"y"}), type);
  };
  const auto unary_of = [&](const char* op) { return integers(node(op, {"a"}, {"y"})); };
  const std::vector<std::pair<Message, Type>> nodes{
      binary_of("Add"),
      binary_of("Sub"),
      binary_of("Mul"),
      binary_of("Max"),
      binary_of("Min"),
      binary_of("Equal", kBool),
      binary_of("Less", kBool),
      binary_of("LessOrEqual", kBool),
      binary_of("Greater", kBool),
      binary_of("GreaterOrEqual", kBool),
      binary_of("Div"),
      binary_of("Mod"),
      unary_of("Neg"),
      unary_of("Abs"),
      unary_of("Size"),
      unary_of("Shape"),
      unary_of("NonZero"),
      unary_of("ReduceSum"),
      unary_of("ReduceProd"),
      unary_of("ReduceMax"),
      unary_of("ReduceMin"),
      unary_of("Identity"),
      unary_of("Transpose"),
      integers(node("Gather", {"a", "places"}, {"y"})),
      integers(node("Concat", {"a", "b", "places"}, {"y"}, {attribute("axis", 0)})),
      integers(node("Slice", {"a", "from", "to", "axes", "steps"}, {"y"})),
      integers(node("Unsqueeze", {"a", "axes"}, {"y"})),
      integers(node("Expand", {"a", "wide"}, {"y"})),
      integers(node("Reshape", {"a", "square"}, {"y"})),
      integers(node("Split", {"a", "sizes"}, {"y", "z"})),
      integers(node("Range", {"one", "end", "two"}, {"y"})),
      integers(node("Cast", {"a"}, {"y"}, {attribute("to", kBool)}), kBool),
      integers(node("Cast", {"a"}, {"y"}, {attribute("to", kUint8)}), kUint8)};
  const std::vector<std::pair<std::string, std::vector<int64_t>>> values{
      {"a", a},      {"b", b},        {"places", places}, {"from", {-1}},      {"to", {-100}},
      {"axes", {0}}, {"steps", {-2}}, {"wide", {2, 4}},   {"square", {2, -1}}, {"sizes", {1, 3}}};
  for (const auto& [n, type] : nodes) {
    Graph known{.inputs = {}, .outputs = {any("y", type)}, .nodes = {n}}, given = known;
    NamedTensors inputs;
    for (const auto& [name, v] : values) {
      known.initializers.push_back(ints(name, v));
      given.inputs.push_back(any(name, kInt64));
      inputs.set(name, from_span(v));
    }
    for (const auto& [name, v] : {std::pair("one", 1), std::pair("end", 8), std::pair("two", 2)}) {
      known.initializers.push_back(tensor(name, kInt64, {}, std::vector<int64_t>{v}));
      given.inputs.push_back(any(name, kInt64));
      inputs.set(name, lazy::tensor(v));
    }
    BOOST_TEST_CONTEXT(n.bytes())
    check::same(load_model(known)(NamedTensors{}).at("y"), load_model(given)(inputs).at("y"));
  }
}

BOOST_AUTO_TEST_CASE(the_documentation_lists_all) {
  std::ifstream file(LAZY_SOURCE_DIR "/docs/models_from_files.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  for (const onnx::SupportedOperator& o : onnx::supported_operators())
    BOOST_TEST((all.find("`" + o.name + "`") != all.npos),
               o.name << " is missing in docs/models_from_files.md");
}

BOOST_AUTO_TEST_CASE(recurrent_layers_have_gates_in_the_order_of_the_format) {
  // With a bound that nothing reaches the layer is computed step by step, gate by gate.
  const auto numbers = [](const Shape& shape, double from) {
    return sin(reshape(arange(0, numel(shape), 1, float32), shape) * 0.7f + from).eval();
  };
  for (const auto& [op, gates] : {std::pair<const char*, int64_t>{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}})
    for (const int64_t steps : {1, 3})
      for (const int64_t batch : {1, 2}) {
        const int64_t units = 5;
        std::vector<Tensor> inputs{numbers({steps, batch, 2}, 0), numbers({1, gates * units, 2}, 1),
                                   numbers({1, gates * units, units}, 2), numbers({1, 2 * gates * units}, 3)};
        std::vector<Message> attributes{attribute("hidden_size", units)};
        if (gates == 3) attributes.push_back(attribute("linear_before_reset", 1));
        const Tensor whole = run(node(op, {"a", "b", "c", "d"}, {"y"}, attributes), inputs);
        attributes.push_back(attribute("clip", 1e6f));
        const Tensor by_steps = run(node(op, {"a", "b", "c", "d"}, {"y"}, attributes), inputs);
        close(whole, by_steps.to_vector<double>(), 1e-5);
      }
}

BOOST_AUTO_TEST_SUITE_END()
