#include "backends/cpu/emitter/call_table.hpp"

#include "backends/cpu/packing/transpose.hpp"

namespace lazy::cpu_backend {

const vir::HelperFn kCalls[] = {
#define LAZY_HELPER(name) vir::helper_##name,
#include "backends/vector/helpers.def"
#undef LAZY_HELPER
    helper_copy_transposed,
};

}  // namespace lazy::cpu_backend
