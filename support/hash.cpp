#include "support/hash.hpp"

#define XXH_INLINE_ALL  // a quarter faster on keys of a few hundred bytes than the packaged library
#include <xxhash.h>

#include "support/config.hpp"

namespace lazy {

Hash128 hash128(const void* bytes, size_t size) {
  const XXH128_hash_t h = XXH3_128bits(bytes, size);
  return truncated({h.low64, h.high64}, config::get().cache_hash_bits);
}

uint64_t checksum64(const void* bytes, size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace lazy
