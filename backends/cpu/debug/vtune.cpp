// Implements the protocol of Intel's JIT profiling API (jitprofiling.h of ittapi): the collector's library,
// which the variable names, has Initialize() and NotifyEvent(event, data).
#include "backends/cpu/debug/vtune.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "support/lock.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr unsigned kMethodLoaded = 13;  // iJVM_EVENT_TYPE_METHOD_LOAD_FINISHED
constexpr unsigned kSampling = 1;       // iJIT_SAMPLING_ON

struct LineNumber {  // LineNumberInfo
  unsigned end;      // offset into the code up to which it is this line
  unsigned line;
};
struct Method {  // iJIT_Method_Load
  unsigned id;   // not 0
  const char* name;
  const void* start;
  unsigned size, lines;
  const LineNumber* line_numbers;
  unsigned unused;
  const char *module, *file;
};

using Initialize = unsigned (*)();
using Notify = int (*)(unsigned event, void* data);

/// Returns the collector's function; null if nobody listens.
Notify listener() {
  const char* const path = ::secure_getenv("INTEL_JIT_PROFILER64");
  void* const library = path && *path ? ::dlopen(path, RTLD_LAZY) : nullptr;
  if (!library) return nullptr;
  const auto initialize = reinterpret_cast<Initialize>(::dlsym(library, "Initialize"));
  const auto notify = reinterpret_cast<Notify>(::dlsym(library, "NotifyEvent"));
  return initialize && notify && initialize() == kSampling ? notify : nullptr;
}

}  // namespace

void notify_vtune(const CodeInfo& info) {
  static constinit Once<const Notify> found;
  const Notify notify = found.get(listener);
  if (!notify) return;
  static constinit std::atomic<unsigned> last{0};
  const auto size = static_cast<unsigned>(info.size);
  const LineNumber line{size, static_cast<unsigned>(info.line)};
  Method method{last.fetch_add(1, std::memory_order_relaxed) + 1,
                info.name.c_str(),
                info.start,
                size,
                info.line > 0 ? 1u : 0u,
                &line,
                0,
                "lazy",
                info.file.empty() ? nullptr : info.file.c_str()};
  notify(kMethodLoaded, &method);
}

}  // namespace lazy::cpu_backend
