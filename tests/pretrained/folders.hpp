// Makes folders of small models that tests change.
#pragma once
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lazy/lazy.hpp"
#include "lazy/pretrained/pretrained.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/thrown.hpp"

namespace pretrained_test {

namespace fs = std::filesystem;
using lazy::test::thrown;

/// Is a folder that is removed with what is in it.
struct Folder : lazy::test::Folder {
  fs::path path() const { return lazy::test::Folder::path(); }
};

inline std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline bool says(const std::string& error, const std::string& part) {
  const bool there = error.find(part) != error.npos;
  if (!there) BOOST_TEST_MESSAGE("expected \"" << part << "\" in \"" << error << "\"");
  return there;
}

/// Returns a small model with random weights.
inline lazy::models::Bert small_bert() {
  return lazy::models::Bert({.vocab_size = 20,
                             .hidden_size = 8,
                             .num_hidden_layers = 2,
                             .num_attention_heads = 2,
                             .intermediate_size = 12,
                             .max_position_embeddings = 10});
}
inline lazy::models::LlamaConfig small_llama_config() {
  return {.vocab_size = 20,
          .hidden_size = 8,
          .intermediate_size = 12,
          .num_hidden_layers = 2,
          .num_attention_heads = 2,
          .num_key_value_heads = 1,
          .max_position_embeddings = 16};
}

/// Changes a folder's config.json: f(nlohmann::json&).
template <class F>
void change_config(const fs::path& folder, F&& f) {
  nlohmann::json j = nlohmann::json::parse(read(folder / "config.json"));
  f(j);
  write(folder / "config.json", j.dump());
}
/// Changes a folder's weights: f(NamedTensors) -> NamedTensors.
template <class F>
void change_weights(const fs::path& folder, F&& f) {
  const std::string path = (folder / "model.safetensors").string();
  lazy::NamedTensors all;
  for (const auto& [name, t] : lazy::load_safetensors(path)) all.set(name, t.clone().eval());
  lazy::save_safetensors(path, f(all));
}

}  // namespace pretrained_test
