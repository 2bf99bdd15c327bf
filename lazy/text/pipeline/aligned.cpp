#include "lazy/text/pipeline/aligned.hpp"

#include <algorithm>

#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {

Origin Aligned::origin(uint32_t begin, uint32_t end) const {
  if (is_changed()) {
    if (begin >= end) return {begin, end};
    const auto last = static_cast<uint32_t>(origins_.size());
    if (begin >= last) return {origins_.back().end, origins_.back().end};
    return {origins_[begin].begin, origins_[std::min(end, last) - 1].end};
  }
  if (begin >= end) return {base_ + begin, base_ + end};
  while (begin > 0 && begin < bytes_.size() && unicode::continues(bytes_[begin])) --begin;
  while (end < bytes_.size() && unicode::continues(bytes_[end])) ++end;
  return {base_ + begin, base_ + end};
}

void Aligned::remember_origins() {
  if (is_changed() || bytes_.empty()) return;
  origins_.reserve(bytes_.size());
  for (uint32_t at = 0; at < bytes_.size();) {
    const uint32_t size = unicode::length_of(bytes_[at]);
    origins_.insert(origins_.end(), size, {base_ + at, base_ + at + size});
    at += size;
  }
}

void Aligned::transform(std::span<const unicode::Change> changes, size_t skipped) {
  remember_origins();
  std::string bytes;
  std::vector<Origin> origins;
  bytes.reserve(bytes_.size());
  origins.reserve(bytes_.size());
  size_t at = 0;
  const auto skip = [&](int64_t characters) {
    for (; characters > 0 && at < bytes_.size(); --characters) at += unicode::length_of(bytes_[at]);
  };
  skip(static_cast<int64_t>(skipped));
  for (const auto& [character, change] : changes) {
    const Origin origin = change > 0             ? (at == 0 ? Origin{} : origins_[at - 1])
                          : at < origins_.size() ? origins_[at]
                                                 : origins_.back();
    if (change <= 0) skip(1 - int64_t{change});
    unicode::append(bytes, character);
    origins.resize(bytes.size(), origin);
  }
  bytes_.swap(bytes);
  origins_.swap(origins);
}

void Aligned::append(const Aligned& other, uint32_t begin, uint32_t end) {
  if (begin >= end) return;
  const bool follows = !other.is_changed() && !is_changed() &&
                       (bytes_.empty() || base_ + bytes_.size() == other.base_ + begin);
  if (follows) {
    if (bytes_.empty()) base_ = other.base_ + begin;
    bytes_.append(other.bytes_, begin, end - begin);
    return;
  }
  remember_origins();
  bytes_.append(other.bytes_, begin, end - begin);
  if (other.is_changed()) {
    origins_.insert(origins_.end(), other.origins_.begin() + begin, other.origins_.begin() + end);
    return;
  }
  for (uint32_t at = begin; at < end;) {
    const uint32_t size = std::min(unicode::length_of(other.bytes_[at]), end - at);
    origins_.insert(origins_.end(), size, {other.base_ + at, other.base_ + at + size});
    at += size;
  }
}

void Aligned::append(std::string_view characters, const Aligned& other, int64_t at) {
  if (characters.empty()) return;
  remember_origins();
  const auto byte = static_cast<uint32_t>(at);
  const Origin origin = at < 0 ? Origin{} : other.origin(byte, byte + 1);
  bytes_ += characters;
  origins_.resize(bytes_.size(), origin);
}

void Aligned::reserve(size_t bytes) { bytes_.reserve(bytes); }

}  // namespace lazy::text::pipeline
