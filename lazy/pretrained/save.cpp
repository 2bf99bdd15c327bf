#include "lazy/core/build.hpp"
#include "lazy/io/safetensors.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/pretrained/families.hpp"

namespace lazy::pretrained {
namespace {

constexpr const char* kSave = "save_pretrained";

/// Returns the join of which the name ends in a part, and the part's index.
std::pair<const Join*, size_t> join_of(const std::string& name, const std::vector<Join>& all) {
  for (const Join& j : all)
    for (size_t i = 0; i < j.parts.size(); ++i)
      if (name.ends_with(j.parts[i])) return {&j, i};
  return {nullptr, 0};
}

/// Returns the model's tensors under the file's names.
NamedTensors named_for_file(const nn::Module& model, const Saved& how, const Site& s) {
  NamedTensors r;
  const NamedTensors all = model.state_dict(s);
  for (const auto& [name, tensor] : all) {
    if (name.find("parametrizations.") != name.npos)
      lazy::detail::fail<Error>(kSave,
                                "'" + name +
                                    "' is a part of weights, which are not in a file of this kind: a model "
                                    "of a GGUF file is loaded with .dequantize = true for it",
                                s);
    if (const auto [join, part] = join_of(name, how.joins); join) {
      if (part > 0) continue;
      const std::string before = name.substr(0, name.size() - join->parts[0].size());
      std::vector<Tensor> parts;
      for (const std::string& p : join->parts) parts.push_back(all.at(before + p, s));
      r.set(renamed(before + join->whole, how.renames), concat(parts, 0, s));
      continue;
    }
    const auto split = std::find_if(how.splits.begin(), how.splits.end(),
                                    [&](const Join& j) { return name.ends_with(j.whole); });
    if (split == how.splits.end()) {
      r.set(renamed(name, how.renames), tensor);
      continue;
    }
    const std::string before = name.substr(0, name.size() - split->whole.size());
    const auto count = static_cast<int64_t>(split->parts.size()), rows = tensor.size(0, s) / count;
    for (int64_t i = 0; i < count; ++i)
      r.set(renamed(before + split->parts[static_cast<size_t>(i)], how.renames),
            narrow(tensor, 0, i * rows, rows));
  }
  return r;
}

void save(const nn::Module& model, const Saved& how, const std::filesystem::path& folder, const Site& s) {
  if (!how.problem.empty())
    lazy::detail::fail<Error>(kSave, "no architecture has this config: " + how.problem, s);
  const NamedTensors tensors = named_for_file(model, how, s);
  nlohmann::ordered_json config = how.config;
  for (const auto& [name, t] : tensors)
    if (is_float(t.dtype(s))) {
      config["torch_dtype"] = lazy::name_of(t.dtype(s));
      break;
    }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw IoError(std::string(kSave) + ": " + folder.string() + ": cannot be made: " + failed.message(), s);
  save_safetensors((folder / "model.safetensors").string(), tensors, {{"format", "pt"}}, s);
  lazy::detail::NewFile file(kSave, (folder / "config.json").string(), s);
  file.put(config.dump(2) + "\n");
  file.finish();
}

}  // namespace
}  // namespace lazy::pretrained

namespace lazy::models {

template <class M>
void save_pretrained(const M& model, const std::filesystem::path& folder, Site s) {
  pretrained::save(model, pretrained::saved(model), folder, s);
}
#define LAZY_SAVE(M) template void save_pretrained<M>(const M&, const std::filesystem::path&, Site);
LAZY_PRETRAINED_MODELS(LAZY_SAVE)
#undef LAZY_SAVE

}  // namespace lazy::models
