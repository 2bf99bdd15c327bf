// Holds a model of SentencePiece, whichever file it comes from: its own, or one in the GGUF format.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/text/files/loaded.hpp"

namespace lazy::text::files {

enum PieceType : int64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};
enum ModelType : int64_t { kUnigram = 1, kBpe = 2 };

struct SpmPiece {
  std::string_view text;
  float score = 0;
  int64_t type = kNormal;
};

/// Holds what a file says; its texts are the file's. Defaults are the format's.
struct Spm {
  std::vector<SpmPiece> pieces;
  int64_t type = kUnigram;
  bool byte_fallback = false, whitespace_is_suffix = false;
  std::string bos = "<s>", eos = "</s>", pad = "<pad>", unk = "<unk>";
  std::string unknown_surface = " \u2047 ";  // what unknown tokens are decoded to
  std::string_view charsmap;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  uint64_t charsmap_at = 0;  // its byte in the file
};

/// Throws IoError that says what is wrong, and at which byte where the file is one of SentencePiece.
using Bad = std::function<void(uint64_t at, const std::string& what)>;

/// Checks a piece's text, type and score.
void check_piece(const SpmPiece&, uint64_t at, const Bad&);
/// Makes the tokenizer of it.
std::unique_ptr<Loaded> make_sentencepiece(const Spm&, std::string file, const Bad&);

}  // namespace lazy::text::files
