#include "cases.hpp"

#include <stdexcept>

#include "formula.hpp"
#include "lazy/models/models.hpp"

namespace parity {
namespace {

using namespace lazy;

template <class Model, class Call>
Case made(Model m, Call call, std::vector<Tensor> arguments) {
  auto model = std::make_unique<Model>(std::move(m));
  Model* const raw = model.get();
  return {std::move(model), [raw, call](const std::vector<Tensor>& a) { return call(*raw, a); },
          std::move(arguments)};
}
constexpr auto kCall = [](auto& model, const std::vector<Tensor>& a) -> Tensor { return model(a[0]); };

Case images(const std::string& name, bool full) {
  if (name == "lenet") return made(models::LeNet(), kCall, {uniform("input", {4, 1, 28, 28})});
  if (name == "unet")
    return made(models::UNet({.width = full ? 64 : 4}), kCall, {uniform("input", {2, 3, 36, 32})});
  if (name == "vit") {
    models::ViTConfig c;
    if (!full)
      c = {.image_size = 16, .patch_size = 4, .layers = 2, .heads = 2, .width = 12, .mlp = 20, .classes = 5};
    return made(models::ViT(c), kCall, {uniform("input", {2, 3, 16, 16})});
  }
  const int64_t classes = full ? 1000 : 7;
  if (name == "mobilenet_v3_large" || name == "mobilenet_v3_small") {
    models::MobileNetV3Config c = name == "mobilenet_v3_large" ? models::mobilenet_v3_large_config(classes)
                                                               : models::mobilenet_v3_small_config(classes);
    c.dropout = 0;
    return made(models::MobileNetV3(c), kCall, {uniform("input", {4, 3, 96, 96})});
  }
  models::ResNetConfig c{.layers = {1, 1, 1, 1}, .bottleneck = name == "resnet50", .classes = classes};
  if (full) c.layers = c.bottleneck ? std::vector<int64_t>{3, 4, 6, 3} : std::vector<int64_t>{2, 2, 2, 2};
  return made(models::ResNet(c), kCall, {uniform("input", {4, 3, 64, 64})});
}

Case words(const std::string& name, bool full) {
  const Tensor ids = integers("input", {2, 11}, 30);
  if (name == "bert") {
    models::BertConfig c;
    if (!full)
      c = {.vocab_size = 30,
           .hidden_size = 12,
           .num_hidden_layers = 2,
           .num_attention_heads = 3,
           .intermediate_size = 20,
           .max_position_embeddings = 16};
    c.hidden_dropout_prob = 0;
    return made(models::Bert(c), [](auto& m, const std::vector<Tensor>& a) { return m(a[0]).pooler_output; },
                {ids});
  }
  if (name == "gpt2") {
    models::GPT2Config c;
    if (!full) c = {.vocab_size = 30, .n_positions = 16, .n_embd = 12, .n_layer = 2, .n_head = 3};
    c.dropout = 0;
    return made(models::GPT2(c), kCall, {ids});
  }
  models::LlamaConfig c{.vocab_size = 30,
                        .hidden_size = 16,
                        .intermediate_size = 20,
                        .num_hidden_layers = 2,
                        .num_attention_heads = 4,
                        .num_key_value_heads = 2,
                        .max_position_embeddings = 16};
  if (full)
    c = {.vocab_size = 32000,
         .hidden_size = 512,
         .intermediate_size = 1408,
         .num_hidden_layers = 8,
         .num_attention_heads = 8,
         .num_key_value_heads = 2,
         .max_position_embeddings = 2048};
  return made(models::Llama(c), kCall, {ids});
}

}  // namespace

const std::vector<std::string> kNames{"mlp",
                                      "lenet",
                                      "resnet18",
                                      "resnet50",
                                      "mobilenet_v3_large",
                                      "mobilenet_v3_small",
                                      "unet",
                                      "vit",
                                      "bert",
                                      "gpt2",
                                      "llama",
                                      "tagger",
                                      "dlrm"};

Case build(const std::string& name, bool full) {
  if (name == "mlp") {
    const int64_t inputs = full ? 784 : 12;
    const std::vector<int64_t> layers =
        full ? std::vector<int64_t>{512, 512, 10} : std::vector<int64_t>{16, 8, 3};
    return made(models::MLP(inputs, layers), kCall, {uniform("input", {4, inputs})});
  }
  if (name == "tagger") {
    models::LSTMTaggerConfig c;
    if (!full)
      c = {.vocabulary = 20, .embedding = 6, .hidden = 8, .tags = 5, .layers = 2, .bidirectional = true};
    return made(models::LSTMTagger(c), kCall, {integers("input", {3, 7}, 20)});
  }
  if (name == "dlrm") {
    models::DLRMConfig c;
    if (!full) c = {.tables = {10, 20, 5}, .dimension = 4, .bottom = {3, 8, 4}, .top = {6, 1}};
    return made(models::DLRM(c), [](auto& m, const std::vector<Tensor>& a) { return m(a[0], a[1]); },
                {uniform("input", {6, 3}), integers("ids", {6, 3}, 5)});
  }
  if (name == "bert" || name == "gpt2" || name == "llama") return words(name, full);
  return images(name, full);
}

void fill(nn::Module& model) {
  NamedTensors state;
  for (const auto& [name, value] : model.state_dict())
    state.set(name, is_float(value.dtype()) ? weight(name, value.shape()) : value);
  model.load_state_dict(state);
}

Tensor loss_of(const Tensor& result) { return sum(result * uniform("cotangent", result.shape())); }

}  // namespace parity
