#include "lazy/pretrained/common.hpp"

#include "lazy/core/build.hpp"

namespace lazy::pretrained {

void check_common(const ConfigFile& c) {
  if (c.has("quantization_config"))
    c.unsupported("quantization_config", "weights of floating point, and files in the GGUF format");
  c.only("is_encoder_decoder", false);
  c.only("add_cross_attention", false);
  if (c.count("pruned_heads").value_or(0) > 0) c.unsupported("pruned_heads", "{}");
}

void check_layers(const Source& from, int64_t layers) {
  if (static_cast<size_t>(layers) > from.weights.tensors.size())
    throw IoError(std::string(from.op) + ": " + from.config.file().name + " has " + std::to_string(layers) +
                      " layers, but " + from.weights.path + " has only " +
                      std::to_string(from.weights.tensors.size()) + " tensors",
                  from.site);
}

void check_options(const char* op, const Options& o, const Site& s) {
  if (o.dtype.given && !is_float(o.dtype.value))
    lazy::detail::fail<DtypeError>(
        op, std::string("weights are floating-point numbers, not ") + lazy::name_of(o.dtype.value), s);
}

MaybeDType dtype_of(const ConfigFile& c, const Options& o) {
  if (o.dtype.given) return o.dtype;
  const char* const key = c.has("dtype") ? "dtype" : "torch_dtype";
  const std::string name = c.text(key, "");
  for (const DType t : {float32, float16, bfloat16, float64})
    if (name == lazy::name_of(t)) return t;
  if (!name.empty()) c.unsupported(key, "float32, float16, bfloat16, float64");
  return {};
}

bool has_architecture(const ConfigFile& c, std::string_view name) {
  for (const std::string& a : c.texts("architectures"))
    if (a == name) return true;
  return false;
}

Tensor given(const NamedTensors& inputs, std::string_view name) {
  return inputs.contains(name) ? inputs.at(name) : Tensor();
}

void add_prefix(const std::string& prefix, std::initializer_list<const char*> parts,
                std::vector<Rename>& renames) {
  for (const char* part : parts) renames.push_back({std::string("^") + part, prefix + part});
}

nlohmann::ordered_json begun(const char* architecture, const char* kind) {
  return {{"architectures", {architecture}}, {"model_type", kind}};
}

}  // namespace lazy::pretrained
