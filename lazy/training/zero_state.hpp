// Keeps the state of an optimizer whose state ranks share out, by parameter: any number of ranks goes on from
// it.
#pragma once
#include "lazy/distributed/zero.hpp"
#include "lazy/training/checkpoint.hpp"

namespace lazy::training {

/// Adds the state as two parts: `name` has what all ranks hold, and `name`.rows of each parameter's values
/// the rows that this rank has, flat. Master weights are among them.
void add_zero(Checkpoint& c, const std::string& name, distributed::ZeroOptimizer& optimizer,
              nn::Module& model, Site s = Site::current());
/// Gives the optimizer what another number of ranks, or one, has saved: of which this rank reads what it
/// holds. The model's parameters are restored before. Error where parameters or their state differ.
void restore_zero(const Checkpoint& c, const std::string& name, distributed::ZeroOptimizer& optimizer,
                  nn::Module& model, Site s = Site::current());

}  // namespace lazy::training
