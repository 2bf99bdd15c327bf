#include "lazy/core/build.hpp"
#include "lazy/pretrained/gguf_models.hpp"
#include "lazy/pretrained/held.hpp"
#include "support/text.hpp"

namespace lazy::pretrained {
namespace {

struct Architecture {
  const char* name;
  const char* kind;  // model_type
  std::unique_ptr<Held> (*load)(const Source&);
};
// Sorted by name.
constexpr Architecture kArchitectures[] = {
    {"BertForMaskedLM", "bert", held_as<models::BertForMaskedLM>},
    {"BertForSequenceClassification", "bert", held_as<models::BertForSequenceClassification>},
    {"BertForTokenClassification", "bert", held_as<models::BertForTokenClassification>},
    {"BertModel", "bert", held_as<models::Bert>},
    {"CamembertForMaskedLM", "camembert", held_as<models::BertForMaskedLM>},
    {"CamembertForSequenceClassification", "camembert", held_as<models::BertForSequenceClassification>},
    {"CamembertForTokenClassification", "camembert", held_as<models::BertForTokenClassification>},
    {"CamembertModel", "camembert", held_as<models::Bert>},
    {"DistilBertForMaskedLM", "distilbert", held_as<models::BertForMaskedLM>},
    {"DistilBertForSequenceClassification", "distilbert", held_as<models::BertForSequenceClassification>},
    {"DistilBertForTokenClassification", "distilbert", held_as<models::BertForTokenClassification>},
    {"DistilBertModel", "distilbert", held_as<models::Bert>},
    {"GPT2LMHeadModel", "gpt2", held_as<models::GPT2>},
    {"LlamaForCausalLM", "llama", held_as<models::Llama>},
    {"MistralForCausalLM", "mistral", held_as<models::Llama>},
    {"Phi3ForCausalLM", "phi3", held_as<models::Llama>},
    {"Qwen2ForCausalLM", "qwen2", held_as<models::Llama>},
    {"ResNetForImageClassification", "resnet", held_as<models::ResNet>},
    {"ResNetModel", "resnet", held_as<models::ResNet>},
    {"RobertaForMaskedLM", "roberta", held_as<models::BertForMaskedLM>},
    {"RobertaForSequenceClassification", "roberta", held_as<models::BertForSequenceClassification>},
    {"RobertaForTokenClassification", "roberta", held_as<models::BertForTokenClassification>},
    {"RobertaModel", "roberta", held_as<models::Bert>},
    {"ViTForImageClassification", "vit", held_as<models::ViT>},
    {"ViTModel", "vit", held_as<models::ViT>},
    {"XLMRobertaForMaskedLM", "xlm-roberta", held_as<models::BertForMaskedLM>},
    {"XLMRobertaForSequenceClassification", "xlm-roberta", held_as<models::BertForSequenceClassification>},
    {"XLMRobertaForTokenClassification", "xlm-roberta", held_as<models::BertForTokenClassification>},
    {"XLMRobertaModel", "xlm-roberta", held_as<models::Bert>}};

/// Finds the row of the config's architecture. Error if there is none.
const Architecture& architecture_of(const ConfigFile& c) {
  const std::vector<std::string> names = c.texts("architectures");
  for (const std::string& name : names)
    for (const Architecture& row : kArchitectures)
      if (name == row.name && c.text("model_type", row.kind) == row.kind) return row;
  if (names.empty())  // the model without a head is what nothing is said of
    for (const Architecture& row : kArchitectures)
      if (std::string_view(row.name).ends_with("Model") && c.text("model_type", "") == row.kind) return row;
  c.unsupported(names.empty() ? "model_type" : "architectures", text::join(supported_architectures(), ", "));
}

Source source_of(const char* op, const std::filesystem::path& folder, const Options& o, const Site& s) {
  check_options(op, o, s);
  const detail::FileBytes file = detail::open_file(op, (folder / "config.json").string(), s);
  ConfigFile config(file);
  return {op, std::move(config), read_weights(op, folder, o.device, s), o, s};
}

/// Throws Error for an input that is missing or unknown.
void check_inputs(const Held& held, const NamedTensors& inputs, const Site& s) {
  std::string names;
  for (const Value& v : held.inputs) names += (names.empty() ? "" : ", ") + v.name;
  const std::string takes = held.architecture + " takes " + names;
  for (const Value& v : held.inputs)
    if (!v.optional && !inputs.contains(v.name))
      lazy::detail::fail<Error>("pretrained::Model", "the input " + v.name + " is missing; " + takes, s);
  for (const auto& [name, t] : inputs)
    if (std::none_of(held.inputs.begin(), held.inputs.end(), [&](const Value& v) { return v.name == name; }))
      lazy::detail::fail<Error>("pretrained::Model", "there is no input " + text::quoted(name) + "; " + takes,
                                s);
}

}  // namespace

std::vector<std::string> supported_architectures() {
  std::vector<std::string> all;
  for (const Architecture& row : kArchitectures) all.emplace_back(row.name);
  return all;
}

Model load(const std::filesystem::path& path, const Options& options, Site s) {
  constexpr const char* kName = "pretrained::load";
  std::error_code none;
  if (!std::filesystem::is_directory(path, none)) return Model(load_gguf_model(kName, path, options, s));
  const Source from = source_of(kName, path, options, s);
  const Architecture& row = architecture_of(from.config);
  std::unique_ptr<Held> held = row.load(from);
  held->architecture = row.name;
  return Model(std::move(held));
}

Model::Model() noexcept = default;
Model::Model(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Model::Model(const Model& m) : nn::Module(m), held_(m.held_ ? m.held_->copy() : nullptr) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(const Model& m) {
  if (this != &m) *this = Model(m);
  return *this;
}
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Held& Model::held(const Site& s) const {
  if (!held_) lazy::detail::fail<Error>("pretrained::Model", "there is none: it was not loaded", s);
  return *held_;
}

const std::string& Model::architecture() const { return held(Site::current()).architecture; }
const std::string& Model::config() const { return held(Site::current()).config; }
const std::vector<Value>& Model::inputs() const { return held(Site::current()).inputs; }
const std::vector<Value>& Model::outputs() const { return held(Site::current()).outputs; }

NamedTensors Model::operator()(const NamedTensors& inputs, Site s) {
  Held& h = held(s);
  check_inputs(h, inputs, s);
  return h.call(inputs, s);
}

std::vector<Tensor> Model::operator()(const std::vector<Tensor>& inputs, Site s) {
  Held& h = held(s);
  if (inputs.size() > h.inputs.size())
    lazy::detail::fail<Error>(
        "pretrained::Model",
        std::to_string(inputs.size()) + " inputs for a model that takes " + std::to_string(h.inputs.size()),
        s);
  NamedTensors named;
  for (size_t i = 0; i < inputs.size(); ++i) named.set(h.inputs[i].name, inputs[i]);
  std::vector<Tensor> all;
  for (const auto& [name, t] : (*this)(named, s)) all.push_back(t);
  return all;
}

template <class M>
M* Model::get() noexcept {
  auto* const h = dynamic_cast<HeldAs<M>*>(held_.get());
  return h ? &h->model : nullptr;
}
#define LAZY_GET(M) template models::M* Model::get<models::M>() noexcept;
LAZY_PRETRAINED_MODELS(LAZY_GET)
#undef LAZY_GET

std::string Model::name() const { return held_ ? held_->module().name() : "pretrained::Model"; }

void Model::members(nn::Visitor& v) {
  v.whole(*this, this, sizeof *this);
  if (held_) v.member("", held_->module());
}

}  // namespace lazy::pretrained

namespace lazy::models {

template <class M>
M from_pretrained(const std::filesystem::path& path, const pretrained::Options& options, Site s) {
  constexpr const char* kName = "from_pretrained";
  if (std::error_code none; std::filesystem::is_regular_file(path, none)) {
    const auto held = pretrained::load_gguf_model(kName, path, options, s);
    if (auto* const as = dynamic_cast<pretrained::HeldAs<M>*>(held.get())) return std::move(as->model);
    lazy::detail::fail<Error>(
        kName, path.string() + " has a " + held->module().name() + ", another type of model", s);
  }
  const pretrained::Source from = pretrained::source_of(kName, path, options, s);
  const std::vector<std::string>& kinds = pretrained::Family<M>::kinds();
  if (std::find(kinds.begin(), kinds.end(), from.config.text("model_type", kinds[0])) == kinds.end())
    from.config.unsupported("model_type", text::join(kinds, ", ") + " for this type of model");
  return pretrained::load_as<M>(from);
}
#define LAZY_LOAD(M) \
  template M from_pretrained<M>(const std::filesystem::path&, const pretrained::Options&, Site);
LAZY_PRETRAINED_MODELS(LAZY_LOAD)
#undef LAZY_LOAD

}  // namespace lazy::models
