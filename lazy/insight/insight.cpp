#include "lazy/insight/insight.hpp"

#include <cstdio>
#include <ostream>

#include "jit/backend/registry.hpp"
#include "jit/flush/flush.hpp"
#include "jit/flush/release_memory.hpp"

namespace lazy {

std::string to_string(const Explanation& e) {
  if (e.flushes.empty()) return "nothing was flushed\n";
  std::string s;
  for (const jit::FlushReport& f : e.flushes) s += describe(f) + "\n";
  return s;
}
std::ostream& operator<<(std::ostream& out, const Explanation& e) { return out << to_string(e); }

size_t release_memory() { return jit::release_memory(); }

namespace cache {

ProgramStats stats() {
  const jit::ProgramCacheStats s = jit::program_cache_stats();
  return {s.entries, s.bytes, s.hits, s.misses, s.evictions};
}
std::vector<ProgramInfo> programs() {
  std::vector<ProgramInfo> all;
  for (const jit::HeldProgram& h : jit::held_programs()) {
    const jit::Program& p = *h.program;
    ProgramInfo& i = all.emplace_back();
    i.runs = p.runs.get();
    i.variant = p.variant;
    i.from_disk = p.from_disk;
    i.ops = p.nodes;
    i.kernels = p.steps.size();
    i.guards = p.guards.size();
    i.code_bytes = p.code_bytes;
    i.compile_ns = p.compile_ns;
    i.graph = jit::describe_key(h.key);
    for (const jit::Guard& g : p.guards) i.guard_texts.push_back(describe(g));
    for (const jit::Step& s : p.steps) i.kernel_texts.push_back(s.text);
  }
  return all;
}
std::string to_string(const std::vector<ProgramInfo>& all) {
  std::string s = "    runs     ops kernels guards     code  variant  from\n";
  for (const ProgramInfo& i : all) {
    char line[160];
    std::snprintf(line, sizeof line, "%8lu %7lu %7lu %6lu %8lu  %-8s %s%s%s\n",
                  static_cast<unsigned long>(i.runs), static_cast<unsigned long>(i.ops),
                  static_cast<unsigned long>(i.kernels), static_cast<unsigned long>(i.guards),
                  static_cast<unsigned long>(i.code_bytes), i.variant.c_str(), i.from_disk ? "disk" : "here",
                  i.kernel_texts.empty() ? "" : "  ",
                  i.kernel_texts.empty() ? "" : i.kernel_texts.front().substr(0, 60).c_str());
    s += line;
  }
  return s;
}
size_t warmup() { return jit::load_programs(); }
void clear() { jit::clear_program_cache(); }
void set_limits(size_t entries, size_t bytes) { jit::set_program_cache_limits(entries, bytes); }

}  // namespace cache
}  // namespace lazy
