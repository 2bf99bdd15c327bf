// Says for each model how it is made of a config, and what names its weights have in files. Internal to
// lazy/pretrained.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lazy/models/models.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/pretrained/config_file.hpp"
#include "lazy/pretrained/pretrained.hpp"
#include "lazy/pretrained/weights.hpp"

namespace lazy::pretrained {

/// Holds what a model is made of.
struct Source {
  const char* op;
  ConfigFile config;
  Weights weights;
  Options options;
  Site site;
};

/// Says how the model M is made. Each specialisation is in the file of its family.
///   kinds       the config's model_type's that make an M
///   make        the model, its values not yet there
///   layout      how the file's names become the model's
///   inputs, outputs, call   of Model
///   json        the config that save_pretrained() writes; its names become the file's by layout
template <class M>
struct Family;

#define LAZY_FAMILY(M)                                                             \
  template <>                                                                      \
  struct Family<models::M> {                                                       \
    static const std::vector<std::string>& kinds();                                \
    static models::M make(const Source&);                                          \
    static Layout layout(const Source&, const models::M&);                         \
    static std::vector<Value> inputs(const models::M&);                            \
    static std::vector<Value> outputs(const models::M&);                           \
    static NamedTensors call(models::M&, const NamedTensors& inputs, const Site&); \
  };
LAZY_PRETRAINED_MODELS(LAZY_FAMILY)
#undef LAZY_FAMILY

/// Describes a file for save_pretrained(): its config, and how the model's names become the file's.
struct Saved {
  nlohmann::ordered_json config;
  std::vector<Rename> renames = {};  // as of a Layout, from the model's names
  std::vector<Join> splits = {};     // the model's tensors that are several in the file
  std::vector<Join> joins = {};      // what is whole in the file, and several of the model's
  std::string problem = {};          // says why no architecture has this config; empty if one has
};
Saved saved(const models::Bert&);
Saved saved(const models::BertForSequenceClassification&);
Saved saved(const models::BertForTokenClassification&);
Saved saved(const models::BertForMaskedLM&);
Saved saved(const models::GPT2&);
Saved saved(const models::Llama&);
Saved saved(const models::ViT&);
Saved saved(const models::ResNet&);

/// Throws Error for keys that mean that weights are not as they are, or that parts are there that no model
/// has.
void check_common(const ConfigFile&);
/// Throws IoError if the config has more layers than the file has tensors: no more is made than is read.
void check_layers(const Source&, int64_t layers);
/// Throws DtypeError for options with a dtype that weights can't have.
void check_options(const char* op, const Options&, const Site&);
/// Returns the dtype that the weights are to have: the options', else torch_dtype.
MaybeDType dtype_of(const ConfigFile&, const Options&);

/// Makes a model of its config, and has it take the weights.
template <class M>
M load_as(const Source& from) {
  M model = [&] {
    const nn::init::Skip skip;
    return Family<M>::make(from);
  }();
  adopt(from.op, model, from.weights, Family<M>::layout(from, model), dtype_of(from.config, from.options),
        from.site);
  model.eval(from.site);
  return model;
}

}  // namespace lazy::pretrained
