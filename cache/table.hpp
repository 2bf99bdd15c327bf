// Implements the LRU cache's hash table: chained buckets and a recency list, threaded through the entries. It
// does not lock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cache/key.hpp"

namespace lazy::cache::detail {

template <class Value>
struct Entry {
  Key key;
  std::shared_ptr<Value> value;
  size_t weight;
  Entry* chain = nullptr;                    // next in the bucket
  Entry *newer = nullptr, *older = nullptr;  // in the order of use
  uint64_t used = 0;                         // LruCache::uses_ when it was last put first
};

template <class Value>
class Table {
 public:
  using E = Entry<Value>;

  Table() : buckets_(64) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() {
    for (E* e = newest_; e;) delete std::exchange(e, e->older);
  }

  size_t size() const { return size_; }
  E* newest() const { return newest_; }
  E* oldest() const { return oldest_; }
  uint64_t collisions() const { return collisions_; }

  /// Returns the entry with exactly these bytes, or null. An entry of the same hash but other bytes is
  /// counted as a collision.
  E* find(const KeyView& key) {
    for (E* e = buckets_[bucket(key.hash())]; e; e = e->chain) {
      if (e->key.hash() != key.hash()) continue;
      if (e->key.view() == key) return e;
      ++collisions_;
    }
    return nullptr;
  }

  /// Inserts an entry whose key isn't in the table; it becomes the newest. Nothing changes if this throws.
  void insert(std::unique_ptr<E> entry) {
    if (size_ >= buckets_.size()) grow();
    E* e = entry.release();
    E*& head = buckets_[bucket(e->key.hash())];
    e->chain = std::exchange(head, e);
    link(e);
    ++size_;
  }

  std::unique_ptr<E> remove(E* e) {
    E** at = &buckets_[bucket(e->key.hash())];
    while (*at != e) at = &(*at)->chain;
    *at = e->chain;
    unlink(e);
    --size_;
    return std::unique_ptr<E>(e);
  }

  void touch(E* e) {
    if (e == newest_) return;
    unlink(e);
    link(e);
  }

 private:
  size_t bucket(const Hash128& h) const { return static_cast<size_t>(h.lo) & (buckets_.size() - 1); }

  void grow() {
    buckets_.assign(buckets_.size() * 2, nullptr);
    for (E* e = newest_; e; e = e->older) {
      E*& head = buckets_[bucket(e->key.hash())];
      e->chain = std::exchange(head, e);
    }
  }
  void link(E* e) {
    e->newer = nullptr;
    e->older = newest_;
    (newest_ ? newest_->newer : oldest_) = e;
    newest_ = e;
  }
  void unlink(E* e) {
    (e->newer ? e->newer->older : newest_) = e->older;
    (e->older ? e->older->newer : oldest_) = e->newer;
  }

  std::vector<E*> buckets_;  // their number is a power of two
  size_t size_ = 0;
  E *newest_ = nullptr, *oldest_ = nullptr;
  uint64_t collisions_ = 0;
};

}  // namespace lazy::cache::detail
