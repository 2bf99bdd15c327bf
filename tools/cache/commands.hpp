// Implements lazy-cache's commands. Each prints to standard output, as text or as JSON, and returns the exit
// status; failures are thrown as lazy::Error.
#pragma once
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "tools/cache/items.hpp"

namespace lazy::tool {

struct Common {
  std::string directory;
  uint64_t limit = 0;  // LAZY_CACHE_SIZE
  bool json = false;
};

/// Returns the store, or throws an Error that says why there is none.
std::unique_ptr<cache::Store> open_store(const Common&, bool writable);

int list(const Common&, bool all);
int stats(const Common&);
int show(const Common&, const std::string& id);
int verify(const Common&, bool recompile);
int prune(const Common&, uint64_t bytes);
int clear(const Common&);
int export_to(const Common&, const std::string& file);
int import_from(const Common&, const std::string& file, bool recompile);
int warmup(const Common&, const std::vector<std::string>& command);

}  // namespace lazy::tool
