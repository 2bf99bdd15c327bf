#include "cache/process_store.hpp"

#include <cstdlib>
#include <mutex>

#include "cache/private_directory.hpp"
#include "support/config.hpp"

namespace lazy::cache {

std::shared_ptr<Store> process_store() {
  struct Current {
    std::mutex mutex;
    std::shared_ptr<Store> store;
    config::CacheMode mode = config::CacheMode::off;
    const std::string* directory = nullptr;
    uint64_t size = 0;
  };
  // Never destroyed: flushes may run in other objects' destructors. What is to be written is written at exit.
  static Current& current = *new Current;
  const auto& c = config::get();
  const config::CacheMode mode = c.cache;
  if (mode == config::CacheMode::off) return nullptr;
  const std::lock_guard hold(current.mutex);
  const std::string* const directory = &c.cache_dir.get();
  if (!current.store || current.mode != mode || current.directory != directory ||
      current.size != c.cache_size) {
    [[maybe_unused]] static const int at_exit = std::atexit([] {
      const std::lock_guard hold(current.mutex);
      if (current.store) current.store->close();
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
