// Holds what a model in the ONNX format is made of. Internal to lazy/onnx.
#pragma once
#include <map>

#include "lazy/onnx/import/graph.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "lazy/onnx/onnx.hpp"

namespace lazy::onnx {

/// Holds what copies of a model share.
struct Program {
  detail::FileBytes file;  // of which the graph has texts
  std::unique_ptr<Graph> graph;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<bool> needed;              // for each input of the graph: it has no initializer
  std::vector<std::string> input_names;  // of all inputs of the graph
  std::vector<std::string> weight_names;
  MaybeDevice device;
  int64_t opset = 0;
  std::vector<std::pair<std::string, std::string>> metadata;

  static Model load(const char* op, detail::FileBytes file, std::optional<std::filesystem::path> folder,
                    const LoadOptions& options, const Site& s);
};

/// Holds the inputs that bind() was given, and describes the others.
struct Bound {
  std::map<std::string, Value> values;
  std::vector<ValueInfo> inputs;
};

}  // namespace lazy::onnx
