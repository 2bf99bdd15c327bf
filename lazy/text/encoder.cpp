#include "lazy/text/encoder.hpp"

#include <algorithm>

#include "lazy/text/pipeline/bytes.hpp"
#include "lazy/text/unicode/properties.hpp"
#include "lazy/text/unicode/utf8.hpp"
#include "support/error.hpp"

namespace lazy::text {
namespace {

using namespace pipeline;

bool is_space(char32_t c) { return c == kByteSpace || unicode::is_whitespace(c); }

/// Puts a token into a row, with how many spaces it begins and ends with if the row counts them.
void put(Row& row, bool counts, model::Id id, Origin at, int64_t type_id, std::string_view text) {
  row.tokens.ids.push_back(id);
  row.tokens.offsets.push_back({at.begin, at.end});
  row.tokens.type_ids.push_back(type_id);
  if (!counts) return;
  uint32_t before = 0, behind = 0;
  for (size_t i = 0; i < text.size() && is_space(unicode::next(text, i));) ++before;
  for (size_t i = text.size(); i > 0 && is_space(unicode::previous(text, i));) ++behind;
  row.spaces_before.push_back(before);
  row.spaces_behind.push_back(behind);
}

/// Cuts bytes by a model that sees them in the byte alphabet.
void cut_bytes(const model::Model& m, std::string_view bytes, std::vector<model::Token>& out, const Site& s) {
  const std::string characters = in_byte_alphabet(bytes);
  const size_t first = out.size();
  m.cut(characters, out, s);
  // From places in the characters to places in the bytes.
  uint32_t at = 0, byte = 0;
  const auto byte_at = [&](uint32_t place) {
    if (place < at) at = byte = 0;
    while (at < place && at < characters.size()) {
      at += unicode::length_of(characters[at]);
      ++byte;
    }
    return byte;
  };
  for (size_t i = first; i < out.size(); ++i) {
    out[i].begin = byte_at(out[i].begin);
    out[i].end = byte_at(out[i].end);
  }
}

void shorten(Row& row, size_t n, bool left) {
  const size_t size = row.tokens.ids.size();
  if (n >= size) return;
  const auto cut = [&](auto& v) {
    if (v.empty()) return;
    if (left) v.erase(v.begin(), v.end() - static_cast<ptrdiff_t>(n));
    else v.resize(n);
  };
  cut(row.tokens.ids);
  cut(row.tokens.offsets);
  cut(row.tokens.type_ids);
  cut(row.tokens.special);
  cut(row.spaces_before);
  cut(row.spaces_behind);
}

}  // namespace

Row tokens_of(const files::Loaded& t, std::string_view text, int64_t type_id, WordCache& cache,
              const char* op, const Site& s) {
  constexpr size_t kLongest = size_t{1} << 30;
  if (text.size() >= kLongest)
    throw Error(std::string(op) + ": the text has " + std::to_string(text.size()) +
                    " bytes, expected fewer than 2^30",
                s);
  if (const size_t at = unicode::first_malformed(text); at != text.npos)
    throw Error(std::string(op) + ": expected text in UTF-8, found other bytes at byte " + std::to_string(at),
                s);
  Draft draft = t.added(text, t.normalizer.get(), s);
  if (t.pre_tokenizer) (*t.pre_tokenizer)(draft, s);
  const bool counts = t.post_processor && t.post_processor->needs_spaces();
  Row row;
  row.text = text;
  row.tokens.ids.reserve(text.size() / 3);
  row.tokens.offsets.reserve(text.size() / 3);
  row.tokens.type_ids.reserve(text.size() / 3);
  for (const Piece& piece : draft.pieces) {
    const std::string_view word = draft.view(piece);
    if (piece.is_token()) {
      put(row, counts, piece.token, draft.text.origin(piece.begin, piece.end), type_id, word);
      continue;
    }
    const auto tokens = cache(word, [&](std::vector<model::Token>& out) {
      draft.is_byte_level ? cut_bytes(*t.model, word, out, s) : t.model->cut(word, out, s);
    });
    for (const model::Token& token : tokens)
      put(row, counts, token.id, draft.text.origin(piece.begin + token.begin, piece.begin + token.end),
          type_id, counts ? t.model->vocabulary.token(token.id).value_or("") : std::string_view());
  }
  row.tokens.special.resize(row.tokens.ids.size());
  return row;
}

void truncate(std::vector<Row>& rows, const files::Truncation& to, size_t added, const char* op,
              const Site& s) {
  using Strategy = files::Truncation::Strategy;
  const auto fail = [&](const std::string& what) { throw Error(std::string(op) + ": " + what, s); };
  if (to.max_length < added)
    fail("rows of " + std::to_string(to.max_length) + " tokens have no room for the " +
         std::to_string(added) + " special ones");
  const size_t most = to.max_length - added;
  size_t a = rows[0].tokens.ids.size(), b = rows.size() > 1 ? rows[1].tokens.ids.size() : 0;
  if (a + b <= most) return;
  if (rows.size() == 1 && to.strategy != Strategy::only_second) {
    a = most;
  } else if (to.strategy == Strategy::longest_first) {
    // The shorter one stays whole where half of the room is enough for it.
    const size_t shorter = std::min(a, b);
    const size_t longer = shorter > most ? shorter : std::max(shorter, most - shorter);
    const bool halves = shorter + longer > most;
    const size_t less = halves ? most / 2 : shorter, more = halves ? less + most % 2 : longer;
    const bool swapped = a > b;
    a = swapped ? more : less;
    b = swapped ? less : more;
  } else {
    const bool first = to.strategy == Strategy::only_first;
    size_t& target = first ? a : b;
    const size_t other = first ? b : a;
    if (other >= most || rows.size() == 1)
      fail("rows of " + std::to_string(to.max_length) + " tokens are too short if only the " +
           (first ? "first" : "second") + " text is truncated");
    target = most - other;
  }
  shorten(rows[0], a, to.left);
  if (rows.size() > 1) shorten(rows[1], b, to.left);
}

Encoding joined(std::vector<Row>&& rows) {
  if (rows.empty()) return {};
  Encoding out = std::move(rows[0].tokens);
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (size_t i = 1; i < rows.size(); ++i) {
    append(out.ids, rows[i].tokens.ids);
    append(out.offsets, rows[i].tokens.offsets);
    append(out.type_ids, rows[i].tokens.type_ids);
    append(out.special, rows[i].tokens.special);
  }
  return out;
}

}  // namespace lazy::text
