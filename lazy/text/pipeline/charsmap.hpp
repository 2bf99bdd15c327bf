// Reads the table of replacements that SentencePiece's models bring: a double array over bytes, and texts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/text/model/trie.hpp"
#include "lazy/text/pipeline/normalizer.hpp"

namespace lazy::text::pipeline {

class Charsmap {
 public:
  Charsmap() = default;
  /// Takes the table as a file has it. Returns what is wrong with it; an empty text if nothing is.
  std::string set(std::string_view bytes);
  bool empty() const { return units_.empty(); }

  /// Holds a replacement, and how many bytes it stands for.
  struct Found {
    std::string_view text;
    size_t size;
  };
  /// Returns the replacement of the longest text, or of the shortest, that another begins with.
  std::optional<Found> longest(std::string_view text) const { return find(text, false); }
  std::optional<Found> shortest(std::string_view text) const { return find(text, true); }

 private:
  std::optional<Found> find(std::string_view text, bool first) const;
  std::vector<uint32_t> units_;
  std::string texts_;  // each ends with a 0
};

/// Replaces what the table has, cluster by cluster, then character by character.
struct Precompiled final : Normalizer {
  Charsmap map;
  void operator()(Aligned&, const Site&) const override;
};

/// Does what SentencePiece's library does before it cuts: the table's replacements, the longest first, but in
/// what the user defined; spaces at the ends and doubled ones go; a space before the text; spaces become
/// U+2581.
struct SentencePieceNormalizer final : Normalizer {
  Charsmap map;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  bool whitespace_is_suffix = false;
  std::vector<std::string> user_defined;
  /// Builds what the calls need. Returns false if there is too much user-defined.
  bool prepare();
  void operator()(Aligned&, const Site&) const override;

 private:
  struct Out;
  size_t step(std::string_view text, size_t at, std::string_view& replacement) const;
  model::Trie user_;
};

}  // namespace lazy::text::pipeline
