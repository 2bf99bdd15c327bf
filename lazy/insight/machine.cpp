#include "lazy/insight/machine.hpp"

#include "backends/cpu/threads/machine.hpp"
#include "backends/cpu/threads/parallel.hpp"

namespace lazy {

std::string machine() { return to_string(cpu_backend::machine()); }
void set_arena(tbb::detail::d1::task_arena* arena) { cpu_backend::set_arena(arena); }

}  // namespace lazy
