// Cuts flushes whose values would take too much memory in two, at the middle of the recorded nodes.
#pragma once
#include <vector>

#include "jit/graph/graph.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// True if the temporary values of the run would take more than LAZY_MAX_BYTES, and two runs would take less.
bool is_cut_in_two(const std::vector<Node*>&, const Program&, const CapturedGraph&);

/// Returns the values of the first half that the second reads: handles keep them.
std::vector<Handle> read_by_second_half(const std::vector<Node*>&);

/// Evaluates the first half, for good; the second is pending and reads its values.
void flush_first_half(Graph&, const std::vector<Node*>&, CapturedGraph&, const std::vector<Handle>& read,
                      const Site&);

}  // namespace lazy::jit
