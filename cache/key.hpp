// Defines keys of caches: canonical bytes with their hash. Equality is equality of the bytes.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "support/hash.hpp"

namespace lazy::cache {

/// Refers to a key in someone else's memory, for looking up without a copy.
class KeyView {
 public:
  explicit KeyView(std::span<const std::byte> bytes) : KeyView(bytes, hash128(bytes.data(), bytes.size())) {}
  KeyView(const void* bytes, size_t size) : KeyView(std::span(static_cast<const std::byte*>(bytes), size)) {}
  /// `hash` must be hash128 of the bytes.
  KeyView(std::span<const std::byte> bytes, Hash128 hash) : bytes_(bytes), hash_(hash) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  Hash128 hash() const { return hash_; }

  friend bool operator==(const KeyView& a, const KeyView& b) {
    return a.size() == b.size() &&
           (a.size() == 0 || std::memcmp(a.bytes_.data(), b.bytes_.data(), a.size()) == 0);
  }

 private:
  std::span<const std::byte> bytes_;
  Hash128 hash_;
};

/// Owns a key. Copies share the bytes, which never change.
class Key {
 public:
  explicit Key(KeyView v) : size_(v.size()), hash_(v.hash()) {
    auto copy = std::make_shared_for_overwrite<std::byte[]>(size_);
    if (size_) std::memcpy(copy.get(), v.bytes().data(), size_);
    bytes_ = std::move(copy);
  }
  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }
  size_t size() const { return size_; }
  Hash128 hash() const { return hash_; }
  KeyView view() const { return {bytes(), hash_}; }
  operator KeyView() const { return view(); }

 private:
  std::shared_ptr<const std::byte[]> bytes_;
  size_t size_;
  Hash128 hash_;
};

}  // namespace lazy::cache
