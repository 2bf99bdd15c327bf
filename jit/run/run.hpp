// Executes programs: binds a captured graph's nodes to a program's steps and launches them.
#pragma once
#include <memory>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Runs the program: afterwards every output of the captured graph has its buffer. Throws what allocation, a
/// kernel or a call throws. Then no node was changed, except that inputs that were overwritten are marked
/// `lost`, and calls that ran and must not run twice count: the nodes in CapturedGraph::stands have their
/// values. `arguments` are the caller's of this program; if there are none, it gets those that the run used.
/// `same`: their as_before() is true of the captured graph.
void run(const Program&, CapturedGraph&, Backend&, std::unique_ptr<Arguments>& arguments, bool same);
/// Does the same with the program's own.
void run(const Program&, CapturedGraph&, Backend&);

}  // namespace lazy::jit
