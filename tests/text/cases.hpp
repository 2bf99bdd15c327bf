// Finds the small tokenizers of tests/golden/text, and what other libraries made of some strings.
#pragma once
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lazy/text/tokenizer.hpp"
#include "support/error.hpp"

namespace text_test {

using Json = nlohmann::json;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Returns the tokenizers, sorted by name.
inline std::vector<std::filesystem::path> golden_tokenizers(const std::string& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& e : std::filesystem::directory_iterator(folder))
    if (!e.path().string().ends_with(".cases.json")) out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// Returns the tensor's numbers.
inline std::vector<int64_t> numbers(const lazy::Tensor& t) { return t.to_vector<int64_t>(); }

}  // namespace text_test
