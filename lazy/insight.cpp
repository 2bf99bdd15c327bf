#include "lazy/insight.hpp"

#include <ostream>

#include "jit/flush.hpp"

namespace lazy {

std::string to_string(const Explanation& e) {
  if (e.flushes.empty()) return "nothing was flushed\n";
  std::string s;
  for (const jit::FlushReport& f : e.flushes) s += to_string(f) + "\n";
  return s;
}
std::ostream& operator<<(std::ostream& out, const Explanation& e) { return out << to_string(e); }

namespace cache {

ProgramStats stats() {
  const jit::ProgramCacheStats s = jit::program_cache_stats();
  return {s.entries, s.bytes, s.hits, s.misses, s.evictions};
}
void clear() { jit::clear_program_cache(); }
void set_limits(size_t entries, size_t bytes) { jit::set_program_cache_limits(entries, bytes); }

}  // namespace cache
}  // namespace lazy
