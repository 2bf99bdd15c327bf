// Records a graph: node by node, each value dropped behind its last reader.
#pragma once
#include <span>
#include <vector>

#include "lazy/onnx/import/graph.hpp"

namespace lazy::onnx {

/// Holds what all graphs of a model are recorded with.
struct Environment {
  Call::Run run;
  std::span<const Tensor> weights;
  std::span<const Parameter> quantised;  // by the weights' numbers, or none; defined ones stand for these
};

/// Returns the outputs. `outer` has the values of the graph around this one, if any. Inputs that are
/// undefined leave what an initializer says.
std::vector<Value> run_graph(const Graph&, const Environment&, std::vector<Value> inputs,
                             const std::vector<Value>* outer = nullptr);

}  // namespace lazy::onnx
