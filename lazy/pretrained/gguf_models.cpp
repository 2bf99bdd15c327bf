#include "lazy/pretrained/gguf_models.hpp"

#include <unordered_map>

#include "lazy/core/build.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/pretrained/gguf/gguf.hpp"
#include "lazy/quant/weight.hpp"
#include "support/text.hpp"

namespace lazy::pretrained {
namespace {

/// Reads the metadata of one architecture: its keys, without the architecture's name before them.
class Keys {
 public:
  Keys(const char* op, const gguf::File& f, std::string architecture, const Site& s)
      : op_(op), file_(f), architecture_(std::move(architecture)), site_(s) {}

  bool has(const std::string& key) const { return file_.contains(full(key)); }
  int64_t integer(const std::string& key, std::optional<int64_t> fallback = {},
                  int64_t most = kMostExtent) const {
    if (!has(key)) {
      if (fallback) return *fallback;
      throw IoError(where(key) + ": the key is missing", site_);
    }
    const int64_t v = file_.at(full(key), site_).integer(site_);
    if (v < 1 || v > most)
      throw IoError(where(key) + ": expected an integer from 1 to " + std::to_string(most) + ", found " +
                        std::to_string(v),
                    site_);
    return v;
  }
  double real(const std::string& key, double fallback, double least, double most) const {
    if (!has(key)) return fallback;
    const double v = file_.at(full(key), site_).real(site_);
    if (!(v >= least && v <= most))
      throw IoError(where(key) + ": expected a number from " + text::formatted("%g", least) + " to " +
                        text::formatted("%g", most) + ", found " + text::formatted("%g", v),
                    site_);
    return v;
  }
  std::string text_of(const std::string& key, const char* fallback) const {
    return has(key) ? std::string(file_.at(full(key), site_).text(site_)) : fallback;
  }
  [[noreturn]] void unsupported(const std::string& key, const std::string& found,
                                const std::string& supported) const {
    throw Error(where(key) + " is " + found + ", which is not supported; supported: " + supported, site_);
  }
  const gguf::File& file() const { return file_; }

 private:
  std::string full(const std::string& key) const { return architecture_ + "." + key; }
  std::string where(const std::string& key) const {
    return std::string(op_) + ": " + file_.path() + ": " + full(key);
  }
  const char* op_;
  const gguf::File& file_;
  std::string architecture_;
  Site site_;
};

models::RopeScaling rope_of(const Keys& k, int64_t width, const Site& s) {
  models::RopeScaling r;
  const std::string type = k.text_of("rope.scaling.type", "none");
  if (type == "linear") r.type = models::RopeType::linear;
  else if (type == "yarn") r.type = models::RopeType::yarn;
  else if (type != "none") k.unsupported("rope.scaling.type", text::quoted(type), "none, linear, yarn");
  if (r.type != models::RopeType::none) {
    r.factor = k.real("rope.scaling.factor", 1, 1e-3, 1e6);
    r.original_max_position_embeddings = k.integer("rope.scaling.original_context_length", 0);
    if (k.real("rope.scaling.attn_factor", 1, 0, 1e6) != 1)
      k.unsupported("rope.scaling.attn_factor", "another number than 1", "1");
  }
  if (const gguf::TensorInfo* const t = k.file().find("rope_freqs.weight")) {
    if (t->shape != Shape{width / 2} || t->type != gguf::TensorType::f32)
      throw IoError(k.file().path() + ": rope_freqs.weight is " + to_string(t->shape) + " " +
                        gguf::name_of(t->type) + ", expected " + to_string(Shape{width / 2}) + " F32",
                    s);
    r.factors = k.file().tensor("rope_freqs.weight", Device{}, s).to_vector<float>(s);
  }
  return r;
}

models::LlamaConfig config_of(const Keys& k, const Site& s) {
  const gguf::File& f = k.file();
  const gguf::TensorInfo* const words = f.find("token_embd.weight");
  if (!words || words->shape.size() != 2)
    throw IoError(f.path() + ": expected a matrix token_embd.weight" +
                      (words ? ", found " + to_string(words->shape) : ""),
                  s);
  models::LlamaConfig c;
  c.vocab_size = words->shape[0];
  c.hidden_size = k.integer("embedding_length");
  c.intermediate_size = k.integer("feed_forward_length");
  c.num_hidden_layers = k.integer("block_count", {}, kMostLayers);
  c.num_attention_heads = k.integer("attention.head_count");
  c.num_key_value_heads = k.integer("attention.head_count_kv", c.num_attention_heads);
  c.max_position_embeddings = k.integer("context_length");
  c.head_dim = k.integer("attention.key_length", 0);
  c.sliding_window = k.integer("attention.sliding_window", 0);
  c.rms_norm_eps = k.real("attention.layer_norm_rms_epsilon", 1e-5, 0, 1);
  c.rope_theta = k.real("rope.freq_base", 10000, 1.0001, 1e12);
  const int64_t width = c.head_width(), rotated = k.integer("rope.dimension_count", width);
  if (rotated != width || width % 2 != 0)
    k.unsupported("rope.dimension_count", std::to_string(rotated), "all of a head, an even number");
  if (k.integer("attention.value_length", width) != width)
    k.unsupported("attention.value_length", "another number than key_length", std::to_string(width));
  if (k.has("expert_count")) k.unsupported("expert_count", "there", "models without experts");
  c.qkv_bias = f.find("blk.0.attn_q.bias") != nullptr;
  c.output_bias = f.find("blk.0.attn_output.bias") != nullptr;
  c.tie_word_embeddings = f.find("output.weight") == nullptr;
  c.rope_scaling = rope_of(k, width, s);
  return c;
}

const std::vector<Rename>& gguf_names() {
  static const auto& names = *new std::vector<Rename>{{"^token_embd", "model.embed_tokens"},
                                                      {"^output_norm", "model.norm"},
                                                      {"^output", "lm_head"},
                                                      {"^blk.#", "model.layers.#"},
                                                      {"attn_norm", "input_layernorm"},
                                                      {"ffn_norm", "post_attention_layernorm"},
                                                      {"attn_q", "self_attn.q_proj"},
                                                      {"attn_k", "self_attn.k_proj"},
                                                      {"attn_v", "self_attn.v_proj"},
                                                      {"attn_output", "self_attn.o_proj"},
                                                      {"ffn_gate", "mlp.gate_proj"},
                                                      {"ffn_up", "mlp.up_proj"},
                                                      {"ffn_down", "mlp.down_proj"}};
  return names;
}

/// Puts rows of a head, pairs of which stand side by side in the file, into halves: x (heads * width, ...).
Tensor in_halves(const Tensor& x, int64_t heads, const Site& s) {
  const Shape shape = x.shape(s);
  const int64_t columns = shape.size() > 1 ? shape[1] : 1;
  const Tensor pairs = reshape(Arg(x, s), {heads, shape[0] / heads / 2, 2, columns});
  const Tensor r = reshape(permute(pairs, {0, 2, 1, 3}), ShapeArg(shape));
  if (r.device(s) == Device{}) lazy::detail::mark_unchanging(r, s);
  return r;
}

/// Returns how many heads the rows of a tensor are of, if they have to be put into halves; else 0.
int64_t heads_to_halve(const std::string& name, const std::string& architecture,
                       const models::LlamaConfig& c) {
  if (architecture != "llama") return 0;
  if (name.find(".attn_q.") != name.npos) return c.num_attention_heads;
  return name.find(".attn_k.") != name.npos ? c.num_key_value_heads : 0;
}

constexpr int64_t kGroup = 32;  // numbers that share a scale

/// Holds a model's matrix that stays integers.
struct Quantized {
  std::string layer;  // of the model
  gguf::Groups groups;
  int bits;
};

/// Has a layer compute by the file's integers.
void quantize(Parameter& weight, const Quantized& q, DType dtype, const Site& s) {
  namespace parametrize = nn::utils::parametrize;
  const quant::Scheme scheme{.bits = q.bits,
                             .is_signed = q.bits == 8,
                             .symmetric = true,
                             .granularity = quant::Granularity::group,
                             .group = kGroup};
  const Shape shape{q.groups.scales.size(0, s), kGroup * q.groups.scales.size(1, s)};
  weight = Parameter(zeros(ShapeArg(shape), dtype, {}, s));
  parametrize::register_parametrization(
      weight, quant::QuantizedWeight(scheme, shape, dtype, quant::Activations::none), false, s);
  parametrize::ParametrizationList& list = parametrize::parametrizations(weight, s);
  list.original(0).reset(q.groups.integers, s);
  list.original(1).reset(q.groups.scales, s);
}

/// Says if a matrix stays integers. Of embeddings rows are read, for which all of them would become numbers
/// in each call.
bool stays_integers(const gguf::TensorInfo& t, const Options& o) {
  const bool groups = t.type == gguf::TensorType::q4_0 || t.type == gguf::TensorType::q8_0;
  return groups && !o.dequantize && t.shape.size() == 2 && t.name != "token_embd.weight";
}

/// Takes the weights of a file: what stays integers apart.
Weights weights_of(const gguf::File& f, const std::string& architecture, const models::LlamaConfig& c,
                   const Options& o, std::vector<Quantized>& quantized, const Site& s) {
  Weights w{{}, f.path()};
  for (const gguf::TensorInfo& t : f.tensors()) {
    if (t.name == "rope_freqs.weight") continue;
    const int64_t heads = heads_to_halve(t.name, architecture, c);
    if (heads && (t.shape.empty() || t.shape[0] % (2 * heads) != 0))
      throw IoError(f.path() + ": " + text::quoted(t.name) + " is " + to_string(t.shape) +
                        ", but there are " + std::to_string(heads) + " heads",
                    s);
    if (stays_integers(t, o)) {
      Quantized q{renamed(t.name, gguf_names()), f.groups(t.name, o.device, s),
                  t.type == gguf::TensorType::q4_0 ? 4 : 8};
      if (heads) {
        q.groups.integers = in_halves(q.groups.integers, heads, s);
        q.groups.scales = in_halves(q.groups.scales, heads, s);
      }
      quantized.push_back(std::move(q));
      continue;
    }
    Tensor x = f.tensor(t.name, o.device, s);
    // Converted one by one: else all of a file of blocks would be there as float32 at first.
    const DType dtype = o.dtype.or_else(float32);
    if (is_float(x.dtype(s)) && x.dtype(s) != dtype) {
      x = x.to(dtype, s);
      if (x.device(s) == Device{}) lazy::detail::mark_unchanging(x, s);
    }
    w.tensors.set(t.name, heads ? in_halves(x, heads, s) : x);
  }
  return w;
}

/// Finds the matrices that stay integers, by their names; Error for names and shapes that don't fit.
std::vector<std::pair<Parameter*, const Quantized*>> weights_to_quantize(const char* op, models::Llama& m,
                                                                         const std::vector<Quantized>& all,
                                                                         const std::string& path,
                                                                         const Site& s) {
  std::unordered_map<std::string, Parameter*> weights;
  for (const auto& [name, module] : m.named_modules())
    if (auto* const linear = dynamic_cast<nn::Linear*>(module)) weights[name + ".weight"] = &linear->weight;
  std::vector<std::pair<Parameter*, const Quantized*>> r;
  for (const Quantized& q : all) {
    const auto at = weights.find(q.layer);
    if (at == weights.end())
      throw Error(std::string(op) + ": " + path + ": the model has no " + text::quoted(q.layer), s);
    const Shape &here = at->second->shape(s), &there = q.groups.scales.shape(s);
    if (here[0] != there[0] || here[1] != kGroup * there[1])
      throw Error(std::string(op) + ": " + path + ": " + text::quoted(q.layer) + " is " + to_string(here) +
                      " by the metadata, and " + to_string(Shape{there[0], kGroup * there[1]}) +
                      " in the file",
                  s);
    r.emplace_back(at->second, &q);
  }
  return r;
}

/// Returns the metadata that a model is made of as JSON: lists by their lengths.
std::string json_of(const gguf::File& f) {
  nlohmann::ordered_json j;
  for (const auto& [key, v] : f.metadata()) {
    switch (v.kind()) {
      case gguf::Kind::list: j[key] = "list of " + std::to_string(v.size()); break;
      case gguf::Kind::text: j[key] = v.text(); break;
      case gguf::Kind::boolean: j[key] = v.flag(); break;
      case gguf::Kind::float32:
      case gguf::Kind::float64: j[key] = v.real(); break;
      case gguf::Kind::uint64: j[key] = v.real(); break;
      default: j[key] = v.integer();
    }
  }
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

models::Llama llama_of(const char* op, const gguf::File& f, const std::string& architecture, const Options& o,
                       const Site& s) {
  const models::LlamaConfig c = config_of(Keys(op, f, architecture, s), s);
  if (static_cast<size_t>(c.num_hidden_layers) > f.tensors().size())
    throw IoError(std::string(op) + ": " + f.path() + ": " + architecture + ".block_count is " +
                      std::to_string(c.num_hidden_layers) + ", but there are only " +
                      std::to_string(f.tensors().size()) + " tensors",
                  s);
  models::Llama m = [&] {
    const nn::init::Skip skip;
    return models::Llama(c, s);
  }();
  std::vector<Quantized> quantized;
  Weights weights = weights_of(f, architecture, c, o, quantized, s);
  const auto integers = weights_to_quantize(op, m, quantized, f.path(), s);
  for (const auto& [weight, q] : integers) *weight = Parameter();  // which others need not look for
  adopt(op, m, weights, {.renames = gguf_names()}, {}, s);
  for (const auto& [weight, q] : integers) quantize(*weight, *q, o.dtype.or_else(float32), s);
  m.eval(s);
  return m;
}

}  // namespace

std::unique_ptr<Held> load_gguf_model(const char* op, const std::filesystem::path& path, const Options& o,
                                      const Site& s) {
  check_options(op, o, s);
  const gguf::File f = gguf::load(path.string(), s);
  const std::string architecture(f.at("general.architecture", s).text(s));
  if (architecture != "llama" && architecture != "qwen2")
    throw Error(std::string(op) + ": " + f.path() + ": general.architecture is " +
                    text::quoted(architecture) + ", which is not supported; supported: llama, qwen2",
                s);
  auto held = std::make_unique<HeldAs<models::Llama>>(llama_of(op, f, architecture, o, s));
  held->architecture = architecture;
  held->config = json_of(f);
  return held;
}

}  // namespace lazy::pretrained
