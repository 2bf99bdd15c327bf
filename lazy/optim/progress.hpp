// Saves and loads numbers of the host as named tensors. Internal to lazy/optim.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

/// Returns the number that the dictionary has under the name. Error if there is none, ShapeError if it is not
/// one element.
double loaded_number(const char* name, const NamedTensors& state, const std::string& key, const Site& s);

/// Returns the numbers as float64 tensors of no axes.
NamedTensors saved(const std::vector<std::pair<std::string, Option>>& numbers);
/// Sets all numbers to those of the dictionary, or none if it throws.
void load(const char* name, const std::vector<std::pair<std::string, Option>>& numbers,
          const NamedTensors& state, const Site& s);

}  // namespace lazy::optim
