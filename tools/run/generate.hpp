// Has a model write.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "nlohmann/json.hpp"
#include "tools/run/model.hpp"

namespace lazy::tool {

struct GenerateOptions {
  std::optional<std::string> prompt;  // none: the model is to do something else, or to answer `chat`
  std::optional<std::string> chat;    // what a user says, which the chat template makes the prompt of
  std::optional<std::string> system;  // what the conversation begins with then
  std::vector<std::string> stop;      // texts that end it
  int64_t max_tokens = 128, top_k = 0, beams = 1;
  double temperature = 1, top_p = 1, min_p = 0;
  uint64_t seed = 0;
  bool greedy = false;
  Int8 int8 = Int8::none;  // how the model is quantised first
  bool quiet = false;      // the text is in what is returned alone
};

/// Goes on with the prompt, or answers, by the model and the tokenizer of a folder or a file in the GGUF
/// format. The text goes to standard output as it comes; Ctrl-C ends it. Returns the text, counts, times and
/// memory. UsageError for a file in another format, lazy::Error for what can't be read and for models that
/// don't write.
nlohmann::ordered_json generate(const std::filesystem::path&, MaybeDType dtype, const GenerateOptions&);
/// Prints counts, times and memory to standard error.
void print_generated(const nlohmann::ordered_json&);

}  // namespace lazy::tool
