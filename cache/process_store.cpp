#include "cache/process_store.hpp"

#include <cstdlib>
#include <utility>

#include "cache/private_directory.hpp"
#include "support/config.hpp"
#include "support/lock.hpp"

namespace lazy::cache {

std::shared_ptr<Store> process_store() {
  struct Current {
    const uint32_t generation = forks::generation();
    std::shared_ptr<Store> store;
    config::CacheMode mode = config::CacheMode::off;
    const std::string* directory = nullptr;
    uint64_t size = 0;
  };
  // The store is never destroyed: flushes may run in other objects' destructors. Pending data are written at
  // exit. A forked child opens its own files: its parent's descriptors share a position, and records may be
  // half written.
  static constinit Mutex mutex;
  static constinit Current* now = nullptr;
  const auto& c = config::get();
  const config::CacheMode mode = c.cache;
  if (mode == config::CacheMode::off) return nullptr;
  const Hold hold(mutex);
  if (!now || now->generation != forks::generation()) now = new Current;
  Current& current = *now;
  const std::string* const directory = &c.cache_dir.get();
  if (!current.store || current.mode != mode || current.directory != directory ||
      current.size != c.cache_size) {
    static constinit bool registered = false;
    if (!std::exchange(registered, true))
      std::atexit([] {
        const Hold end(mutex);
        if (end.intact() && now && now->generation == forks::generation() && now->store) now->store->close();
      });
    current.mode = mode;
    current.directory = directory;
    current.size = c.cache_size;
    current.store = std::make_shared<Store>(Store::Options{default_directory(), mode == config::CacheMode::on,
                                                           current.size, !directory->empty()});
  }
  return current.store;
}

}  // namespace lazy::cache
