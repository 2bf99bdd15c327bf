// Loads tokenizers from the files that they are published in.
#pragma once
#include <filesystem>
#include <memory>

#include "lazy/text/files/json.hpp"
#include "lazy/text/files/loaded.hpp"

namespace lazy::text::files {

inline constexpr const char* kOp = "load_tokenizer";

// Each returns the tokenizer of a file. IoError for what can't be read or is broken, Error that lists what is
// not supported.

std::unique_ptr<Loaded> load_json(const lazy::detail::FileBytes&);
std::unique_ptr<Loaded> load_sentencepiece(const lazy::detail::FileBytes&);

/// Holds what tokenizer_config.json says.
struct Config {
  Json values;  // an object; empty without a file
  std::string file;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key) const;
  /// Returns a special token, whether it is written as a string or as an object; an empty text if there is
  /// none.
  std::string token(const char* key) const;
};
std::unique_ptr<Loaded> load_word_pieces(const lazy::detail::FileBytes&, const Config&);
std::unique_ptr<Loaded> load_byte_pairs(const lazy::detail::FileBytes& vocabulary,
                                        const lazy::detail::FileBytes& merges, const Config&);

/// Returns the tokenizer of a file in the GGUF format, by its keys tokenizer.ggml.*.
std::unique_ptr<Loaded> load_gguf(const std::filesystem::path&, const Site&);
/// Has texts begin and end with special tokens that the tokenizer has.
void add_ends(bool bos, bool eos, Loaded&);

/// Loads whatever a folder or a file has.
std::unique_ptr<const Loaded> load(const std::filesystem::path&, const Site&);

}  // namespace lazy::text::files
