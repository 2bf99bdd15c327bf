// Loads and saves models as Hugging Face keeps them: a folder with config.json and model.safetensors, or
// model.safetensors.index.json and the files that it names; and files in the GGUF format.
//
//   auto bert = lazy::models::from_pretrained<lazy::models::Bert>("all-MiniLM-L6-v2");
//   auto llama = lazy::models::from_pretrained<lazy::models::Llama>("TinyLlama", {.dtype = lazy::float32});
//   lazy::models::save_pretrained(llama, "folder");
//
//   lazy::pretrained::Model any = lazy::pretrained::load("folder");   // by what its config says it is
//   lazy::NamedTensors out = any({{"input_ids", ids}});
//
// Models come in evaluation mode. Weights share the mapped files where they keep their dtype, and are marked
// as ones that stay, as those of load_safetensors() are. While a model lives, nobody may write to its files.
//
// IoError for files that can't be read or are not in their format; Error, with the file and the key, for what
// a config asks for and no model here computes, and with all their names for weights that are missing,
// unknown or of other shapes than the config says; DtypeError for options with a dtype of integers.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lazy/models/models.hpp"

namespace lazy::pretrained {

struct Options {
  // Of weights of floating point; none: the config's torch_dtype, else the file's, and of GGUF float32.
  MaybeDType dtype = {};
  MaybeDevice device = {};  // of weights; none: the default device
  // Of GGUF: matrices of Q4_0 and Q8_0 become numbers of floating point too, as all other blocks do. Else
  // they stay integers (quant::QuantizedWeight), by which few rows are multiplied as they are.
  bool dequantize = false;
};

/// Lists the models that can be loaded and saved.
#define LAZY_PRETRAINED_MODELS(X)  \
  X(Bert)                          \
  X(BertForSequenceClassification) \
  X(BertForTokenClassification)    \
  X(BertForMaskedLM)               \
  X(GPT2)                          \
  X(Llama)                         \
  X(ViT)                           \
  X(ResNet)

/// Holds an extent: a number, or the name of one that each call chooses.
using Extent = std::variant<int64_t, std::string>;

/// Describes an input or an output.
struct Value {
  std::string name;
  DType dtype;
  std::vector<Extent> shape;
  bool optional = false;  // a call may leave it out
};

class Held;

/// Holds a model of any architecture. Its parameters have the names of the struct in lazy/models. Copies are
/// models of their own.
class Model : public nn::Module {
 public:
  /// Holds nothing: calling it throws Error.
  Model() noexcept;
  explicit Model(std::unique_ptr<Held>);
  Model(const Model&);
  Model(Model&&) noexcept;
  Model& operator=(const Model&);
  Model& operator=(Model&&) noexcept;
  ~Model() override;

  /// Returns what the file says it is: "LlamaForCausalLM"; of GGUF "llama".
  const std::string& architecture() const;
  /// Returns the text of config.json; of GGUF the metadata that the model was made of, as JSON.
  const std::string& config() const;

  /// Describe what the model takes and gives.
  const std::vector<Value>& inputs() const;
  const std::vector<Value>& outputs() const;

  /// Records the model. Error for an input that is missing or unknown; what the model throws.
  NamedTensors operator()(const NamedTensors& inputs, Site s = Site::current());
  /// Takes the first inputs in their order, all that are not optional, and gives all outputs.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Site s = Site::current());

  /// Returns the struct; null if it is another.
  template <class M>
  M* get() noexcept;

  std::string name() const override;

 protected:
  void members(nn::Visitor&) override;

 private:
  Held& held(const Site&) const;
  std::unique_ptr<Held> held_;
};

#define LAZY_PRETRAINED(M) extern template models::M* Model::get<models::M>() noexcept;
LAZY_PRETRAINED_MODELS(LAZY_PRETRAINED)
#undef LAZY_PRETRAINED

/// Loads a folder or a file in the GGUF format, as the model that it says it is.
Model load(const std::filesystem::path&, const Options& = {}, Site s = Site::current());
/// Lists the architectures that load() knows by config.json, sorted.
std::vector<std::string> supported_architectures();

}  // namespace lazy::pretrained

namespace lazy::models {

/// Loads a folder, or a file in the GGUF format, as an M, whose architecture it has. Of a model with a head,
/// Bert is the model without it.
template <class M>
M from_pretrained(const std::filesystem::path& path, const pretrained::Options& = {},
                  Site s = Site::current());

/// Writes config.json and model.safetensors into a folder, which is made if there is none. Other files in it
/// stay as they are. Error for a config that no architecture has, and for weights that are computed from
/// parts, such as integers; IoError for what can't be written.
template <class M>
void save_pretrained(const M& model, const std::filesystem::path& folder, Site s = Site::current());

#define LAZY_PRETRAINED(M)                                                                              \
  extern template M from_pretrained<M>(const std::filesystem::path&, const pretrained::Options&, Site); \
  extern template void save_pretrained<M>(const M&, const std::filesystem::path&, Site);
LAZY_PRETRAINED_MODELS(LAZY_PRETRAINED)
#undef LAZY_PRETRAINED

}  // namespace lazy::models
