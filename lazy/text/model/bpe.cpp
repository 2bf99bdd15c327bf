#include "lazy/text/model/bpe.hpp"

#include <algorithm>
#include <queue>

#include "lazy/text/unicode/utf8.hpp"
#include "support/error.hpp"

namespace lazy::text::model {

void Merges::put(const Slot& slot) {
  size_t at = place(slot.key);
  while (slots_[at].key != kEmpty && slots_[at].key != slot.key) at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].key == kEmpty) ++count_;
  slots_[at] = slot;
}

void Merges::add(Id left, Id right, Merge merge) {
  if (2 * (count_ + 1) > slots_.size()) {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    count_ = 0;
    for (const Slot& s : old)
      if (s.key != kEmpty) put(s);
  }
  put({uint64_t{left} << 32 | right, merge});
}

/// Holds a part of the word that is a token so far. Those that were joined to the one before have size 0.
struct Bpe::Symbol {
  Id id;
  uint32_t size;  // in bytes
  int32_t before, after;
};

void Bpe::prepare() {
  bytes_ = byte_tokens(vocabulary);
  for (unsigned c = 0; c < ascii_.size(); ++c) {
    const char character = static_cast<char>(c);
    ascii_[c] = vocabulary.find({&character, 1});
  }
}

Id Bpe::of_character(std::string_view character, bool first, bool last) const {
  const bool with_prefix = !first && !prefix.empty(), with_suffix = last && !suffix.empty();
  if (!with_prefix && !with_suffix) {
    const auto c = static_cast<unsigned char>(character[0]);
    return c < ascii_.size() ? ascii_[c] : vocabulary.find(character);
  }
  std::string whole(with_prefix ? prefix : std::string());
  whole += character;
  if (with_suffix) whole += suffix;
  return vocabulary.find(whole);
}

/// Takes the word apart into characters, or what stands for those that are no tokens.
void Bpe::begin(std::string_view word, std::vector<Symbol>& symbols, const Site& s) const {
  const auto add = [&](Id id, uint32_t size) {
    const auto n = static_cast<int32_t>(symbols.size());
    symbols.push_back({id, size, n - 1, n + 1});
  };
  uint32_t unknown_size = 0;  // bytes of characters that are unknown and not added yet
  const auto flush = [&] {
    if (unknown_size == 0) return;
    const Id id = vocabulary.find(unknown);
    if (id == kNone)
      throw Error("encode: a character of '" + std::string(word.substr(0, 64)) +
                      "' has no token, and the vocabulary has no unknown token '" + unknown + "'",
                  s);
    add(id, unknown_size);
    unknown_size = 0;
  };
  for (size_t at = 0; at < word.size();) {
    const uint32_t size = unicode::length_of(word[at]);
    const std::string_view character = word.substr(at, size);
    const bool first = at == 0, last = at + size == word.size();
    at += size;
    if (const Id id = of_character(character, first, last); id != kNone) {
      flush();
      add(id, size);
      continue;
    }
    if (byte_fallback) {
      // The affixes belong to what has no token.
      const std::string whole = (first ? "" : prefix) + std::string(character) + (last ? suffix : "");
      if (std::all_of(whole.begin(), whole.end(),
                      [&](char b) { return bytes_[static_cast<unsigned char>(b)] != kNone; })) {
        for (const char b : whole) add(bytes_[static_cast<unsigned char>(b)], 1);
        continue;
      }
    }
    if (!has_unknown) continue;
    if (!fuses_unknown) flush();
    unknown_size += size;
  }
  flush();
}

/// Joins in a short word: looks for the first pair again after each.
void Bpe::join_few(std::vector<Symbol>& symbols) const {
  size_t n = symbols.size();
  std::array<Merges::Merge, 32> found;
  const auto look = [&](size_t i) {
    const auto* m = merges.find(symbols[i].id, symbols[i + 1].id);
    found[i] = m ? *m : Merges::Merge{kNone, kNone};
  };
  for (size_t i = 0; i + 1 < n; ++i) look(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (found[i].rank < found[best].rank) best = i;
    if (found[best].rank == kNone) break;
    symbols[best].id = found[best].id;
    symbols[best].size += symbols[best + 1].size;
    std::copy(symbols.begin() + static_cast<ptrdiff_t>(best) + 2, symbols.begin() + static_cast<ptrdiff_t>(n),
              symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(found.begin() + best + 1, found.begin() + n - 1, found.begin() + best);
    --n;
    if (best + 1 < n) look(best);
    if (best > 0) look(best - 1);
  }
  symbols.resize(n);
}

/// Joins in a long word: pairs wait in a queue, in the order of their ranks and places.
void Bpe::join_many(std::vector<Symbol>& symbols) const {
  struct Pair {
    uint32_t rank;
    int32_t at;
    Id id;
    bool operator>(const Pair& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
  };
  std::vector<Pair> first;
  const auto end = static_cast<int32_t>(symbols.size());
  const auto at = [&](int32_t i) -> Symbol& { return symbols[static_cast<size_t>(i)]; };
  for (int32_t i = 0; i + 1 < end; ++i)
    if (const auto* m = merges.find(at(i).id, at(i + 1).id)) first.push_back({m->rank, i, m->id});
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> open(std::greater<>{}, std::move(first));
  const auto offer = [&](int32_t left, int32_t right) {
    if (const auto* m = merges.find(at(left).id, at(right).id)) open.push({m->rank, left, m->id});
  };
  while (!open.empty()) {
    const Pair pair = open.top();
    open.pop();
    Symbol& left = at(pair.at);
    if (left.size == 0 || left.after >= end) continue;
    Symbol& right = at(left.after);
    const auto* m = merges.find(left.id, right.id);
    if (!m || m->id != pair.id) continue;  // one of the two has become something else meanwhile
    left.id = pair.id;
    left.size += right.size;
    right.size = 0;
    left.after = right.after;
    if (left.after < end) at(left.after).before = pair.at;
    if (left.before >= 0) offer(left.before, pair.at);
    if (left.after < end) offer(pair.at, left.after);
  }
  std::erase_if(symbols, [](const Symbol& s) { return s.size == 0; });
}

void Bpe::cut(std::string_view word, std::vector<Token>& out, const Site& s) const {
  if (ignores_merges)
    if (const Id id = vocabulary.find(word); id != kNone) {
      out.push_back({id, 0, static_cast<uint32_t>(word.size())});
      return;
    }
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  begin(word, symbols, s);
  symbols.size() <= 32 ? join_few(symbols) : join_many(symbols);
  uint32_t at = 0;
  for (const Symbol& symbol : symbols) {
    out.push_back({symbol.id, at, at + symbol.size});
    at += symbol.size;
  }
}

}  // namespace lazy::text::model
