// Cuts a text into the pieces that a model sees. How each cuts is as Hugging Face's tokenizers have it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lazy/text/pipeline/aligned.hpp"
#include "lazy/text/pipeline/normalizer.hpp"

namespace lazy::text::pipeline {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Cuts the pieces that are no tokens. Error only for a regular expression that takes too many steps.
  virtual void operator()(Draft&, const Site&) const = 0;
};
using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

/// Says what becomes of the places where a text is cut.
enum class Behavior : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Cuts at whitespace, which goes, and around each character of punctuation.
struct BertPreTokenizer final : PreTokenizer {
  void operator()(Draft&, const Site&) const override;
};
/// Keeps runs of word characters, and runs of what is neither these nor whitespace.
struct Whitespace final : PreTokenizer {
  void operator()(Draft&, const Site&) const override;
};
struct WhitespaceSplit final : PreTokenizer {
  void operator()(Draft&, const Site&) const override;
};
struct Punctuation final : PreTokenizer {
  Behavior behavior = Behavior::isolated;
  void operator()(Draft&, const Site&) const override;
};
struct Digits final : PreTokenizer {
  bool individual = false;
  void operator()(Draft&, const Site&) const override;
};
struct CharDelimiterSplit final : PreTokenizer {
  Pattern delimiter;
  void operator()(Draft&, const Site&) const override;
};
struct Split final : PreTokenizer {
  Pattern pattern;
  Behavior behavior = Behavior::removed;
  bool invert = false;
  void operator()(Draft&, const Site&) const override;
};
/// Writes spaces as a character of their own, one before the text, and cuts before each.
struct Metaspace final : PreTokenizer {
  enum class Prepend : uint8_t { always, first, never };
  std::string replacement = "\u2581";
  Prepend prepend = Prepend::always;
  bool split = true;
  void operator()(Draft&, const Site&) const override;
};
/// Cuts as GPT-2 does, and has the model see bytes.
struct ByteLevel final : PreTokenizer {
  bool add_prefix_space = true, use_regex = true;
  bool is_last = true;  // pieces stay bytes; else they become characters of the byte alphabet at once
  void operator()(Draft&, const Site&) const override;
};
/// Cuts before each U+2581 that follows another character: where no token goes over such a place, a model
/// that joins neighbours gives the same tokens, and words that it has seen.
struct BeforeSpaces final : PreTokenizer {
  void operator()(Draft&, const Site&) const override;
};
struct PreTokenizerSequence final : PreTokenizer {
  std::vector<PreTokenizerPtr> all;
  void operator()(Draft& d, const Site& s) const override {
    for (const auto& p : all) (*p)(d, s);
  }
};

}  // namespace lazy::text::pipeline
