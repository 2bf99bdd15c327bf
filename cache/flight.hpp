// Tracks fills that are under way, so that threads which miss on one key at once make its value once.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cache/key.hpp"
#include "support/forks.hpp"

namespace lazy::cache::detail {

/// Represents one fill. It belongs to one process: a forked child waits for none of its parent's. `key`
/// points to the filling thread's key, valid while the flight is listed; the cache's lock guards `waiting`.
template <class Value>
struct Flight {
  KeyView key;
  std::thread::id owner;
  std::vector<std::thread::id> waiting;
  const uint32_t generation = forks::generation();

  std::mutex mutex;
  std::condition_variable landed;
  bool done = false;
  std::shared_ptr<Value> value;
  std::exception_ptr error;

  Flight(KeyView k, std::thread::id o) : key(k), owner(o) {}

  void land(std::shared_ptr<Value> v, std::exception_ptr e) {
    {
      const std::lock_guard lock(mutex);
      value = std::move(v);
      error = std::move(e);
      done = true;
    }
    landed.notify_all();
  }
  /// Waits for the value and returns it, or throws what the fill threw.
  std::shared_ptr<Value> wait() {
    std::unique_lock lock(mutex);
    landed.wait(lock, [this] { return done; });
    if (error) std::rethrow_exception(error);
    return value;
  }
};

template <class Value>
class Flights {
 public:
  using Ref = std::shared_ptr<Flight<Value>>;

  Ref find(const KeyView& key) const {
    for (const Ref& f : flights_)
      if (f->generation == forks::generation() && f->key.hash() == key.hash() && f->key == key) return f;
    return nullptr;
  }
  void add(Ref f) { flights_.push_back(std::move(f)); }
  void remove(const Ref& f) { std::erase(flights_, f); }

  /// True if waiting for `f` would close a circle: its owner waits for a flight whose owner waits ... for
  /// this thread.
  bool waits_for(const Flight<Value>& f, std::thread::id self) const {
    std::thread::id owner = f.owner;
    for (size_t step = 0; step <= flights_.size(); ++step) {
      if (owner == self) return true;
      const auto next = std::find_if(flights_.begin(), flights_.end(), [&](const Ref& g) {
        return std::find(g->waiting.begin(), g->waiting.end(), owner) != g->waiting.end();
      });
      if (next == flights_.end()) return false;
      owner = (*next)->owner;
    }
    return true;
  }

 private:
  std::vector<Ref> flights_;  // few: one a compiling thread
};

}  // namespace lazy::cache::detail
