// Gives all ranks the same model to begin with.
#pragma once
#include "lazy/lazy.hpp"

namespace lazy::test {

/// Returns the values of a model of this type that all begin with: ranks of one process draw from one
/// generator.
template <class Model>
const NamedTensors& first_values(uint64_t seed = 7) {
  static const NamedTensors all = [&] {
    manual_seed(seed);
    const Model model;
    const NamedTensors state = model.state_dict();
    for (const auto& [name, value] : state) (void)value.eval();
    return state;
  }();
  return all;
}

}  // namespace lazy::test
