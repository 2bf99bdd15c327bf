// Provides a thread-safe cache in memory, bounded by entries and by bytes; the least recently used entries go
// first. Values are shared: one that is evicted while in use lives on until its last user lets go.
//
//   LruCache<Programs> cache(4096, 256 << 20);
//   if (auto p = cache.find(key)) ...
//   auto p = cache.get_or_fill(key, [&] { return Filled{compile(), bytes}; });
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "cache/flight.hpp"
#include "cache/key.hpp"
#include "cache/table.hpp"
#include "support/alone.hpp"
#include "support/lock.hpp"
#include "support/metrics.hpp"

namespace lazy::cache {

struct Stats {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t waits = 0;       // lookups that waited for another thread's fill
  uint64_t evictions = 0;   // dropped to keep the limits; clear() and erase() don't count
  uint64_t collisions = 0;  // a key met another of the same hash
  size_t entries = 0;
  size_t bytes = 0;  // sum of the entries' weights
};

/// Returned by a fill: the value, and the bytes it counts for. A null value is handed out but not cached.
template <class Value>
struct Filled {
  std::shared_ptr<Value> value;
  size_t weight = 0;
};
template <class Value>
Filled(std::shared_ptr<Value>, size_t) -> Filled<Value>;

template <class Value>
class LruCache {
 public:
  using Ptr = std::shared_ptr<Value>;

  /// Makes an empty cache. Each eviction is also added to `evictions`, a counter of lazy::metrics().
  LruCache(size_t max_entries, size_t max_bytes, std::optional<MetricCounter> evictions = {})
      : max_entries_(max_entries), max_bytes_(max_bytes), counter_(evictions) {}

  /// Identifies what find() found, for is_fresh(). One that was not set is never fresh.
  struct Moment {
    uint64_t removals = 0, used = 0;
  };

  /// Returns the value of this key, now the most recently used, or null. O(1), no allocation.
  Ptr find(const KeyView& key, Moment* when = nullptr) {
    const Locked lock(*this);
    return find_locked(key, when);
  }

  /// True if no entry has gone since, and finding this one again would not move it, or by less than kSlack of
  /// the list: who kept key and value may use them as if they had been found. Takes no lock.
  bool is_fresh(const Moment& m) const noexcept {
    return removals_.load(std::memory_order_acquire) == m.removals &&
           uses_.load(std::memory_order_relaxed) - m.used <= slack_.load(std::memory_order_relaxed);
  }
  /// Returns a number that changes when an entry goes: no Moment of before is fresh.
  uint64_t removals() const noexcept { return removals_.load(std::memory_order_acquire); }
  /// Counts a hit of which is_fresh() spared the look-up.
  void count_hit() noexcept { fetch_add(fresh_hits_, 1, std::memory_order_relaxed); }

  /// Returns the value of this key. On a miss `fill()` makes it (a Filled), under no lock, so it may use this
  /// cache for other keys. Threads that miss on one key at once share one call. If it throws, all of them get
  /// the exception and nothing is cached. A fill that looks up its own key throws std::logic_error. Two fills
  /// that need each other's value don't wait for ever: the one that would close the circle computes the value
  /// itself.
  template <class Fill>
  Ptr get_or_fill(const KeyView& key, Fill&& fill) {
    const std::thread::id self = std::this_thread::get_id();
    std::shared_ptr<detail::Flight<Value>> flight;
    bool mine = false;
    {
      const Locked lock(*this);
      if (Ptr hit = find_locked(key)) return hit;
      flight = flights_.find(key);
      if (!flight) {
        flight = std::make_shared<detail::Flight<Value>>(key, self);
        flights_.add(flight);
        mine = true;
      } else if (flight->owner == self) {
        throw std::logic_error("a cache fill asked for the key that it is filling");
      } else if (flights_.waits_for(*flight, self)) {
        flight = nullptr;
      } else {
        flight->waiting.push_back(self);
        --stats_.misses;
        ++stats_.waits;
      }
    }
    if (flight && !mine) return wait(*flight, self);
    try {
      Filled<Value> made = std::forward<Fill>(fill)();
      Doomed doomed;
      Ptr kept = made.value;
      {
        const Locked lock(*this);
        if (made.value) kept = insert_locked(key, std::move(made.value), made.weight, false, doomed);
        if (flight) flights_.remove(flight);
      }
      if (flight) flight->land(kept, nullptr);
      return kept;
    } catch (...) {
      if (flight) {
        {
          const Locked lock(*this);
          flights_.remove(flight);
        }
        flight->land(nullptr, std::current_exception());
      }
      throw;
    }
  }

  /// Inserts a value, replacing any that is there.
  void insert(const KeyView& key, Ptr value, size_t weight) {
    Doomed doomed;
    Ptr kept;  // may be the last reference to a value too heavy to keep
    const Locked lock(*this);
    kept = insert_locked(key, std::move(value), weight, true, doomed);
  }

  /// Changes the weight of an entry; false if the key isn't there (any more).
  bool set_weight(const KeyView& key, size_t weight) {
    Doomed doomed;
    const Locked lock(*this);
    E* e = table_.find(key);
    if (!e) return false;
    bytes_ += weight - e->weight;
    e->weight = weight;
    if (weight > max_bytes_) evict(e, doomed);
    note_size();
    trim(doomed);
    return true;
  }

  bool erase(const KeyView& key) {
    Doomed doomed;
    const Locked lock(*this);
    E* e = table_.find(key);
    if (e) remove(e, doomed);
    return e != nullptr;
  }

  /// Drops every entry. Values of fills under way are inserted when they end.
  void clear() {
    Doomed doomed;
    const Locked lock(*this);
    while (E* e = table_.oldest()) remove(e, doomed);
  }

  void set_limits(size_t max_entries, size_t max_bytes) {
    Doomed doomed;
    const Locked lock(*this);
    max_entries_ = max_entries;
    max_bytes_ = max_bytes;
    note_size();
    trim(doomed);
  }

  Stats stats() const {
    const Locked lock(*this);
    Stats s = stats_;
    s.hits += fresh_hits_.load(std::memory_order_relaxed);
    s.collisions = table_.collisions();
    s.entries = table_.size();
    s.bytes = bytes_;
    return s;
  }

  /// Calls visit(const Key&, const Ptr&) for the `most` most recently used entries, the latest first, under
  /// no lock: on a copy of the list.
  template <class Visit>
  void for_each(Visit&& visit, size_t most = ~size_t{0}) const {
    std::vector<std::pair<Key, Ptr>> listed;
    {
      const Locked lock(*this);
      listed.reserve(std::min(most, table_.size()));
      for (const E* e = table_.newest(); e && listed.size() < most; e = e->older)
        listed.emplace_back(e->key, e->value);
    }
    for (const auto& [key, value] : listed) visit(key, value);
  }

 private:
  using E = detail::Entry<Value>;

  /// Collects evicted entries, declared before the lock: a value's destructor must not run under it.
  struct Doomed {
    E* first = nullptr;
    Ptr replaced;
    Doomed() = default;
    Doomed(const Doomed&) = delete;
    ~Doomed() {
      while (first) delete std::exchange(first, first->chain);
    }
    void add(std::unique_ptr<E> e) {
      e->chain = first;
      first = e.release();
    }
  };

  Ptr find_locked(const KeyView& key, Moment* when = nullptr) {
    E* e = table_.find(key);
    if (!e) {
      ++stats_.misses;
      return nullptr;
    }
    ++stats_.hits;
    touch(e);
    if (when) *when = {removals_.load(std::memory_order_relaxed), e->used};
    return e->value;
  }

  /// Makes an entry the first in the order of use, unless it is nearly.
  void touch(E* e) {
    if (uses_.load(std::memory_order_relaxed) - e->used <= slack_.load(std::memory_order_relaxed)) return;
    table_.touch(e);
    note_first(e);
  }
  void note_first(E* e) {
    e->used = uses_.load(std::memory_order_relaxed) + 1;
    uses_.store(e->used, std::memory_order_relaxed);
  }
  /// Decides by how much the order may be behind. It is not needed while a large cache has room: entries move
  /// once that ends, long before one of them has to go.
  void note_size() {
    const bool room =
        max_entries_ >= kLarge && table_.size() < max_entries_ / 4 * 3 && bytes_ < max_bytes_ / 4 * 3;
    slack_.store(room ? ~size_t{0} : table_.size() / kSlack, std::memory_order_relaxed);
  }

  /// Returns the value that the cache now has for this key: the given one, or without `replace` one that was
  /// there before.
  Ptr insert_locked(const KeyView& key, Ptr value, size_t weight, bool replace, Doomed& doomed) {
    if (E* e = table_.find(key)) {
      if (!replace) {
        doomed.replaced = std::move(value);
        touch(e);
        return e->value;
      }
      remove(e, doomed);
    }
    if (weight > max_bytes_ || max_entries_ == 0) return value;
    table_.insert(std::unique_ptr<E>(new E{Key(key), value, weight}));
    note_first(table_.newest());
    bytes_ += weight;
    note_size();
    trim(doomed);
    return value;
  }

  void remove(E* e, Doomed& doomed) {
    bytes_ -= e->weight;
    doomed.add(table_.remove(e));
    removals_.fetch_add(1, std::memory_order_release);
    note_size();
  }
  void evict(E* e, Doomed& doomed) {
    remove(e, doomed);
    ++stats_.evictions;
    if (counter_) metric::add(*counter_);
  }
  void trim(Doomed& doomed) {
    while (table_.size() > max_entries_ || bytes_ > max_bytes_) evict(table_.oldest(), doomed);
  }

  Ptr wait(detail::Flight<Value>& flight, std::thread::id self) {
    struct Leave {
      LruCache& cache;
      detail::Flight<Value>& flight;
      std::thread::id self;
      ~Leave() {
        const Locked lock(cache);
        std::erase(flight.waiting, self);
      }
    } leave{*this, flight, self};
    return flight.wait();
  }

  /// Holds the lock. A forked child starts with an empty cache if a thread of its parent was changing it; the
  /// old entries are leaked.
  struct Locked : Hold<Mutex> {
    explicit Locked(const LruCache& c) : Hold<Mutex>(c.mutex_) {
      if (!this->intact()) [[unlikely]]
        const_cast<LruCache&>(c).forget();
    }
  };
  void forget() {
    std::construct_at(&table_);
    std::construct_at(&flights_);
    bytes_ = 0;
    removals_.fetch_add(1, std::memory_order_release);
    note_size();
  }

  mutable Mutex mutex_;
  detail::Table<Value> table_;
  detail::Flights<Value> flights_;
  size_t max_entries_, max_bytes_, bytes_ = 0;
  // The order of use is exact to this share of the entries: so that a few in turn need not be moved each
  // time.
  static constexpr size_t kSlack = 64, kLarge = 1024;
  // Written under the lock. Removals, so many that no Moment of before is fresh; how often an entry was put
  // first; by how many of these an entry's place may be behind.
  std::atomic<uint64_t> removals_{1}, uses_{0};
  std::atomic<size_t> slack_{0};
  std::atomic<uint64_t> fresh_hits_{0};
  Stats stats_;
  std::optional<MetricCounter> counter_;
};

}  // namespace lazy::cache
