// Flushes whose values would take too much memory are cut in two where they were recorded.
#pragma once
#include <vector>

#include "jit/graph/graph.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns true if the values of the run's own would take more than LAZY_MAX_BYTES, and fewer in two runs.
bool is_cut_in_two(const std::vector<Node*>&, const Program&, const CapturedGraph&);

/// Returns the values of the first half that the second reads: with handles they are kept.
std::vector<Handle> read_by_second_half(const std::vector<Node*>&);

/// Evaluates the first half, for good; the second is pending and reads its values.
void flush_first_half(Graph&, const std::vector<Node*>&, CapturedGraph&, const std::vector<Handle>& read,
                      const Site&);

}  // namespace lazy::jit
