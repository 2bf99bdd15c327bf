// Folds intentions into those before them, where both have frozen weights: a batch norm with running
// statistics scales and shifts each channel of a convolution, and so does the convolution with other weights
// and another bias. These are computed from frozen values alone, so that is done once (kept_results.hpp).
//
// A fold changes bits: products are summed of weights that were scaled before, not after. So it is done only
// where results are kept, on the host, for values that a model was frozen with (Node::frozen), and where
// nobody else reads what is folded away.
#pragma once
#include <string>
#include <vector>

#include "jit/graph/graph.hpp"

namespace lazy::jit {

class Backend;

/// Counts folds of one kind: `first + second -> first`.
struct Fold {
  const char *first, *second;
  uint64_t times = 0;
};
using Folds = std::vector<Fold>;
/// Returns "conv2d + batch_norm -> conv2d, 20 times".
std::string describe(const Fold&);

/// Folds among nodes that a flush has taken of `graph`: the second call has the first one's definition then,
/// with operands that are recorded before it, and the first one is gone. `held` and what is thrown are as
/// expand() says. Adds to `done` what was folded, if it is not null.
void fold(Graph& graph, std::vector<Node*>& nodes, std::vector<Node*>& held, Backend&, Folds* done);

}  // namespace lazy::jit
