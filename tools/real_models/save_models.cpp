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

/// Has several inputs in a vector, as onnx::save takes them.
struct MaskedBert : nn::Module {
  models::BertForSequenceClassification bert;
  explicit MaskedBert(const models::BertConfig& c) : bert(c, 3) {}
  Tensor operator()(const std::vector<Tensor>& in) const { return bert(in[0], in[1]); }
  LAZY_MODULE(bert)
};
struct Recommender : nn::Module {
  models::DLRM dlrm;
  Tensor operator()(const std::vector<Tensor>& in) const { return dlrm(in[0], in[1]); }
  LAZY_MODULE(dlrm)
};
/// Returns the last outputs of a recurrent layer.
template <class Layer>
struct Last : nn::Module {
  Layer layer{24, 32, {.num_layers = 2, .batch_first = true}};
  Tensor operator()(const Tensor& x) const { return layer(x).output; }
  LAZY_MODULE(layer)
};
/// Goes through every kind of pooling.
struct Pools : nn::Module {
  Tensor operator()(const Tensor& x) const {
    const Tensor a = max_pool2d(x, 3, {.stride = 2, .padding = 1}),
                 b = avg_pool2d(x, 3, {.stride = 2, .padding = 1}), c = adaptive_avg_pool2d(a + b, 4),
                 d = adaptive_max_pool2d(a - b, {4, 4});
    return concat({c, d}, 1);
  }
};

Tensor given_to(const Tensor& x, bool dynamic) { return dynamic ? concat({x, x, x}, 0) : x; }
std::vector<Tensor> given_to(const std::vector<Tensor>& x, bool dynamic) {
  std::vector<Tensor> all;
  for (const Tensor& t : x) all.push_back(given_to(t, dynamic));
  return all;
}
NamedTensors named(const Tensor& x) { return {{"x", x}}; }
NamedTensors named(const std::vector<Tensor>& x) {
  NamedTensors all;
  for (size_t i = 0; i < x.size(); ++i) all.set("x" + std::to_string(i), x[i]);
  return all;
}

template <class M, class Input>
void save_one(const std::string& name, M model, const Input& x, bool dynamic) {
  const std::string path = folder + "/" + name + (dynamic ? "_batch" : "");
  try {
    model.eval();
    // Some weights begin as zeros, which would hide what is saved of them.
    NamedTensors state;
    for (const auto& [n, t] : model.state_dict())
      state.set(n, is_float(t.dtype()) ? t + 0.02f * rand(t.shape()) : t);
    model.load_state_dict(state);
    onnx::save(model, x, path + ".onnx", {.dynamic_batch = dynamic});
    const no_grad scope;
    const Input given = given_to(x, dynamic);
    save_npz(path + "_inputs.npz", named(given));
    save_npz(path + "_expected.npz", {{"y", model(given)}});
    std::cout << name << (dynamic ? ", any batch" : "") << ": saved" << std::endl;
  } catch (const Error& e) {
    std::cout << name << (dynamic ? ", any batch" : "") << ": " << e.what() << std::endl;
  }
}

template <class Make, class Input>
void save_model(const std::string& name, const Make& make, const Input& x) {
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
      rand({2, 32}).eval());
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
  save_model(
      "perceptron",
      [] {
        return models::MLP(32, {64, 10});
      },
      rand({2, 32}).eval());
  save_model(
      "lenet", [] { return models::LeNet(); }, rand({1, 1, 28, 28}).eval());
  save_model(
      "resnet50", [] { return models::resnet50(); }, image);
  const models::BertConfig bert{.vocab_size = 100,
                                .hidden_size = 64,
                                .num_hidden_layers = 2,
                                .num_attention_heads = 4,
                                .intermediate_size = 128,
                                .max_position_embeddings = 32};
  const Tensor mask = (arange(16) < 11).astype(int64).reshape({1, 16}).eval();
  save_model(
      "bert", [&] { return MaskedBert(bert); }, std::vector<Tensor>{ids, mask});
  const Tensor features = rand({2, 13}).eval(), rows = randint(0, 1000, {2, 8}).eval();
  save_model(
      "dlrm", [] { return Recommender(); }, std::vector<Tensor>{features, rows});
  const Tensor series = rand({2, 9, 24}).eval();
  save_model(
      "lstm", [] { return Last<nn::LSTM>(); }, series);
  save_model(
      "gru", [] { return Last<nn::GRU>(); }, series);
  save_model(
      "rnn", [] { return Last<nn::RNN>(); }, series);
  save_model(
      "pools", [] { return Pools(); }, image);
  return 0;
}
