// Opens folders as Hugging Face keeps models, and files in the GGUF format.
#include "lazy/inference/session.hpp"
#include "lazy/quant/quantize.hpp"
#include "tools/run/model.hpp"
#include "tools/run/names.hpp"
#include "tools/run/quantise.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Value> values_of(const std::vector<pretrained::Value>& all) {
  std::vector<Value> r;
  for (const pretrained::Value& v : all) r.push_back({v.name, v.dtype, v.shape, v.optional});
  return r;
}

/// Takes inputs of certain names in their order, as sessions call models.
struct Ordered : nn::Module {
  pretrained::Model model;
  std::vector<std::string> names;
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) {
    NamedTensors named;
    for (size_t i = 0; i < inputs.size(); ++i) named.set(names[i], inputs[i]);
    std::vector<Tensor> all;
    for (const auto& [name, t] : model(named, Site())) all.push_back(t);
    return all;
  }
  LAZY_MODULE(model)
};

class PretrainedModel final : public Model {
 public:
  explicit PretrainedModel(pretrained::Model m)
      : model_(std::move(m)), inputs_(values_of(model_.inputs())), outputs_(values_of(model_.outputs())) {}
  const std::vector<Value>& inputs() const override { return inputs_; }
  const std::vector<Value>& outputs() const override { return outputs_; }
  NamedTensors operator()(const NamedTensors& in) override {
    const no_grad scope;
    return model_(in, Site());
  }
  Calls calls(const NamedTensors& inputs, int threads) override;
  Quantised quantise(Int8 how) override { return tool::quantise(model_, how); }

 private:
  pretrained::Model model_;
  std::vector<Value> inputs_, outputs_;
};

Calls PretrainedModel::calls(const NamedTensors& inputs, int threads) {
  using Session =
      decltype(inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(std::declval<Ordered&>()));
  const auto model = std::make_shared<Ordered>();
  model->model = model_;
  std::vector<Tensor> given;
  for (const auto& [name, t] : inputs) {
    model->names.push_back(name);
    given.push_back(t);
  }
  const auto session =
      std::make_shared<Session>(inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(
          *model, {.threads = threads, .benchmark = true}));
  return {[model, session, given] { (*session)(given); },
          [model, given] {
            const no_grad scope;
            for (Tensor& t : (*model)(given)) t.eval();
          }};
}

uint64_t bytes_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return std::filesystem::file_size(path);
  uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_regular_file() && entry.path().extension() == ".safetensors") sum += entry.file_size();
  return sum;
}

Json json_of(const std::vector<pretrained::Value>& all) {
  Json r = Json::array();
  for (const pretrained::Value& v : all) {
    Json shape = Json::array();
    for (const pretrained::Extent& e : v.shape)
      std::visit([&](const auto& extent) { shape.push_back(extent); }, e);
    r.push_back({{"name", v.name}, {"dtype", name_of(v.dtype)}, {"shape", shape}});
    if (v.optional) r.back()["optional"] = true;
  }
  return r;
}

Json parameters_of(const nn::Module& model) {
  int64_t tensors = 0, elements = 0, bytes = 0;
  std::map<std::string, int64_t> by_dtype;
  for (const auto& [name, t] : model.state_dict()) {
    tensors += 1, elements += t.size(), bytes += t.nbytes();
    by_dtype[name_of(t.dtype())] += t.nbytes();
  }
  return {{"tensors", tensors}, {"elements", elements}, {"bytes", bytes}, {"dtypes", by_dtype}};
}

class PretrainedFile final : public ModelFile {
 public:
  explicit PretrainedFile(std::filesystem::path path) : path_(std::move(path)) {}
  Json describe() override {
    const pretrained::Model& m = model({});
    Json d;
    d["file"] = path_.string();
    d["file_bytes"] = bytes_of(path_);
    d["architecture"] = m.architecture();
    d["inputs"] = json_of(m.inputs());
    d["outputs"] = json_of(m.outputs());
    d["parameters"] = parameters_of(m);
    d["config"] = Json::parse(m.config());
    return d;
  }
  std::unique_ptr<Model> load(MaybeDType dtype) override {
    if (dtype.given) model_.reset();
    auto r = std::make_unique<PretrainedModel>(std::move(model(dtype)));
    model_.reset();
    return r;
  }

 private:
  /// Returns the model, loaded once.
  pretrained::Model& model(MaybeDType dtype) {
    if (!model_) model_.emplace(pretrained::load(path_, {.dtype = dtype}, Site()));
    return *model_;
  }
  std::filesystem::path path_;
  std::optional<pretrained::Model> model_;
};

}  // namespace

Quantised quantised(const std::vector<quant::Change>& all) {
  Quantised q;
  for (const quant::Change& c : all) {
    q.layers += 1;
    q.bytes_before += c.bytes_before, q.bytes_after += c.bytes_after;
  }
  return q;
}

Quantised quantise(pretrained::Model& model, Int8 how) {
  const quant::Config config = how == Int8::weights ? quant::int8_weights() : quant::int8_dynamic();
  const Quantised q = quantised(quant::quantize_(model, config, Site()));
  if (q.layers == 0)
    throw UsageError("--int8: a " + model.name() + " has no linear maps or convolutions that could be");
  return q;
}

std::unique_ptr<ModelFile> open_pretrained(const std::filesystem::path& path) {
  return std::make_unique<PretrainedFile>(path);
}

}  // namespace lazy::tool
