// Holds what a tokenizer's files say, whichever they are.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "lazy/text/model/model.hpp"
#include "lazy/text/pipeline/added_tokens.hpp"
#include "lazy/text/pipeline/decoder.hpp"
#include "lazy/text/pipeline/normalizer.hpp"
#include "lazy/text/pipeline/post_processor.hpp"
#include "lazy/text/pipeline/pre_tokenizer.hpp"

namespace lazy::text::files {

struct Truncation {
  enum class Strategy : uint8_t { longest_first, only_first, only_second };
  uint64_t max_length = 0;  // in tokens, special ones included
  Strategy strategy = Strategy::longest_first;
  bool left = false;  // what is left out stands at the beginning
};

struct Padding {
  uint64_t fixed = 0;        // tokens of each row; 0: as many as the longest has
  uint64_t multiple_of = 0;  // of the length; 0: of any
  bool left = false;
  int64_t id = 0, type_id = 0;
};

/// Holds a tokenizer. Any thread may use it.
struct Loaded {
  std::string file;  // its name, for errors
  pipeline::NormalizerPtr normalizer;
  pipeline::PreTokenizerPtr pre_tokenizer;
  std::unique_ptr<model::Model> model;
  pipeline::PostProcessorPtr post_processor;
  pipeline::DecoderPtr decoder;
  pipeline::AddedTokens added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  std::optional<int64_t> bos, eos, pad, unk;
  std::string chat_template;  // of Jinja; empty: none

  /// Returns the id of a token, an added one or the model's; none if there is no such token.
  std::optional<int64_t> id(std::string_view token) const;
  /// Returns the text of a token; none if there is no such id.
  std::optional<std::string_view> token(int64_t id) const;
};

}  // namespace lazy::text::files
