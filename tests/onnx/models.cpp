// Tests graphs as a whole: what is done while ops are recorded, control flow, functions, weights, sessions.
#include <filesystem>
#include <fstream>

#include "lazy/inference/freeze.hpp"
#include "lazy/inference/session.hpp"
#include "tests/common/folder.hpp"
#include "tests/onnx/models.hpp"

using namespace lazy;
using namespace onnx_test;
using check::equal;

namespace {

/// Returns a model that flattens the last two axes of its input by arithmetic on shapes, as exporters write
/// it, and multiplies.
Graph flattening() {
  return {
      .inputs = {value("x", {"batch", "2", "3"})},
      .outputs = {value("y", {"batch", "6"})},
      .nodes = {node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "zero"}, {"batch"}),
                node("Unsqueeze", {"batch", "axes"}, {"batches"}),
                node("Slice", {"shape", "one", "end"}, {"rest"}), node("ReduceProd", {"rest"}, {"product"}),
                node("Concat", {"batches", "product"}, {"target"}, {attribute("axis", 0)}),
                node("Reshape", {"x", "target"}, {"flat"}), node("MatMul", {"flat", "w"}, {"y"})},
      .initializers = {tensor("zero", kInt64, {}, std::vector<int64_t>{0}), ints("axes", {0}),
                       ints("one", {1}), ints("end", {100}), floats("w", {6, 6}, std::vector<float>(36, 1))}};
}

Graph condition_on(const Message& condition, const std::string& name) {
  const auto branch = [](const char* op) {
    return Graph{.inputs = {}, .outputs = {any("r")}, .nodes = {node(op, {"x"}, {"r"})}}.message();
  };
  return {.inputs = {any("x")},
          .outputs = {any("y")},
          .nodes = {condition, node("If", {name}, {"y"},
                                    {graph_attribute("then_branch", branch("Neg")),
                                     graph_attribute("else_branch", branch("Abs"))})}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(onnx_models)

BOOST_AUTO_TEST_CASE(describes_inputs_and_outputs) {
  const onnx::Model m = load_model(flattening());
  BOOST_REQUIRE(m.inputs().size() == 1u);
  BOOST_TEST(m.inputs()[0].name == "x");
  BOOST_TEST((m.inputs()[0].dtype == float32));
  BOOST_TEST(
      (m.inputs()[0].shape == std::vector<onnx::Extent>{std::string("batch"), int64_t{2}, int64_t{3}}));
  BOOST_TEST(m.outputs()[0].name == "y");
  BOOST_TEST(m.opset() == 17);
  BOOST_TEST(m.metadata().empty());
}

BOOST_AUTO_TEST_CASE(arithmetic_on_shapes_computes_nothing_and_one_program_serves_all_sizes) {
  const onnx::Model m = load_model(flattening());
  reset_metrics();
  const Tensor a = m(ones({2, 2, 3})), b = m(ones({5, 2, 3}));
  BOOST_TEST(metrics().flushes == 0u);
  equal(a, float32, {2, 6}, std::vector<double>(12, 6));
  equal(b, float32, {5, 6}, std::vector<double>(30, 6));
  BOOST_TEST(metrics().flushes == 2u);
  reset_metrics();
  for (int64_t n = 6; n < 12; ++n) (void)m(ones({n, 2, 3})).eval();
  BOOST_TEST(metrics().program_misses == 0u);
}

// Known elements that follow a rule are recorded by it: a range that is known up to a size is the same
// program beyond it.
BOOST_AUTO_TEST_CASE(ranges_are_one_program_whether_they_are_known_or_not) {
  const onnx::Model m =
      load_model(Graph{.inputs = {any("x", kInt64)},
                       .outputs = {any("y", kInt64)},
                       .nodes = {node("Size", {"x"}, {"n"}), node("Range", {"zero", "n", "one"}, {"r"}),
                                 node("Add", {"x", "r"}, {"y"})},
                       .initializers = {tensor("zero", kInt64, {}, std::vector<int64_t>{0}),
                                        tensor("one", kInt64, {}, std::vector<int64_t>{1})}});
  equal(m(tensor({5, 5, 5})), int64, {3}, {5, 6, 7});
  reset_metrics();
  for (const int64_t n : {10, 100, 1000, 2000}) {
    const Tensor y = m(zeros({n}, int64));
    BOOST_TEST(y(-1).item<int64_t>() == n - 1);
  }
  BOOST_TEST(metrics().program_misses <= 1u);  // that of the element
}

BOOST_AUTO_TEST_CASE(a_frozen_model_folds_batch_normalisation) {
  const Graph g{.inputs = {any("x")},
                .outputs = {any("y")},
                .nodes = {node("Conv", {"x", "w"}, {"c"}),
                          node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"y"})},
                .initializers = {floats("w", {20, 1, 1, 1}, std::vector<float>(20, 2)),
                                 floats("s", {20}, std::vector<float>(20, 3)),
                                 floats("b", {20}, std::vector<float>(20, 1)),
                                 floats("m", {20}, std::vector<float>(20, 0)),
                                 floats("v", {20}, std::vector<float>(20, 1))}};
  onnx::Model m = load_model(g);
  const Tensor before = m(ones({1, 1, 4, 4}));
  check::close(before, std::vector<double>(320, 7), 1e-4);
  inference::freeze(m);
  reset_metrics();
  check::close(m(ones({1, 1, 4, 4})), std::vector<double>(320, 7), 1e-4);
  BOOST_TEST(metrics().calls_folded == 1u);
}

BOOST_AUTO_TEST_CASE(conditions) {
  Graph known = condition_on(node("Size", {"x"}, {"n"}), "c");
  known.nodes.insert(known.nodes.begin() + 1, node("Greater", {"n", "two"}, {"c"}));
  known.initializers = {tensor("two", kInt64, {}, std::vector<int64_t>{2})};
  const onnx::Model by_size = load_model(known);
  reset_metrics();
  const Tensor small = by_size(tensor({-1.f, 2.f})), large = by_size(tensor({-1.f, 2.f, 3.f}));
  BOOST_TEST(metrics().flushes == 0u);
  equal(small, float32, {2}, {1, 2});
  equal(large, float32, {3}, {1, -2, -3});

  Graph computed = condition_on(node("ReduceSum", {"x"}, {"s"}, {attribute("keepdims", 0)}), "c");
  computed.nodes.insert(computed.nodes.begin() + 1, node("Greater", {"s", "two"}, {"c"}));
  computed.initializers = {floats("two", {}, {2})};
  const onnx::Model by_value = load_model(computed);
  equal(by_value(tensor({-1.f, 2.f})), float32, {2}, {1, 2});
  equal(by_value(tensor({-1.f, 5.f})), float32, {2}, {1, -5});
}

BOOST_AUTO_TEST_CASE(loops) {
  // The body adds the number of the step, and w of the graph around it, until the sum is above 10.
  const Message body =
      Graph{.inputs = {any("i", kInt64), any("go", kBool), any("s")},
            .outputs = {any("on", kBool), any("next"), value("row", {})},
            .nodes = {node("Cast", {"i"}, {"f"}, {attribute("to", kFloat)}), node("Add", {"s", "f"}, {"t"}),
                      node("Add", {"t", "w"}, {"next"}), node("Less", {"next", "ten"}, {"on"}),
                      node("Identity", {"next"}, {"row"})},
            .initializers = {floats("ten", {}, {10})}}
          .message();
  const onnx::Model m = load_model(
      Graph{.inputs = {any("x"), value("n", {}, kInt64)},
            .outputs = {any("y"), any("rows")},
            .nodes = {node("Loop", {"n", "", "x"}, {"y", "rows"}, {graph_attribute("body", body)})},
            .initializers = {floats("w", {}, {1})}});
  const auto stopped = m({{"x", tensor(0.f)}, {"n", tensor(100)}});
  equal(stopped.at("y"), float32, {}, {10});
  equal(stopped.at("rows"), float32, {4}, {1, 3, 6, 10});
  equal(m({{"x", tensor(0.f)}, {"n", tensor(2)}}).at("rows"), float32, {2}, {1, 3});
  // Without a step there are no rows of the shape that the file says.
  equal(m({{"x", tensor(0.f)}, {"n", tensor(0)}}).at("rows"), float32, {0}, {});
}

BOOST_AUTO_TEST_CASE(scans) {
  const Message body = Graph{.inputs = {any("s"), any("v")},
                             .outputs = {any("t"), any("o")},
                             .nodes = {node("Add", {"s", "v"}, {"t"}), node("Identity", {"t"}, {"o"})}}
                           .message();
  const onnx::Model m =
      load_model(Graph{.inputs = {any("s"), any("x")},
                       .outputs = {any("y"), any("all")},
                       .nodes = {node("Scan", {"s", "x"}, {"y", "all"},
                                      {graph_attribute("body", body), attribute("num_scan_inputs", 1),
                                       attribute("scan_input_directions", std::vector<int64_t>{1})})}});
  const auto r = m({{"s", tensor({0.f})}, {"x", tensor({{1.f}, {2.f}, {3.f}})}});
  equal(r.at("y"), float32, {1}, {6});
  equal(r.at("all"), float32, {3, 1}, {3, 5, 6});
}

BOOST_AUTO_TEST_CASE(functions_are_inlined_with_the_attributes_of_the_call) {
  Message leaky =
      Message().text(1, "F").text(4, "x").text(5, "y").text(10, "own").message(9, Message().integer(2, 17));
  leaky.message(7, node("LeakyRelu", {"x"}, {"y"}, {reference_attribute("alpha", "slope", 1)}));
  leaky.message(11, attribute("slope", 0.5f));
  const Graph g{.inputs = {any("x")},
                .outputs = {any("y"), any("z")},
                .nodes = {node("F", {"x"}, {"y"}, {attribute("slope", 0.25f)}, "own"),
                          node("F", {"x"}, {"z"}, {}, "own")}};
  const auto r = load_model(model(g, 17, {leaky}).bytes())({{"x", tensor({-4.f, 4.f})}});
  equal(r.at("y"), float32, {2}, {-1, 4});
  equal(r.at("z"), float32, {2}, {-2, 4});
}

BOOST_AUTO_TEST_CASE(initializers_are_buffers_and_may_be_given) {
  const Graph g{.inputs = {any("x"), any("w")},
                .outputs = {any("y")},
                .nodes = {node("Add", {"x", "w"}, {"y"})},
                .initializers = {floats("w", {2}, {1, 2})}};
  onnx::Model m = load_model(g);
  BOOST_TEST(m.inputs().size() == 1u);
  equal(m.state_dict().at("w"), float32, {2}, {1, 2});
  BOOST_TEST(!m.training());
  equal(m(tensor({0.f, 0.f})), float32, {2}, {1, 2});
  equal(m({{"x", tensor({0.f, 0.f})}, {"w", tensor({5.f, 6.f})}}).at("y"), float32, {2}, {5, 6});
}

BOOST_AUTO_TEST_CASE(sessions_serve_models) {
  onnx::Model m = load_model(flattening());
  const auto s = inference::session(m, {.example = ones({2, 2, 3})});
  equal(s(ones({3, 2, 3})), float32, {3, 6}, std::vector<double>(18, 6));
  reset_metrics();
  equal(s(ones({2, 2, 3})), float32, {2, 6}, std::vector<double>(12, 6));
  BOOST_TEST(metrics().replays == 1u);
  const Graph two{.inputs = {any("a"), any("b")},
                  .outputs = {any("s"), any("p")},
                  .nodes = {node("Add", {"a", "b"}, {"s"}), node("Mul", {"a", "b"}, {"p"})}};
  onnx::Model pair = load_model(two);
  const auto t = inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(pair, {.freeze = false});
  const auto r = t(std::vector<Tensor>{tensor({2.f}), tensor({3.f})});
  equal(r[0], float32, {1}, {5});
  equal(r[1], float32, {1}, {6});
}

BOOST_AUTO_TEST_CASE(bound_inputs_are_known_and_sessions_take_the_others) {
  Graph g = condition_on(node("Equal", {"rate", "fast"}, {"c"}), "c");
  g.inputs = {any("x"), value("rate", {}, kInt64)};
  g.initializers.push_back(tensor<int64_t>("fast", kInt64, {}, {16000}));
  const onnx::Model m = load_model(g);
  const Tensor x = tensor({1.f, 2.f});
  onnx::Model fast = m.bind({{"rate", full({}, 16000, int64)}}),
              slow = m.bind({{"rate", full({}, 8000, int64)}});
  BOOST_TEST(fast.inputs().size() == 1u);
  BOOST_TEST(m.inputs().size() == 2u);
  const Tensor a = m({{"x", x}, {"rate", full({}, 16000, int64)}}).begin()->second;
  const Tensor b = m({{"x", x}, {"rate", full({}, 8000, int64)}}).begin()->second;
  BOOST_TEST(!array_equal(a, b).item<bool>());
  const auto s = inference::session(fast, {.example = x});
  BOOST_TEST(array_equal(s(x), a).item<bool>());
  Tensor y;
  {
    const no_flush guard;
    y = slow(x);
  }
  BOOST_TEST(array_equal(y, b).item<bool>());
  const auto message = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  };
  const auto says = [&](const std::function<void()>& f, const char* text) {
    BOOST_TEST((message(f).find(text) != std::string::npos), message(f));
  };
  says([&] { (void)m.bind({{"speed", full({}, 1, int64)}}); }, "no input 'speed' to bind");
  says([&] { (void)fast.bind({{"rate", full({}, 1, int64)}}); }, "no input 'rate' to bind");
  says([&] { (void)m.bind({{"rate", full({}, 1, int32)}}); }, "input 'rate' is int64, not int32");
  says([&] { (void)m.bind({{"x", ones({2000})}}); }, "it has 2000 float32");
  says([&] { (void)fast({{"x", x}, {"rate", full({}, 1, int64)}}); }, "input 'rate' is bound");
}

BOOST_AUTO_TEST_CASE(known_values_are_sliced_along_any_axes) {
  // Exporters turn the pads of torch, which begin with the last axis, around.
  const Graph g{
      .inputs = {any("x")},
      .outputs = {any("y")},
      .nodes = {node("Reshape", {"pads", "pairs"}, {"a"}),
                node("Slice", {"a", "last", "end", "axis", "back"}, {"b"}),
                node("Transpose", {"b"}, {"c"}, {attribute("perm", std::vector<int64_t>{1, 0})}),
                node("Reshape", {"c", "all"}, {"d"}), node("Pad", {"x", "d"}, {"y"})},
      .initializers = {ints("pads", {1, 2, 0, 1}), ints("pairs", {-1, 2}), ints("last", {-1}),
                       ints("end", {-100}), ints("axis", {0}), ints("back", {-1}), ints("all", {-1})}};
  onnx::Model m = load_model(g);
  const auto s = inference::session(m, {.example = ones({1, 1})});
  equal(s(ones({1, 1})), float32, {2, 4}, {0, 1, 0, 0, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(joined_weights_are_computed_once) {
  const Graph g{.inputs = {any("x")},
                .outputs = {any("y"), any("w")},
                .nodes = {node("Concat", {"a", "b", "a"}, {"w"}, {attribute("axis", 0)}),
                          node("MatMul", {"w", "x"}, {"y"})},
                .initializers = {floats("a", {2, 40}, std::vector<float>(80, 1)),
                                 floats("b", {4, 40}, std::vector<float>(160, 2))}};
  onnx::Model m = load_model(g);
  const auto call = inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(m);
  for (int i = 0; i < 3; ++i) {
    const auto r = call(std::vector<Tensor>{ones({40, 1})});
    equal(r[0], float32, {8, 1}, {40, 40, 80, 80, 80, 80, 40, 40});
    equal(sum(r[1], 1), float32, {8}, {40, 40, 80, 80, 80, 80, 40, 40});
  }
}

BOOST_AUTO_TEST_CASE(weights_share_the_mapped_file) {
  const lazy::test::Folder folder;
  const size_t count = 1 << 16;
  const std::vector<float> weights(count, 1);
  std::ofstream(folder / "w.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(weights.data()), count * sizeof(float));
  const Graph g{.inputs = {any("x")},
                .outputs = {any("y")},
                .nodes = {node("Add", {"x", "w"}, {"y"})},
                .initializers = {external("w", {static_cast<int64_t>(count)}, "w.bin")}};
  std::ofstream(folder / "m.onnx", std::ios::binary) << model(g).bytes();
  onnx::Model m = onnx::load(folder / "m.onnx");
  std::ifstream maps("/proc/self/maps");
  const auto at = reinterpret_cast<uintptr_t>(m.state_dict().at("w").data<float>());
  std::string found;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 && begin <= at && at < end) found = line;
  }
  BOOST_TEST((found.find("w.bin") != found.npos), found);
  equal(sum(m(zeros({static_cast<int64_t>(count)}))), float32, {}, {65536});
}

BOOST_AUTO_TEST_CASE(weights_that_are_not_aligned_are_copied_from_files_and_from_memory) {
  constexpr int64_t kCount = 3 << 20;
  std::vector<float> weights(kCount);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 1000);
  const lazy::test::Folder folder;
  // Names of four lengths bring the values to four places, of which three are not aligned.
  for (const std::string name : {"w", "ww", "www", "wwww"}) {
    const std::string bytes = model({.inputs = {},
                                     .outputs = {any(name)},
                                     .nodes = {},
                                     .initializers = {floats(name, {kCount}, weights)}})
                                  .bytes();
    std::ofstream(folder / "m.onnx", std::ios::binary) << bytes;
    const Tensor a = onnx::load(folder / "m.onnx")(NamedTensors{}).at(name),
                 b = load_model(bytes)(NamedTensors{}).at(name);
    BOOST_TEST((a.to_vector<float>() == weights));
    BOOST_TEST((b.to_vector<float>() == weights));
  }
}

BOOST_AUTO_TEST_CASE(an_output_may_be_there_twice) {
  const onnx::Model m = load_model(
      Graph{.inputs = {any("x")}, .outputs = {any("y"), any("y")}, .nodes = {node("Neg", {"x"}, {"y"})}});
  BOOST_TEST(m(std::vector<Tensor>{tensor({1.f})}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(metadata_is_in_the_files_order) {
  Graph g;
  g.inputs = {any("x")};
  g.outputs = {any("y")};
  g.nodes = {node("Neg", {"x"}, {"y"})};
  Message m = model(g);
  m.message(14, Message().text(1, "licence").text(2, "none"));
  m.message(14, Message().text(1, "a").text(2, ""));
  const onnx::Model loaded = load_model(m.bytes());
  const std::vector<std::pair<std::string, std::string>> expected{{"licence", "none"}, {"a", ""}};
  BOOST_TEST((loaded.metadata() == expected));
  BOOST_TEST(onnx::Model().metadata().empty());
}

BOOST_AUTO_TEST_SUITE_END()
