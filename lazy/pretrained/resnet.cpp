// Residual networks, whose names are torchvision's here, and Hugging Face's in files.
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/pretrained/common.hpp"

namespace lazy::pretrained {
namespace {

using models::ResNet;

constexpr int64_t kExpansion = 4;  // of a bottleneck's last convolution

models::ResNetConfig resnet_config(const Source& from) {
  const ConfigFile& c = from.config;
  check_common(c);
  c.only("hidden_act", "relu");
  c.only("downsample_in_first_stage", false);
  c.only("downsample_in_bottleneck", false);
  models::ResNetConfig r;
  const std::string type = c.text("layer_type", "bottleneck");
  if (type != "bottleneck" && type != "basic") c.unsupported("layer_type", "bottleneck, basic");
  r.bottleneck = type == "bottleneck";
  r.width = c.integer("embedding_size", 64, 1, int64_t{1} << 20);
  r.channels = c.integer("num_channels", 3);
  r.layers = c.integers("depths", {3, 4, 6, 3}, 1, kMostLayers);
  if (r.layers.size() != 4) c.unsupported("depths", "lists of four numbers");
  const std::vector<int64_t> sizes = c.integers("hidden_sizes", {256, 512, 1024, 2048});
  std::string expected;
  bool good = sizes.size() == 4;
  for (size_t i = 0; i < 4; ++i) {
    const int64_t size = (r.width << i) * (r.bottleneck ? kExpansion : 1);
    expected += (i ? ", " : "[") + std::to_string(size);
    good = good && sizes[i] == size;
  }
  if (!good) c.unsupported("hidden_sizes", expected + "] for this embedding_size and layer_type");
  r.classes = has_architecture(c, "ResNetForImageClassification") ? c.labels() : 0;
  for (const int64_t n : r.layers) check_layers(from, n);
  return r;
}

const std::vector<Rename>& resnet_names() {
  static const auto& names = *[] {
    auto* const all = new std::vector<Rename>{{"^resnet.", ""},
                                              {"^embedder.embedder.convolution", "conv1"},
                                              {"^embedder.embedder.normalization", "bn1"},
                                              {"^classifier.1", "fc"}};
    for (int stage = 0; stage < 4; ++stage) {
      const std::string there = "^encoder.stages." + std::to_string(stage) + ".layers.#.",
                        here = "layer" + std::to_string(stage + 1) + ".#.";
      all->push_back({there + "shortcut.convolution", here + "downsample.0"});
      all->push_back({there + "shortcut.normalization", here + "downsample.1"});
      for (int i = 0; i < 3; ++i) {
        const std::string layer = there + "layer." + std::to_string(i) + ".", number = std::to_string(i + 1);
        all->push_back({layer + "convolution", here + "conv" + number});
        all->push_back({layer + "normalization", here + "bn" + number});
      }
    }
    return all;
  }();
  return names;
}

}  // namespace

const std::vector<std::string>& Family<ResNet>::kinds() {
  static const auto& kinds = *new std::vector<std::string>{"resnet"};
  return kinds;
}
ResNet Family<ResNet>::make(const Source& from) { return ResNet(resnet_config(from), from.site); }
Layout Family<ResNet>::layout(const Source&, const ResNet&) { return {.renames = resnet_names()}; }
std::vector<Value> Family<ResNet>::inputs(const ResNet& m) {
  return {{"pixel_values", float32, {"batch", m.config().channels, "height", "width"}}};
}
std::vector<Value> Family<ResNet>::outputs(const ResNet& m) {
  const models::ResNetConfig& c = m.config();
  if (m.fc) return {{"logits", float32, {"batch", c.classes}}};
  const int64_t width = c.width * 8 * (c.bottleneck ? kExpansion : 1);
  return {{"last_hidden_state", float32, {"batch", width, "rows", "columns"}},
          {"pooler_output", float32, {"batch", width, int64_t{1}, int64_t{1}}}};
}
NamedTensors Family<ResNet>::call(ResNet& m, const NamedTensors& in, const Site& s) {
  Arg x(in.at("pixel_values", s), s);
  if (m.fc) return {{"logits", m(std::move(x))}};
  const Tensor y = m.encode(std::move(x));
  return {{"last_hidden_state", y}, {"pooler_output", mean(y, {2, 3}, keepdims)}};
}

Saved saved(const ResNet& m) {
  const models::ResNetConfig& c = m.config();
  Saved r{
      begun(m.fc ? "ResNetForImageClassification" : "ResNetModel", "resnet"), reversed(resnet_names()), {}};
  if (m.fc) add_prefix("resnet.", {"embedder", "encoder"}, r.renames);
  nlohmann::ordered_json& j = r.config;
  j["layer_type"] = c.bottleneck ? "bottleneck" : "basic";
  j["embedding_size"] = c.width;
  j["num_channels"] = c.channels;
  j["depths"] = c.layers;
  for (int i = 0; i < 4; ++i) j["hidden_sizes"].push_back((c.width << i) * (c.bottleneck ? kExpansion : 1));
  for (int64_t i = 0; i < c.classes; ++i) j["id2label"][std::to_string(i)] = "LABEL_" + std::to_string(i);
  return r;
}

}  // namespace lazy::pretrained
