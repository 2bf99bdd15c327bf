#include "backends/cpu/debug/code_info.hpp"

#include <charconv>

#include "backends/cpu/debug/gdb_jit.hpp"
#include "backends/cpu/debug/perf.hpp"
#include "backends/cpu/debug/vtune.hpp"
#include "support/config.hpp"

namespace lazy::cpu_backend {

CodeInfo code_info(const void* start, size_t size, const std::string& name, const std::string& at) {
  CodeInfo info{start, size, "lazy::" + (name.empty() ? std::string("kernel") : name), {}, 0};
  const size_t colon = at.rfind(':');
  if (colon == at.npos) return info;
  info.file = at.substr(0, colon);
  std::from_chars(at.data() + colon + 1, at.data() + at.size(), info.line);
  return info;
}

void announce(const CodeInfo& info) {
  const auto& c = config::get();
  switch (c.perf_map.get()) {
    case config::PerfMap::off: break;
    case config::PerfMap::map: write_perf_map(info); break;
    case config::PerfMap::jitdump: write_jitdump(info); break;
  }
  if (c.gdb) register_with_gdb(info);
  notify_vtune(info);
}

void withdraw(const void* start) noexcept { unregister_with_gdb(start); }

}  // namespace lazy::cpu_backend
