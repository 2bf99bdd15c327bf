#include "lazy/text/pipeline/pre_tokenizer.hpp"

#include "lazy/text/pipeline/bytes.hpp"
#include "lazy/text/pipeline/cutting.hpp"
#include "lazy/text/unicode/properties.hpp"

namespace lazy::text::pipeline {

void join(std::vector<Segment>& segments, Behavior behavior) {
  if (behavior == Behavior::removed || behavior == Behavior::isolated) return;
  std::vector<Segment> out;
  bool previous = false;
  if (behavior == Behavior::merged_with_next) {
    for (size_t i = segments.size(); i-- > 0;) {
      const Segment& s = segments[i];
      if (s.is_place && !previous && !out.empty()) out.back().begin = s.begin;
      else out.push_back(s);
      previous = s.is_place;
    }
    segments.assign(out.rbegin(), out.rend());
    return;
  }
  for (const Segment& s : segments) {
    const bool joins = behavior == Behavior::contiguous ? s.is_place == previous : s.is_place && !previous;
    if (joins && !out.empty()) out.back().end = s.end;
    else out.push_back(s);
    previous = s.is_place;
  }
  segments = std::move(out);
}

void BertPreTokenizer::operator()(Draft& draft, const Site&) const {
  std::vector<Piece> pieces;
  pieces.reserve(draft.pieces.size() + draft.text.bytes().size() / 4);
  for (const Piece& piece : draft.pieces) {
    if (piece.is_token()) {
      pieces.push_back(piece);
      continue;
    }
    const std::string_view view = draft.view(piece);
    uint32_t begin = piece.begin;
    const auto end_at = [&](uint32_t end) {
      if (begin < end) pieces.push_back({begin, end});
      begin = end;
    };
    for (size_t at = 0; at < view.size();) {
      const auto here = piece.begin + static_cast<uint32_t>(at);
      const char32_t c = unicode::next(view, at);
      const auto after = piece.begin + static_cast<uint32_t>(at);
      if (unicode::is_whitespace(c)) {
        end_at(here);
        begin = after;
      } else if (unicode::is_punctuation(c)) {
        end_at(here);
        end_at(after);
      }
    }
    end_at(piece.end);
  }
  draft.pieces = std::move(pieces);
}

void Whitespace::operator()(Draft& draft, const Site&) const {
  enum class Kind : uint8_t { word, space, rest };
  cut(draft, Behavior::removed, true, [](std::string_view view, auto&& f) {
    size_t begin = 0;
    Kind run = Kind::space;
    for (size_t at = 0; at < view.size();) {
      const size_t here = at;
      const char32_t c = unicode::next(view, at);
      const Kind kind = unicode::is_word(c)         ? Kind::word
                        : unicode::is_whitespace(c) ? Kind::space
                                                    : Kind::rest;
      if (kind == run) continue;
      if (run != Kind::space) f(begin, here);
      begin = here;
      run = kind;
    }
    if (run != Kind::space) f(begin, view.size());
  });
}

void WhitespaceSplit::operator()(Draft& draft, const Site&) const {
  cut_at(draft, Behavior::removed, unicode::is_whitespace);
}
void Punctuation::operator()(Draft& draft, const Site&) const {
  cut_at(draft, behavior, unicode::is_punctuation);
}
void Digits::operator()(Draft& draft, const Site&) const {
  cut_at(draft, individual ? Behavior::isolated : Behavior::contiguous, unicode::is_numeric);
}
void BeforeSpaces::operator()(Draft& draft, const Site&) const {
  constexpr std::string_view kSpace = "\u2581";
  cut(draft, Behavior::isolated, false, [&](std::string_view view, auto&& f) {
    size_t begin = 0;
    for (size_t at = view.find(kSpace); at != view.npos; at = view.find(kSpace, at + kSpace.size())) {
      if (at == 0 || view.substr(0, at).ends_with(kSpace)) continue;
      f(begin, at);
      begin = at;
    }
    if (begin < view.size()) f(begin, view.size());
  });
}
void CharDelimiterSplit::operator()(Draft& draft, const Site& s) const {
  cut(draft, Behavior::removed, false, [&](std::string_view view, auto&& f) { delimiter.each(view, s, f); });
}
void Split::operator()(Draft& draft, const Site& s) const {
  cut(draft, behavior, invert, [&](std::string_view view, auto&& f) { pattern.each(view, s, f); });
}

void Metaspace::operator()(Draft& draft, const Site& s) const {
  Aligned out;
  std::vector<Piece> pieces;
  out.reserve(draft.text.bytes().size() * 3 / 2);
  for (const Piece& piece : draft.pieces) {
    const auto begin = static_cast<uint32_t>(out.bytes().size());
    const std::string_view view = draft.view(piece);
    if (!piece.is_token()) {
      const bool starts = view.starts_with(replacement) || view.starts_with(' ');
      const bool may = prepend == Prepend::always ||
                       (prepend == Prepend::first && draft.text.origin(piece.begin, piece.end).begin == 0);
      if (may && !starts) out.append(replacement, draft.text, piece.begin);
      uint32_t done = piece.begin;
      for (size_t at = view.find(' '); at != view.npos; at = view.find(' ', at + 1)) {
        const auto space = piece.begin + static_cast<uint32_t>(at);
        out.append(draft.text, done, space);
        out.append(replacement, draft.text, space);
        done = space + 1;
      }
      out.append(draft.text, done, piece.end);
    } else {
      out.append(draft.text, piece.begin, piece.end);
    }
    pieces.push_back({begin, static_cast<uint32_t>(out.bytes().size()), piece.token});
  }
  draft.text = std::move(out);
  draft.pieces = std::move(pieces);
  if (!split) return;
  const Pattern place{replacement, {}};
  cut(draft, Behavior::merged_with_next, false,
      [&](std::string_view view, auto&& f) { place.each(view, s, f); });
}

}  // namespace lazy::text::pipeline
