// Writes what the tests of lazy-run read into the folder that is its first argument: models, arrays, a
// picture, sound. The second one has tokenizers for models that write.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <lazy/lazy.hpp>

#include "lazy/pretrained/pretrained.hpp"
#include "tests/onnx/models.hpp"

using namespace lazy;
using namespace onnx_test;

namespace {

std::string folder;

void write(const std::string& name, const std::string& bytes) {
  std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
}

/// Returns a linear map of rows of 3 to 2.
std::string linear_model() {
  Graph g;
  g.inputs = {value("x", {"batch", "3"})};
  g.outputs = {value("y", {"batch", "2"})};
  g.initializers = {floats("w", {3, 2}, {1, 0, 0, 1, 2, -1}), floats("b", {2}, {0.5f, -0.5f})};
  g.nodes = {node("MatMul", {"x", "w"}, {"product"}), node("Add", {"product", "b"}, {"y"})};
  return model(g).bytes();
}

/// Returns a model of two inputs, of which a rate decides what is computed.
std::string choosing_model() {
  const auto branch = [](const char* op) {
    Graph g;
    g.outputs = {any("r")};
    g.nodes = {node(op, {"sound"}, {"r"})};
    return g.message();
  };
  Graph g;
  g.inputs = {value("sound", {"1", "4"}), value("rate", {}, kInt64)};
  g.outputs = {any("z"), value("shift", {"1", "4"})};
  g.initializers = {tensor<int64_t>("fast", kInt64, {}, {16000})};
  g.nodes = {
      node("Equal", {"rate", "fast"}, {"is_fast"}),
      node("If", {"is_fast"}, {"z"},
           {graph_attribute("then_branch", branch("Neg")), graph_attribute("else_branch", branch("Abs"))}),
      node("Add", {"sound", "sound"}, {"shift"})};
  return model(g).bytes();
}

/// Returns a model whose result's size follows from values, which no session can have.
std::string counting_model() {
  Graph g;
  g.inputs = {value("x", {"4"})};
  g.outputs = {any("places", kInt64)};
  g.nodes = {node("NonZero", {"x"}, {"places"})};
  return model(g).bytes();
}

std::string mean_model(const Names& shape, const std::vector<int64_t>& axes, Type type = kFloat) {
  Graph g;
  g.inputs = {value("image", shape, type)};
  g.outputs = {any("mean")};
  g.nodes = {node("Cast", {"image"}, {"real"}, {attribute("to", 1)}),
             node("ReduceMean", {"real"}, {"mean"}, {attribute("axes", axes), attribute("keepdims", 0)})};
  return model(g).bytes();
}

std::string unsupported_model() {
  Graph g;
  g.inputs = {value("x", {"4"})};
  g.outputs = {any("y")};
  g.nodes = {node("StringNormalizer", {"x"}, {"a"}), node("Frobnicate", {"a"}, {"y"})};
  return model(g).bytes();
}

/// Returns a .wav file of 16-bit PCM of two channels.
std::string sound() {
  const std::vector<int16_t> samples = {16384, 16384, -16384, -16384, 8192, 0, 0, 0, 100, 100};
  std::string all = "RIFF____WAVEfmt ";
  const auto put = [&](uint32_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) all += static_cast<char>(v >> (8 * i));
  };
  put(16, 4), put(1, 2), put(2, 2), put(16000, 4), put(64000, 4), put(4, 2), put(16, 2);
  all += "data";
  put(static_cast<uint32_t>(samples.size() * 2), 4);
  all.append(reinterpret_cast<const char*>(samples.data()), samples.size() * 2);
  return all;
}

/// Writes a folder with a small model and its tokenizer, of 450 tokens at most.
void write_gpt2(const std::string& name, int64_t positions, const std::string& tokenizer) {
  manual_seed(1);
  const models::GPT2 model(
      {.vocab_size = 450, .n_positions = positions, .n_embd = 8, .n_layer = 1, .n_head = 2});
  models::save_pretrained(model, folder + "/" + name);
  std::filesystem::copy_file(tokenizer, folder + "/" + name + "/tokenizer.json",
                             std::filesystem::copy_options::overwrite_existing);
}

}  // namespace

int main(int, char** argv) {
  folder = argv[1];
  write("linear.onnx", linear_model());
  write("choosing.onnx", choosing_model());
  write("counting.onnx", counting_model());
  write("picture.onnx", mean_model({"n", "3", "4", "4"}, {2, 3}));
  write("bytes.onnx", mean_model({"1", "h", "w", "3"}, {1, 2}, kUint8));
  write("unsupported.onnx", unsupported_model());
  write("cut_off.onnx", linear_model().substr(0, 60));
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, y = {7.5f, -1.5f, 16.5f, -1.5f},
                           wrong = {7.5f, -1.5f, 16.5f, -2};
  save(folder + "/x.npy", from_span(x, {2, 3}));
  save(folder + "/wide.npy", from_span(x, {1, 6}));
  save(folder + "/integers.npy", from_span(std::vector<int64_t>{1, 2, 3, 4, 5, 6}, {2, 3}));
  save(folder + "/y.npy", from_span(y, {2, 2}));
  save(folder + "/wrong.npy", from_span(wrong, {2, 2}));
  const std::vector<float> four = {1, -2, 3, 0};
  save(folder + "/four.npy", from_span(four));
  save_npz(folder + "/both.npz", {{"sound", from_span(four, {1, 4})}, {"rate", full({}, 8000, int64)}});
  save_npz(folder + "/expected.npz",
           {{"z", abs(from_span(four, {1, 4}))}, {"shift", 2 * from_span(four, {1, 4})}});
  // Left half red, right half black.
  Tensor picture = zeros({8, 8, 3}, uint8);
  picture(_, slice(0, 4), 0) = 255;
  write_png(folder + "/half.png", picture);
  write("sound.wav", sound());
  write_gpt2("gpt2", 32, std::string(argv[2]) + "/gpt2.json");
  write("gpt2/chat_template.jinja",
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt "
        "%}<assistant>{% endif %}\n");
  write_gpt2("gpt2_long", 100000, std::string(argv[2]) + "/plain_bpe.json");  // which knows no end of a text
  write("labels.txt", "cat\ndog\n");
  return 0;
}
