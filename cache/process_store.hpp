// Opens the store that the environment names.
#pragma once
#include <memory>

#include "cache/store.hpp"

namespace lazy::cache {

/// Returns the store according to LAZY_CACHE, LAZY_CACHE_DIR and LAZY_CACHE_SIZE now; null when it is off. It
/// is opened at its first use and closed when the process exits.
std::shared_ptr<Store> process_store();

}  // namespace lazy::cache
