// Cuts as GPT-2's tokenizer does: contractions; letters, digits, and the rest, each with the space before it;
// whitespace.
#include "lazy/text/pipeline/bytes.hpp"
#include "lazy/text/pipeline/cutting.hpp"
#include "lazy/text/unicode/properties.hpp"

namespace lazy::text::pipeline {
namespace {

enum class Run : uint8_t { letter, number, space, other };

Run run_of(char32_t c) {
  if (c < 0x80) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Run::letter;
    if (c >= '0' && c <= '9') return Run::number;
    return c == ' ' || (c >= 9 && c <= 13) ? Run::space : Run::other;
  }
  if (unicode::is_letter(c)) return Run::letter;
  if (unicode::is_numeric(c)) return Run::number;
  return unicode::is_whitespace(c) ? Run::space : Run::other;
}

/// Returns the bytes of a contraction ('s, 't, 're, ...) at `at`; 0 if there is none.
size_t contraction(std::string_view view, size_t at) {
  if (view[at] != '\'' || at + 1 == view.size()) return 0;
  const std::string_view rest = view.substr(at + 1, 2);
  if (rest == "re" || rest == "ve" || rest == "ll") return 3;
  return rest[0] == 's' || rest[0] == 't' || rest[0] == 'm' || rest[0] == 'd' ? 2 : 0;
}

/// Returns where the piece ends that begins at `begin`.
size_t end_of_piece(std::string_view view, size_t begin) {
  if (const size_t bytes = contraction(view, begin)) return begin + bytes;
  size_t at = begin;
  Run run = run_of(unicode::next(view, at));
  if (run == Run::space && view[begin] == ' ' && at < view.size()) {
    size_t after = at;
    const Run next = run_of(unicode::next(view, after));
    if (next != Run::space) {
      run = next;
      at = after;
    }
  }
  size_t last = begin;  // where the last character begins
  while (at < view.size()) {
    size_t after = at;
    if (run_of(unicode::next(view, after)) != run) break;
    last = at;
    at = after;
  }
  // Of spaces before something the last one belongs to that, or is a piece of its own.
  return run == Run::space && at < view.size() && last > begin ? last : at;
}

/// Writes the bytes of all pieces as characters of the byte alphabet.
void write_in_alphabet(Draft& draft) {
  Aligned out;
  for (Piece& piece : draft.pieces) {
    const auto begin = static_cast<uint32_t>(out.bytes().size());
    if (piece.is_token()) {
      out.append(draft.text, piece.begin, piece.end);
    } else {
      for (uint32_t at = piece.begin; at < piece.end; ++at)
        out.append(in_byte_alphabet(std::string_view(draft.text.bytes()).substr(at, 1)), draft.text, at);
    }
    piece.begin = begin;
    piece.end = static_cast<uint32_t>(out.bytes().size());
  }
  draft.text = std::move(out);
}

/// Puts a space before each piece that has none.
void prefix_spaces(Draft& draft) {
  Aligned out;
  out.reserve(draft.text.bytes().size() + 1);
  for (Piece& piece : draft.pieces) {
    const auto begin = static_cast<uint32_t>(out.bytes().size());
    if (!piece.is_token() && !draft.view(piece).starts_with(' ')) out.append(" ", draft.text, piece.begin);
    out.append(draft.text, piece.begin, piece.end);
    piece.begin = begin;
    piece.end = static_cast<uint32_t>(out.bytes().size());
  }
  draft.text = std::move(out);
}

}  // namespace

void ByteLevel::operator()(Draft& draft, const Site&) const {
  if (add_prefix_space) prefix_spaces(draft);
  if (use_regex)
    cut(draft, Behavior::isolated, false, [](std::string_view view, auto&& f) {
      for (size_t begin = 0; begin < view.size();) {
        const size_t end = end_of_piece(view, begin);
        f(begin, end);
        begin = end;
      }
    });
  if (is_last) draft.is_byte_level = true;
  else write_in_alphabet(draft);
}

}  // namespace lazy::text::pipeline
