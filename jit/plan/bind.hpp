// Layouts that follow from a frame's concrete nodes.
#pragma once
#include "jit/graph/layout.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// The memory that a binding starts from: a leaf's own layout, or a packed buffer.
Layout source_layout(const Binding&, const Frame&);
/// How a result's elements lie in the buffer that it gets.
Layout result_layout(const Program&, const Result&, const Frame&);

}  // namespace lazy::jit
