// The store that the environment asks for.
#pragma once
#include <memory>

#include "cache/store.hpp"

namespace lazy::cache {

/// As LAZY_CACHE, LAZY_CACHE_DIR and LAZY_CACHE_SIZE say now; null when it is off. Opened when it is first
/// looked into, closed when the process exits.
std::shared_ptr<Store> process_store();

}  // namespace lazy::cache
