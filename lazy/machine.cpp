#include "lazy/machine.hpp"

#include "backends/cpu/machine.hpp"
#include "backends/cpu/parallel.hpp"

namespace lazy {

std::string machine() { return to_string(cpu_backend::machine()); }
void set_arena(tbb::detail::d1::task_arena* arena) { cpu_backend::set_arena(arena); }

}  // namespace lazy
