// save_models FOLDER: saves models of lazy/models in the ONNX format, with inputs and what they give, for
// real_models.py --saved, which compares onnxruntime's results with them.
#include <filesystem>
#include <iostream>

#include "lazy/lazy.hpp"
#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/onnx/save.hpp"

using namespace lazy;

namespace {

std::string folder;

template <class M>
void save_one(const std::string& name, M model, const Tensor& x, bool dynamic) {
  const std::string path = folder + "/" + name + (dynamic ? "_batch" : "");
  try {
    model.eval();
    // Some weights begin as zeros, which would hide what is saved of them.
    NamedTensors state;
    for (const auto& [n, t] : model.state_dict())
      state.set(n, is_float(t.dtype()) ? t + 0.02f * rand(t.shape()) : t);
    model.load_state_dict(state);
    x.eval();
    onnx::save(model, x, path + ".onnx", {.dynamic_batch = dynamic});
    const no_grad scope;
    const Tensor given = dynamic ? concat({x, x, x}, 0) : x;
    save_npz(path + "_inputs.npz", {{"x", given}});
    save_npz(path + "_expected.npz", {{"y", model(given)}});
    std::cout << name << (dynamic ? ", any batch" : "") << ": saved" << std::endl;
  } catch (const Error& e) {
    std::cout << name << (dynamic ? ", any batch" : "") << ": " << e.what() << std::endl;
  }
}

template <class Make>
void save_model(const std::string& name, const Make& make, const Tensor& x) {
  for (const bool dynamic : {false, true}) {
    manual_seed(7);
    save_one(name, make(), x, dynamic);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "save_models FOLDER\n", 2;
  folder = argv[1];
  std::filesystem::create_directories(folder);
  const Tensor image = rand({1, 3, 64, 64}).eval(), ids = randint(0, 100, {1, 16}).eval();
  save_model(
      "mlp",
      [] {
        return nn::Sequential(nn::Linear{32, 64}, nn::ReLU{}, nn::LayerNorm{{64}}, nn::Linear{64, 10});
      },
      rand({2, 32}));
  save_model(
      "resnet18", [] { return models::resnet18(); }, image);
  save_model(
      "mobilenet", [] { return models::MobileNetV3(models::mobilenet_v3_small_config()); }, image);
  save_model(
      "unet", [] { return models::UNet(models::UNetConfig{}); }, image);
  save_model(
      "vit", [] { return models::ViT({.image_size = 64, .layers = 3}); }, image);
  save_model(
      "gpt2",
      [] {
        return models::GPT2({.vocab_size = 100, .n_positions = 32, .n_embd = 64, .n_layer = 2, .n_head = 4});
      },
      ids);
  save_model(
      "llama",
      [] {
        return models::Llama({.vocab_size = 100,
                              .hidden_size = 64,
                              .intermediate_size = 128,
                              .num_hidden_layers = 2,
                              .num_attention_heads = 4,
                              .num_key_value_heads = 2,
                              .max_position_embeddings = 32});
      },
      ids);
  save_model(
      "tagger", [] { return models::LSTMTagger({.vocabulary = 100, .hidden = 32, .bidirectional = true}); },
      ids);
  return 0;
}
