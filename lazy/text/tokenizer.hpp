// Makes numbers of text and text of numbers, as the tokenizers of published models do.
//
//   const lazy::text::Tokenizer t = lazy::text::load_tokenizer("minilm/");   // a folder, or one of its files
//   lazy::text::Encoding e = t.encode("a text");                            // e.ids, e.offsets, ...
//   auto [ids, mask] = t.encode_batch(texts, {.truncate_to = 128});         // tensors (N, T)
//   std::string text = t.decode(e.ids);
//
// Texts are UTF-8, and Error says where one is not. All functions may be called by several threads at once.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/text/pipeline/encoding.hpp"

namespace lazy::text {

namespace files {
struct Loaded;
}

struct EncodeOptions {
  bool special_tokens = true;  // those that the tokenizer puts around a text; ones in a text are always found
};
struct DecodeOptions {
  bool skip_special = true;  // special tokens have no text
};
struct BatchOptions {
  bool pad = true;  // rows get the longest one's length, or what the file says
  std::optional<int64_t> truncate_to =
      {};                              // tokens of a row at most, special ones included; none: the file's
  std::optional<bool> pad_left = {};   // none: as the file says, else on the right
  std::optional<int64_t> pad_id = {};  // none: the tokenizer's
  bool special_tokens = true;
  MaybeDevice device = {};  // none: the default device
};

/// Holds the tokens of texts, a row each.
struct Batch {
  Tensor ids;             // (N, T) int64
  Tensor attention_mask;  // (N, T) int64: 1 for tokens, 0 for padding
};

/// Turns text into tokens and back. Copies share what was loaded.
class Tokenizer {
 public:
  /// Holds nothing: calling it throws Error.
  Tokenizer() = default;

  /// Encodes a text; what the file says of truncation is done. Error for text that is no UTF-8 or has 1 GiB,
  /// and for what the vocabulary has no token for if it has no unknown one.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}, Site s = Site::current()) const;
  /// Encodes two texts that belong together; offsets are of the text that a token is of.
  Encoding encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options = {},
                       Site s = Site::current()) const;
  /// Encodes texts into one tensor. Error for rows of several lengths if they are not padded, and if there is
  /// no token to pad with.
  Batch encode_batch(std::span<const std::string> texts, const BatchOptions& options = {},
                     Site s = Site::current()) const;
  /// Returns the text of ids; those that are no tokens have none.
  std::string decode(std::span<const int64_t> ids, const DecodeOptions& options = {},
                     Site s = Site::current()) const;

  /// Returns the largest id and 1: how many rows an embedding needs.
  int64_t vocab_size(Site s = Site::current()) const;
  /// Returns the id of a token, none if there is no such token.
  std::optional<int64_t> id(std::string_view token, Site s = Site::current()) const;
  /// Returns the token of an id, as the vocabulary writes it; none if there is no such id.
  std::optional<std::string> token(int64_t id, Site s = Site::current()) const;
  /// Returns whether an id is a special token's.
  bool is_special(int64_t id, Site s = Site::current()) const;

  // Return the ids of the tokens that begin and end a text, pad rows, and stand for what is unknown: as
  // tokenizer_config.json says; without it, special tokens of the usual names.

  std::optional<int64_t> bos(Site s = Site::current()) const;
  std::optional<int64_t> eos(Site s = Site::current()) const;
  std::optional<int64_t> pad(Site s = Site::current()) const;
  std::optional<int64_t> unk(Site s = Site::current()) const;
  /// Returns the chat template, for ChatTemplate (chat_template.hpp): that of chat_template.jinja beside the
  /// file, else of tokenizer_config.json, of several the one named default; an empty text if there is none.
  std::string chat_template(Site s = Site::current()) const;

 private:
  friend Tokenizer load_tokenizer(const std::filesystem::path&, Site);
  struct State;
  const State& state(const char* op, const Site&) const;
  std::shared_ptr<const State> state_;
};

/// Loads a tokenizer: tokenizer.json, tokenizer.model or spiece.model of SentencePiece, vocab.txt
/// (WordPiece), or vocab.json with merges.txt (byte-level BPE); of a folder the first of these that it has.
/// Beside it, tokenizer_config.json names special tokens. Of a file that ends in .gguf its own keys are read,
/// tokenizer.ggml.*, of the models llama (SentencePiece's pairs) and gpt2 (byte-level BPE). IoError, with the
/// byte, for files that can't be read or are broken; Error that lists all that is not supported, each with
/// its path in the file.
Tokenizer load_tokenizer(const std::filesystem::path& path, Site s = Site::current());

/// Decodes token by token: joined, what it returns is what decode() returns for all of them. A character is
/// returned whole, once its last byte is there.
class DecodeStream {
 public:
  explicit DecodeStream(Tokenizer tokenizer, const DecodeOptions& options = {});
  /// Returns what a token adds to the text; an empty text while it can't be said yet.
  std::string step(int64_t id, Site s = Site::current());
  /// Returns what is left at the end: characters that were not completed, as decode() has them.
  std::string finish(Site s = Site::current());

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  std::vector<int64_t> ids_;  // the last ones: what is not returned yet, and what stands before it
  std::string returned_;      // what decoding the first `done_` of them gives
  size_t done_ = 0;
};

}  // namespace lazy::text
