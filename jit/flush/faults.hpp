// Handles indices out of range: what is computed all the same, and the error.
#pragma once
#include "jit/plan/faults.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Drops the values that depend on the faulty one, so that a flush can go on without them. False if `wanted`,
/// a node of the flush, is one of them: then nothing is changed.
bool leave_out_faulty(CapturedGraph&, const Fault&, const Node& wanted);

/// Throws the IndexError that names the index, the extent and the line that recorded the op; of several
/// indices the first in row-major order. `f` is as it was run, with its inputs unchanged.
[[noreturn]] void explain(const Fault&, const CapturedGraph& f, Backend&);

/// Returns the nodes of the flush that cannot be computed: those that depend on the faulty one, or on another
/// whose index is out of range.
std::vector<const Node*> failed_with(CapturedGraph&, const Fault&, Backend&);
/// Is told, after a flush failed because of an index out of range, of the values that depend on it, which are
/// pending again. The floor above may have better values for some of them.
using FaultListener = void (*)(const std::vector<const Node*>& failed) noexcept;
void set_fault_listener(FaultListener) noexcept;
bool is_fault_listened_to() noexcept;
void tell_of_fault(const std::vector<const Node*>& failed) noexcept;

}  // namespace lazy::jit
