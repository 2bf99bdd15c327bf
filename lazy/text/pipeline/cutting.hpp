// Cuts the pieces of a draft at the places that a function finds.
#pragma once
#include <vector>

#include "lazy/text/pipeline/pre_tokenizer.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {

/// Holds a part of a piece, which is a place to cut at or lies between two.
struct Segment {
  size_t begin, end;
  bool is_place;
};

/// Joins segments as a behavior says, in place; those that go are marked as places.
void join(std::vector<Segment>& segments, Behavior);

/// Cuts each piece that is no token. `each(view, f)` calls f(begin, end) for the places of a piece, from left
/// to right; if `invert`, what it finds is what lies between places.
template <class Each>
void cut(Draft& draft, Behavior behavior, bool invert, Each&& each) {
  std::vector<Piece> pieces;
  pieces.reserve(draft.pieces.size() + draft.text.bytes().size() / 4);
  std::vector<Segment> segments;
  for (const Piece& piece : draft.pieces) {
    if (piece.is_token()) {
      pieces.push_back(piece);
      continue;
    }
    segments.clear();
    size_t done = 0;
    each(draft.view(piece), [&](size_t begin, size_t end) {
      if (done < begin) segments.push_back({done, begin, invert});
      segments.push_back({begin, end, !invert});
      done = end;
    });
    if (done < piece.end - piece.begin) segments.push_back({done, piece.end - piece.begin, invert});
    join(segments, behavior);
    for (const Segment& s : segments)
      if (s.end > s.begin && !(s.is_place && behavior == Behavior::removed))
        pieces.push_back(
            {piece.begin + static_cast<uint32_t>(s.begin), piece.begin + static_cast<uint32_t>(s.end)});
  }
  draft.pieces = std::move(pieces);
}

/// Cuts at each character that `is_place` is true for.
template <class F>
void cut_at(Draft& draft, Behavior behavior, F&& is_place) {
  cut(draft, behavior, false, [&](std::string_view view, auto&& f) {
    for (size_t at = 0; at < view.size();) {
      const size_t begin = at;
      if (is_place(unicode::next(view, at))) f(begin, at);
    }
  });
}

}  // namespace lazy::text::pipeline
