#include "lazy/text/model/vocabulary.hpp"

#include "support/hash.hpp"

namespace lazy::text::model {

size_t Vocabulary::slot_of(std::string_view token) const {
  const size_t mask = slots_.size() - 1;
  size_t at = checksum64(token.data(), token.size()) & mask;
  while (slots_[at].id != kNone && view(slots_[at].text) != token) at = (at + 1) & mask;
  return at;
}

void Vocabulary::grow() {
  std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
  old.swap(slots_);
  for (const Slot& s : old)
    if (s.id != kNone) slots_[slot_of(view(s.text))] = s;
}

void Vocabulary::add(std::string_view token, Id id) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  Slot& slot = slots_[slot_of(token)];
  if (slot.id == kNone) {
    slot.text = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(token.size())};
    bytes_ += token;
    ++count_;
  }
  slot.id = id;
  if (id >= texts_.size()) texts_.resize(id + 1);
  texts_[id] = slot.text;
}

Id Vocabulary::find(std::string_view token) const {
  return slots_.empty() ? kNone : slots_[slot_of(token)].id;
}

std::optional<std::string_view> Vocabulary::token(Id id) const {
  if (id >= texts_.size() || texts_[id].size == kNone) return {};
  return view(texts_[id]);
}

}  // namespace lazy::text::model
