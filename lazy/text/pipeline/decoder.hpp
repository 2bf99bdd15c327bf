// Makes text of tokens. What each does is as Hugging Face's tokenizers have it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lazy/text/pipeline/normalizer.hpp"

namespace lazy::text::pipeline {

class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Changes the texts of tokens; joined, they are the decoded text.
  virtual void operator()(std::vector<std::string>& tokens, const Site&) const = 0;
};
using DecoderPtr = std::unique_ptr<const Decoder>;

struct WordPieceDecoder final : Decoder {
  std::string prefix = "##";
  bool cleanup = true;
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct ByteLevelDecoder final : Decoder {
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct MetaspaceDecoder final : Decoder {
  std::string replacement = "\u2581";
  bool drops_first = true;  // spaces of the first token go
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct BpeDecoder final : Decoder {
  std::string suffix = "</w>";
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct ReplaceDecoder final : Decoder {
  Pattern pattern;
  std::string content;
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct ByteFallbackDecoder final : Decoder {
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct FuseDecoder final : Decoder {
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct StripDecoder final : Decoder {
  std::string content = " ";
  uint64_t start = 0, stop = 0;  // how many are left out at most
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct CtcDecoder final : Decoder {
  std::string pad_token = "<pad>", word_delimiter_token = "|";
  bool cleanup = true;
  void operator()(std::vector<std::string>&, const Site&) const override;
};
/// Does what SentencePiece's library does: bytes become characters, U+2581 spaces, those at the start go.
struct SentencePieceDecoder final : Decoder {
  std::string unknown, unknown_surface;             // the unknown token, and what it becomes
  bool has_bytes = false;                           // tokens like <0x41> are bytes
  bool drops_first = true, drops_all_first = true;  // a space at the start goes; all of them
  void operator()(std::vector<std::string>&, const Site&) const override;
};
struct DecoderSequence final : Decoder {
  std::vector<DecoderPtr> all;
  void operator()(std::vector<std::string>& tokens, const Site& s) const override {
    for (const auto& d : all) (*d)(tokens, s);
  }
};

}  // namespace lazy::text::pipeline
