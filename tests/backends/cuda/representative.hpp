// Names one kernel of each kind that the emitter knows, for tables and tests of edge shapes.
#pragma once
#include <string>
#include <vector>

#include "jit/ir/ir.hpp"

namespace lazy::test {

struct Representative {
  std::string name;
  jit::loop::LoopKernel kernel;
};
const std::vector<Representative>& representatives();
/// Returns a kernel by its name. Throws std::out_of_range.
const jit::loop::LoopKernel& representative(const std::string& name);

}  // namespace lazy::test
