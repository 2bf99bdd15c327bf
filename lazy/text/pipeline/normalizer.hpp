// Changes a text before it is cut: Unicode's normal forms, lower case, accents, spaces. What each does, and
// what its results stand for in the original, is as Hugging Face's tokenizers have it.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazy/text/pipeline/aligned.hpp"
#include "lazy/text/unicode/regex.hpp"
#include "support/site.hpp"

namespace lazy::text::pipeline {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Changes a text. Error only for a regular expression that takes too many steps. Any thread may call it.
  virtual void operator()(Aligned&, const Site&) const = 0;
};
using NormalizerPtr = std::unique_ptr<const Normalizer>;

/// Holds what says a place in a text: a string, or a regular expression.
struct Pattern {
  std::string text;                     // of a string
  std::optional<unicode::Regex> regex;  // none: `text` is the pattern
  /// Calls f(begin, end) for each place, from left to right. None of them overlap.
  template <class F>
  void each(std::string_view in, const Site& s, F&& f) const {
    if (regex) return each_match(*regex, in, s, f);
    if (text.empty()) return;
    for (size_t at = in.find(text); at != in.npos; at = in.find(text, at + text.size()))
      f(at, at + text.size());
  }
};

/// Does what the options say, in their order here.
struct BertNormalizer final : Normalizer {
  bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
  void operator()(Aligned&, const Site&) const override;

 private:
  bool in_place(Aligned&) const;
};
struct UnicodeNormalizer final : Normalizer {
  unicode::NormalForm form;
  explicit UnicodeNormalizer(unicode::NormalForm f) : form(f) {}
  void operator()(Aligned&, const Site&) const override;
};
struct Lowercase final : Normalizer {
  void operator()(Aligned&, const Site&) const override;
};
struct StripAccents final : Normalizer {
  void operator()(Aligned&, const Site&) const override;
};
struct Strip final : Normalizer {
  bool left = true, right = true;
  void operator()(Aligned&, const Site&) const override;
};
struct Replace final : Normalizer {
  Pattern pattern;
  std::string content;
  void operator()(Aligned&, const Site&) const override;
};
struct Prepend final : Normalizer {
  std::string text;
  void operator()(Aligned&, const Site&) const override;
};
struct Nmt final : Normalizer {
  void operator()(Aligned&, const Site&) const override;
};
/// Writes each byte as the character of the byte alphabet.
struct ByteLevelNormalizer final : Normalizer {
  void operator()(Aligned&, const Site&) const override;
};
struct NormalizerSequence final : Normalizer {
  std::vector<NormalizerPtr> all;
  void operator()(Aligned& t, const Site& s) const override {
    for (const auto& n : all) (*n)(t, s);
  }
};

/// Replaces all places of a pattern: what replaces one stands for its last character.
void replace(Aligned&, const Pattern&, std::string_view content, const Site&);
/// Puts a text before another, unless that is empty; it stands for the other's first character.
void prepend(Aligned&, std::string_view);

}  // namespace lazy::text::pipeline
