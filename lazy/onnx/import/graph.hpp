// Holds a graph that is ready to be recorded: nodes with their operators, in the order of the file, and
// numbered places for the values between them.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazy/onnx/model/protos.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/onnx/ops/value.hpp"

namespace lazy::onnx {

struct Graph;

/// Says that a value of the graph around a graph is read in it.
struct Capture {
  size_t outer, inner;  // places in both
};

/// Holds one node.
struct Step {
  NodeProto node;                   // in a function with the attributes of the call
  const Operator* op = nullptr;     // null: a function
  std::unique_ptr<Graph> function;  // what the model says that the node does
  int64_t version = 0;
  std::vector<size_t> inputs;   // places; 0 for one that is left out
  std::vector<bool> last;       // for each input: nobody reads the value later
  std::vector<size_t> outputs;  // places; 0 for one that nobody reads
  std::vector<size_t> dropped;  // places that graphs of the node read, and nobody later
  std::vector<std::pair<std::string_view, std::unique_ptr<Graph>>> graphs;  // by attribute
  std::vector<std::pair<std::string_view, Value>> tensors;                  // by attribute
};

/// Holds a value that is there from the beginning: a weight of the model, or known elements alone.
struct Constant {
  static constexpr size_t kNoWeight = ~size_t{0};
  size_t place;
  size_t weight = kNoWeight;
  std::shared_ptr<const Known> known;
};

struct Graph {
  size_t places = 1;  // place 0 has nothing
  std::vector<size_t> inputs, outputs;
  std::vector<std::optional<StaticType>> output_types;  // of a function none
  std::vector<Capture> captures;
  std::vector<Constant> constants;
  std::vector<Step> steps;
};

/// Returns text that names a node: "node 'conv1' (Conv)".
std::string describe(const NodeProto&);

}  // namespace lazy::onnx
