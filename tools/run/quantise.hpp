// Has models multiply by integers.
#pragma once
#include "lazy/pretrained/pretrained.hpp"
#include "lazy/quant/quantize.hpp"
#include "tools/run/model.hpp"

namespace lazy::tool {

/// Does what Model::quantise() says.
Quantised quantise(pretrained::Model&, Int8);
/// Adds up what was done.
Quantised quantised(const std::vector<quant::Change>&);

}  // namespace lazy::tool
