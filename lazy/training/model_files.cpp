#include "lazy/training/model_files.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "lazy/core/build.hpp"
#include "lazy/io/safetensors_header.hpp"

namespace lazy::training::detail {
namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kModelIndex = "model.safetensors.index.json";

std::string shard_name(size_t i, size_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "model-%05zu-of-%05zu.safetensors", i + 1, count);
  return text;
}

/// Removes files of a model that are not among these.
void remove_others(const std::string& folder, const std::vector<std::string>& names) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool of_a_model =
        name == kModelFile || name == kModelIndex ||
        (name.starts_with("model-") && name.ends_with(".safetensors") && name.find("-of-") != name.npos);
    if (of_a_model && std::find(names.begin(), names.end(), name) == names.end())
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace

void write_model(const char* op, const std::string& folder, const NamedTensors& state, int64_t most_bytes,
                 const Site& s) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError(std::string(op) + ": cannot make " + folder + ": " + error.message(), s);
  std::vector<Tensor> values;
  std::vector<NamedTensors> files(1);
  int64_t bytes = 0, total = 0;
  for (const auto& [name, value] : state) {
    const int64_t own = value.nbytes(s);
    if (!files.back().empty() && bytes + own > most_bytes) files.emplace_back(), bytes = 0;
    files.back().set(name, value);
    values.push_back(value);
    bytes += own, total += own;
  }
  lazy::detail::eval(values, s);
  const std::map<std::string, std::string> metadata{{"format", "pt"}};
  std::vector<std::string> names;
  if (files.size() == 1) {
    names = {kModelFile};
    lazy::detail::write_safetensors(op, folder + "/" + kModelFile, files[0], metadata, false, s);
    return remove_others(folder, names);
  }
  nlohmann::json map = nlohmann::json::object();
  for (size_t i = 0; i < files.size(); ++i) {
    names.push_back(shard_name(i, files.size()));
    lazy::detail::write_safetensors(op, folder + "/" + names.back(), files[i], metadata, false, s);
    for (const auto& [name, value] : files[i]) map[name] = names.back();
  }
  const nlohmann::json index{{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  lazy::detail::NewFile file(op, folder + "/" + kModelIndex, s);
  file.put(index.dump(2) + "\n");
  file.finish();
  names.push_back(kModelIndex);
  remove_others(folder, names);
}

}  // namespace lazy::training::detail
