// Has a model of a folder compute in integers.
#pragma once
#include "lazy/pretrained/pretrained.hpp"
#include "tools/run/model.hpp"

namespace lazy::tool {

/// Does what Model::quantise() says.
Quantised quantise(pretrained::Model&);

}  // namespace lazy::tool
