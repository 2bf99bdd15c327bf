// Holds text that has been changed, with what each of its bytes stands for in the text that came in.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/text/unicode/normal_forms.hpp"

namespace lazy::text::pipeline {

/// Holds a range of bytes of the original text.
struct Origin {
  uint32_t begin = 0, end = 0;
};

/// Holds a text and the origins of its bytes. A text that has not been changed keeps none: its byte i stands
/// for the character of the original at base + i.
class Aligned {
 public:
  Aligned() = default;
  Aligned(std::string text, uint32_t base) : bytes_(std::move(text)), base_(base) {}

  const std::string& bytes() const { return bytes_; }
  bool is_changed() const { return !origins_.empty(); }
  /// Returns what [begin, end) stands for: from where its first byte's origin begins to where its last one's
  /// ends. Of an empty range it is empty.
  Origin origin(uint32_t begin, uint32_t end) const;

  /// Changes bytes in place, each character into one of as many bytes.
  std::string& same_length() { return bytes_; }
  /// Replaces the text: `changes` are characters that replace or follow its own, in order; the first
  /// `skipped` characters are left out.
  void transform(std::span<const unicode::Change> changes, size_t skipped = 0);
  /// Appends a part of another text, of the same original.
  void append(const Aligned& other, uint32_t begin, uint32_t end);
  /// Appends characters that stand for what the byte `at` of another text stands for; for nothing if there is
  /// no such byte.
  void append(std::string_view characters, const Aligned& other, int64_t at);
  void reserve(size_t bytes);

 private:
  void remember_origins();
  std::string bytes_;
  std::vector<Origin> origins_;  // of each byte; empty: unchanged, or no bytes
  uint32_t base_ = 0;
};

/// Holds a part of a text that a model cuts, or one that is a token already.
struct Piece {
  uint32_t begin = 0, end = 0;    // in the draft's bytes
  uint32_t token = ~uint32_t{0};  // an added token; the largest number: none
  bool is_token() const { return token != ~uint32_t{0}; }
};

/// Holds a text on its way: changed, and cut into pieces.
struct Draft {
  Aligned text;
  std::vector<Piece> pieces;
  bool is_byte_level = false;  // the model sees each byte of a piece as a character of the byte alphabet
  std::string_view view(const Piece& p) const {
    return std::string_view(text.bytes()).substr(p.begin, p.end - p.begin);
  }
};

}  // namespace lazy::text::pipeline
