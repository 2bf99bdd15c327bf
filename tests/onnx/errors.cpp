// Tests what is said of models that can't be imported, and of calls that don't fit a model.
#include <filesystem>
#include <fstream>

#include "tests/common/folder.hpp"
#include "tests/common/thrown.hpp"
#include "tests/onnx/models.hpp"

using namespace lazy;
using namespace onnx_test;

namespace {

using test::thrown;
bool says(const std::string& error, const std::string& part) {
  if (error.find(part) != error.npos) return true;
  BOOST_TEST_MESSAGE(error);
  return false;
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(onnx_errors)

BOOST_AUTO_TEST_CASE(all_that_is_not_supported_is_named_at_once) {
  const Graph g{
      .inputs = {value("x", {"2"}), value("s", {"1"}, kString)},
      .outputs = {any("z")},
      .nodes = {node("Frobnicate", {"x"}, {"a"}), node("Relu", {"a"}, {"b"}, {attribute("slope", 1)}),
                node("Gelu", {"b"}, {"c"}), node("Cast", {"c"}, {"d"}, {attribute("to", 17)}),
                node("Scaler", {"d"}, {"e"}, {}, "ai.onnx.ml"), node("Add", {"e", "missing"}, {"z"})},
      .initializers = {tensor("w8", kFloat8, {1}, std::vector<uint8_t>{1})}};
  const std::string error = thrown<Error>([&] { (void)load_model(g, 17); });
  BOOST_TEST(says(error, "node 'a' (Frobnicate): the operator is not supported"));
  BOOST_TEST(says(error, "node 'b' (Relu): attribute 'slope' is not supported"));
  BOOST_TEST(says(error, "node 'c' (Gelu): the operator is not supported in opset 17"));
  BOOST_TEST(says(error, "node 'd' (Cast): type FLOAT8E4M3FN is not supported"));
  BOOST_TEST(says(error, "node 'e' (Scaler): operators of domain 'ai.onnx.ml' are not supported"));
  BOOST_TEST(says(error, "node 'z' (Add): nothing before it gives its input 'missing'"));
  BOOST_TEST(says(error, "initializer 'w8' is of type FLOAT8E4M3FN, which is not supported"));
  BOOST_TEST(says(error, "input 's' is of type STRING, which is not supported"));
}

BOOST_AUTO_TEST_CASE(what_is_too_new_says_so) {
  const Graph g{.inputs = {any("x")}, .outputs = {any("y")}, .nodes = {node("Relu", {"x"}, {"y"})}};
  BOOST_TEST(says(thrown<Error>([&] { (void)load_model(g, 99); }),
                  "the model is of opset 99, which is newer than 21"));
  BOOST_TEST(says(thrown<Error>([&] { (void)load_model(model(g, 17, {}, 99).bytes()); }),
                  "ir_version 99, which is newer than 10"));
}

BOOST_AUTO_TEST_CASE(errors_of_an_op_name_its_node_and_the_line_of_the_call) {
  const onnx::Model m = load_model(Graph{
      .inputs = {any("a"), any("b")}, .outputs = {any("y")}, .nodes = {node("MatMul", {"a", "b"}, {"y"})}});
  const std::string error = thrown<ShapeError>([&] { (void)m({{"a", ones({2, 3})}, {"b", ones({2, 3})}}); });
  BOOST_TEST(says(error, "node 'y' (MatMul): matmul: "));
  BOOST_TEST(says(error, "(errors.cpp:"));
}

BOOST_AUTO_TEST_CASE(inputs_are_checked) {
  const onnx::Model m = load_model(Graph{
      .inputs = {value("x", {"n", "3"})}, .outputs = {any("y")}, .nodes = {node("Relu", {"x"}, {"y"})}});
  BOOST_TEST(says(thrown<ShapeError>([&] {
                    (void)m(ones({2, 4}));
                  }),
                  "input 'x' has the shape [n, 3], not [2, 4]"));
  BOOST_TEST(says(thrown<DtypeError>([&] {
                    (void)m(ones({2, 3}, int32));
                  }),
                  "input 'x' is float32, not int32"));
  BOOST_TEST(says(thrown<Error>([&] { (void)m(NamedTensors{}); }), "input 'x' is missing"));
  BOOST_TEST(says(thrown<Error>([&] {
                    (void)m({{"x", ones({2, 3})}, {"q", ones({1})}});
                  }),
                  "the model has no input 'q'"));
  BOOST_TEST(says(thrown<Error>([&] { (void)m(std::vector<Tensor>{}); }), "takes 1 inputs, not 0"));
  BOOST_TEST(says(thrown<Error>([&] { (void)onnx::Model()(ones({2, 3})); }), "default-constructed"));
}

BOOST_AUTO_TEST_CASE(external_data_stays_in_the_folder) {
  const lazy::test::Folder folder;
  std::filesystem::create_directory(folder / "model");
  write(folder / "model/data.bin", std::string(16, '\0'));
  write(folder / "secret.bin", std::string(16, '\0'));
  std::filesystem::create_symlink(folder / "secret.bin", folder / "model/link.bin");
  const auto load_with = [&](const std::string& location, int64_t offset = 0, bool anywhere = false) {
    const Graph g{.inputs = {},
                  .outputs = {any("w")},
                  .nodes = {},
                  .initializers = {external("w", {2}, location, offset)}};
    write(folder / "model/m.onnx", model(g).bytes());
    return onnx::load(folder / "model/m.onnx", {.external_data_anywhere = anywhere});
  };
  check::equal(load_with("data.bin", 8)(NamedTensors{}).at("w"), float32, {2}, {0, 0});
  BOOST_TEST(says(thrown<IoError>([&] { (void)load_with("data.bin", 12); }),
                  "data.bin: at byte 12: expected 8 bytes"));
  BOOST_TEST(
      says(thrown<IoError>([&] { (void)load_with("../secret.bin"); }), "is not in the model's folder"));
  BOOST_TEST(
      says(thrown<IoError>([&] { (void)load_with(folder / "secret.bin"); }), "is not in the model's folder"));
  BOOST_TEST(says(thrown<IoError>([&] { (void)load_with("link.bin"); }),
                  "a link that leads out of the model's folder"));
  BOOST_TEST(says(thrown<IoError>([&] { (void)load_with("absent.bin"); }), "absent.bin"));
  check::equal(load_with("../secret.bin", 0, true)(NamedTensors{}).at("w"), float32, {2}, {0, 0});
  check::equal(load_with("link.bin", 0, true)(NamedTensors{}).at("w"), float32, {2}, {0, 0});
  const Graph g{
      .inputs = {}, .outputs = {any("w")}, .nodes = {}, .initializers = {external("w", {2}, "data.bin")}};
  BOOST_TEST(says(thrown<IoError>([&] { (void)load_model(g); }),
                  "the model was given as bytes, which have no folder"));
}

BOOST_AUTO_TEST_CASE(functions_that_call_themselves_are_refused) {
  const Message f = Message()
                        .text(1, "F")
                        .text(4, "x")
                        .text(5, "y")
                        .message(7, node("F", {"x"}, {"y"}, {}, "own"))
                        .message(9, Message().integer(2, 17))
                        .text(10, "own");
  const Graph g{.inputs = {any("x")}, .outputs = {any("y")}, .nodes = {node("F", {"x"}, {"y"}, {}, "own")}};
  BOOST_TEST(says(thrown<Error>([&] { (void)load_model(model(g, 17, {f}).bytes()); }),
                  "functions call each other more than 32 deep"));
}

BOOST_AUTO_TEST_SUITE_END()
