// Gets names of kernels as VTune does: a library with Initialize and NotifyEvent, of Intel's JIT profiling
// API. It writes them to standard output.
#include <cstdio>
#include <cstring>

namespace {
struct Method {  // iJIT_Method_Load
  unsigned id;
  char* name;
  void* start;
  unsigned size, lines;
  struct {
    unsigned end, line;
  } * table;
  unsigned unused;
  char *module, *file;
};
}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned Initialize() { return 1; }
extern "C" __attribute__((visibility("default"))) int NotifyEvent(unsigned event, void* data) {
  const Method& m = *static_cast<Method*>(data);
  const char* const slash = std::strrchr(m.file, '/');
  const bool covers = m.lines == 1 && m.table[0].end == m.size && m.size > 0 && m.start;
  std::printf("event %u: method %u, %s of %s, %s:%u, %s\n", event, m.id, m.name, m.module,
              slash ? slash + 1 : m.file, m.table[0].line, covers ? "all of it" : "a part");
  return 1;
}
