#include "jit/backend/kept_results.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>

#include "support/config.hpp"
#include "support/forks.hpp"
#include "support/hash.hpp"
#include "support/lock.hpp"
#include "support/metrics.hpp"

namespace lazy::jit::kept {

struct Store;

/// Ties an entry to one of the buffers that it depends on.
struct Tie {
  uint64_t identity;
  Entry* entry;
  Tie* next = nullptr;  // in its row
};

struct Entry {
  uint64_t hash = 0;
  std::vector<uint64_t> words;
  std::vector<Tie> ties;
  std::shared_ptr<const Kernel> code;
  Store* home = nullptr;        // that it is in; not valid if that is no more the_store
  std::vector<BufferRef> made;  // empty as long as who has the claim makes them
  size_t bytes = 0;
  uint64_t used = 0;       // Store::now when it was last asked for
  uint64_t begun = 0;      // Store::now when it was first asked for
  uint32_t maker = 0;      // the process (forks.hpp) that makes it
  bool again = false;      // it was asked for after it was kept
  bool forgotten = false;  // while it is made: a buffer that it depends on is gone
  Entry* next = nullptr;   // in its row; among those that were taken out
  Entry *newer = nullptr, *older = nullptr;
};

/// Keeps things that have a `next` in rows by a hash.
template <class T>
struct Table {
  std::vector<T*> rows;  // a power of two of them, or none
  size_t count = 0;

  T** row(uint64_t hash) noexcept { return &rows[hash & (rows.size() - 1)]; }
  T* first(uint64_t hash) noexcept { return rows.empty() ? nullptr : *row(hash); }
  /// Makes room for `n` more. Throws std::bad_alloc.
  template <class Hash>
  void reserve(size_t n, Hash&& hash_of) {
    if (count + n <= rows.size()) return;
    std::vector<T*> old(std::bit_ceil(std::max<size_t>(64, 2 * (count + n))), nullptr);
    old.swap(rows);
    count = 0;
    for (T* one : old)
      while (one) {
        T* const after = one->next;
        put(one, hash_of(*one));
        one = after;
      }
  }
  void put(T* one, uint64_t hash) noexcept {
    T** const at = row(hash);
    one->next = *at;
    *at = one;
    ++count;
  }
  void take(T* one, uint64_t hash) noexcept {
    for (T** at = row(hash); *at; at = &(*at)->next)
      if (*at == one) {
        *at = one->next;
        --count;
        return;
      }
  }
};

namespace {

size_t size_of(const Entry& e) {
  constexpr size_t kOwn = 256;  // bytes: itself, its place in tables and the heap
  return e.bytes + kOwn + e.words.size() * sizeof(uint64_t) + e.ties.size() * sizeof(Tie);
}

uint64_t hash_of(const Tie& t) { return mix(0, t.identity); }

}  // namespace

/// Holds all results. Every function is called under the lock; what it takes out is freed after it.
struct Store {
  Table<Entry> entries;
  Table<Tie> ties;
  Entry *newest = nullptr, *oldest = nullptr;
  size_t bytes = 0;
  uint64_t now = 0;
  /// Remembers when results that are not here were last asked for, some of them, by hash.
  struct Asked {
    uint64_t hash = 0, when = 0;
  };
  std::array<Asked, 2048> asked{};

  Entry* find(uint64_t hash, std::span<const uint64_t> words) noexcept {
    for (Entry* e = entries.first(hash); e; e = e->next)
      if (e->hash == hash && std::equal(e->words.begin(), e->words.end(), words.begin(), words.end()))
        return e;
    return nullptr;
  }
  void use(Entry& e) noexcept {
    e.used = ++now;
    if (newest == &e) return;
    unlink(e);
    link(e);
  }
  void link(Entry& e) noexcept {
    e.newer = nullptr;
    e.older = newest;
    (newest ? newest->newer : oldest) = &e;
    newest = &e;
  }
  void unlink(Entry& e) noexcept {
    (e.newer ? e.newer->older : newest) = e.older;
    (e.older ? e.older->newer : oldest) = e.newer;
  }
  /// Returns when it was last asked for, 0 for never, and notes that it is now.
  uint64_t ask(uint64_t hash) noexcept {
    Asked& a = asked[hash % asked.size()];
    const uint64_t before = a.hash == hash ? a.when : 0;
    a = {hash, ++now};
    return before;
  }
  void put(Entry& e) {
    entries.reserve(1, [](const Entry& x) { return x.hash; });
    ties.reserve(e.ties.size(), hash_of);
    e.home = this;
    entries.put(&e, e.hash);
    for (Tie& t : e.ties) ties.put(&t, hash_of(t));
    e.used = e.begun = ++now;
    link(e);
    count(bytes + size_of(e));
  }
  void take(Entry& e) noexcept {
    entries.take(&e, e.hash);
    for (Tie& t : e.ties) ties.take(&t, hash_of(t));
    unlink(e);
    count(bytes - size_of(e));
  }
  /// Takes out the oldest result of the same code beside the same values, if there are many of which none was
  /// asked for again: what changes with each run, as a weight under a random mask does, is in nobody's way.
  void limit(const Entry& e, Entry*& out) noexcept {
    constexpr int kMany = 16;
    int many = 0;
    Entry* first = nullptr;
    for (const Tie* t = ties.first(hash_of(e.ties[0])); t; t = t->next) {
      Entry& other = *t->entry;
      if (t->identity != e.ties[0].identity || other.words[0] != e.words[0] || other.again ||
          other.made.empty())
        continue;
      ++many;
      if (!first || other.used < first->used) first = &other;
    }
    if (many >= kMany) evict(*first, out);
  }
  void evict(Entry& e, Entry*& out) noexcept {
    take(e);
    e.next = std::exchange(out, &e);
    metric::add(MetricCounter::results_evicted);
  }
  void count(size_t n) noexcept { metric::kept(bytes = n); }
  /// Takes out results that were not used since `when`, least recently used first, until there is room for
  /// `more`. False if there is none: then nothing is changed.
  bool make_room(size_t more, uint64_t when, Entry*& out) noexcept {
    const size_t most = static_cast<size_t>(config::get().keep_mb.get()) << 20;
    if (more > most) return false;
    size_t left = bytes;
    Entry* last = oldest;
    for (; left + more > most; last = last->newer) {
      if (!last || last->used >= when) return false;
      if (!last->made.empty()) left -= size_of(*last);
    }
    for (Entry* e = oldest; e != last;) {
      Entry* const after = e->newer;
      if (!e->made.empty()) evict(*e, out);
      e = after;
    }
    return true;
  }
};

namespace {

constinit Mutex mutex;
constinit Store* the_store = nullptr;  // never destroyed: values go at the very end of a process

/// Returns the results; none if a thread of the parent was changing them when this process was forked.
/// Throws std::bad_alloc, only the first time.
Store& store(const Hold<Mutex>& hold) {
  if (!hold.intact()) the_store = nullptr;
  if (!the_store) the_store = new Store;
  return *the_store;
}

/// Frees entries that were taken out. The buffers that go may take others with them.
void free_all(Entry* out) noexcept {
  while (out) delete std::exchange(out, out->next);
}

}  // namespace

bool ask(const Question& q, std::span<BufferRef> made, Claim& claim) noexcept {
  uint64_t hash = q.words.size();
  for (const uint64_t w : q.words) hash = mix(hash, w);
  Entry* out = nullptr;
  std::unique_ptr<Entry> fresh;
  try {
    {
      const Hold hold(mutex);
      Store& all = store(hold);
      if (Entry* const known = all.find(hash, q.words)) {
        if (known->made.size() == made.size()) {
          all.use(*known);
          known->again = true;
          std::copy(known->made.begin(), known->made.end(), made.begin());
          metric::add(MetricCounter::results_reused);
          return true;
        }
        if (known->maker == forks::generation()) return false;
        all.take(*known);  // by a thread that stayed in the parent
      }
    }
    fresh = std::make_unique<Entry>();
    fresh->hash = hash;
    fresh->words.assign(q.words.begin(), q.words.end());
    for (const uint64_t identity : q.beside)
      if (std::none_of(fresh->ties.begin(), fresh->ties.end(),
                       [&](auto& t) { return t.identity == identity; }))
        fresh->ties.push_back({identity, fresh.get()});
    if (q.code) fresh->code = *q.code;
    fresh->bytes = q.bytes;
    fresh->maker = forks::generation();
    const Hold hold(mutex);
    Store& all = store(hold);
    const uint64_t before = all.ask(hash);
    if (!all.find(hash, q.words) && (before || !q.second) && all.make_room(size_of(*fresh), before, out)) {
      all.limit(*fresh, out);
      all.put(*fresh);
      claim = Claim(fresh.release());
    }
  } catch (const std::bad_alloc&) {}
  free_all(out);
  return false;
}

void Claim::keep(std::span<const BufferRef> made, Stays stays) noexcept {
  std::vector<BufferRef> all;
  try {
    all.assign(made.begin(), made.end());
  } catch (const std::bad_alloc&) { return; }
  for (const BufferRef& b : all) b->set_stays(stays);
  const Hold hold(mutex);
  if (!hold.intact()) the_store = nullptr;
  if (entry_->home != the_store || entry_->forgotten) return;
  entry_->made.swap(all);
  entry_ = nullptr;
  metric::add(MetricCounter::results_kept);
}

Claim::~Claim() {
  if (!entry_) return;
  {
    const Hold hold(mutex);
    if (!hold.intact()) the_store = nullptr;
    if (entry_->home == the_store && !entry_->forgotten) the_store->take(*entry_);
  }
  delete entry_;
}

void forget(uint64_t identity) noexcept {
  Entry* out = nullptr;
  {
    const Hold hold(mutex);
    if (!hold.intact()) the_store = nullptr;
    if (!the_store) return;
    Store& all = *the_store;
    for (bool some = true; some;) {
      some = false;
      for (Tie* t = all.ties.first(mix(0, identity)); t; t = t->next) {
        if (t->identity != identity) continue;
        Entry& e = *t->entry;
        all.take(e);
        if (e.made.empty()) e.forgotten = true;
        else e.next = std::exchange(out, &e);
        some = true;
        break;
      }
    }
  }
  free_all(out);
}

namespace {

/// Drops all that are made and of which `which` is true. Returns how many bytes that were.
template <class Which>
size_t release_if(Which&& which) noexcept {
  Entry* out = nullptr;
  size_t bytes = 0;
  {
    const Hold hold(mutex);
    if (!hold.intact()) the_store = nullptr;
    if (!the_store) return 0;
    for (Entry* e = the_store->oldest; e;) {
      Entry* const after = e->newer;
      if (!e->made.empty() && which(*e)) {
        bytes += e->bytes;
        the_store->take(*e);
        e->next = std::exchange(out, e);
      }
      e = after;
    }
  }
  free_all(out);
  return bytes;
}

}  // namespace

size_t release() noexcept {
  return release_if([](const Entry&) { return true; });
}

uint64_t now() noexcept {
  const Hold hold(mutex);
  if (!hold.intact()) the_store = nullptr;
  return the_store ? the_store->now : 0;
}

void release_tried(uint64_t kept_after, uint64_t asked_before) noexcept {
  release_if([&](const Entry& e) { return e.begun > kept_after && e.used <= asked_before; });
}

}  // namespace lazy::jit::kept
