// Implements LAZY_VERIFY=bisect: finds the smallest part of a graph that still differs from the reference
// backend, and writes it as a program.
#pragma once
#include <unordered_map>

#include "jit/key/captured_graph.hpp"

namespace lazy::jit {

/// Maps each node of the flush to the value that the reference backend computes.
using ReferenceValues = std::unordered_map<const Node*, Handle>;

/// Replaces ops of the flush by their reference values, as long as `wrong` still differs. Writes what remains
/// with its inputs as a C++ file, lazy-verify-<process>-<number>.cpp, to LAZY_DUMP_DIR or the working
/// directory, and names it in a warning. `alone` is true if only the op by itself can be judged. `unit` is
/// the relative size of one rounding, for the comparison.
void bisect(const CapturedGraph&, const Node& wrong, const ReferenceValues&, bool alone, double unit,
            const Site&);

}  // namespace lazy::jit
