// Orders a template's instructions by list scheduling, so that its independent chains take turns.
#pragma once
#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu_backend {

/// Orders the instructions as a processor would begin them that sees all of the code, where `copies` of the
/// template take turns: those on the longest way to the end first. What runs out first is not arithmetic but
/// how far a processor looks ahead: instructions that wait for the one before stand in the way of those that
/// need not. Where more than `registers` values of a copy would be alive, those that end some go first. Each
/// value is computed from the same ones, so no bit changes. Returns false, and changes nothing, for code that
/// has an order of its own: rolled loops, checks, loads at computed indices.
bool list_schedule(Template&, int copies, int registers);

}  // namespace lazy::cpu_backend
