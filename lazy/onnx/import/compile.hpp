// Makes graphs of what a file says, and finds all that is not supported.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lazy/onnx/import/graph.hpp"
#include "lazy/onnx/model/tensor.hpp"

namespace lazy::onnx {

class Compiler {
 public:
  Compiler(const detail::FileBytes& file, const ModelProto& model, ExternalFiles& external,
           const MaybeDevice& device)
      : file_(file), model_(model), external_(external), device_(device) {}

  /// Makes the model's graph. What is not supported is in problems() then, and the graph is of no use.
  std::unique_ptr<Graph> compile();

  std::vector<std::string>& problems() { return problems_; }
  std::vector<std::pair<std::string, Tensor>>& weights() { return weights_; }
  /// Returns the version of the opset of the default domain.
  int64_t version() const { return version_; }

 private:
  /// Holds the names that nodes of a graph see, and whether they see those of the graph around it.
  struct Scope {
    Scope* outer = nullptr;
    Graph* graph = nullptr;
    std::unordered_map<std::string_view, size_t> places;
    const std::map<std::string_view, const AttributeProto*>* attributes = nullptr;  // of a function's call
    int64_t version = 0;
    int depth = 0;  // of functions that call functions
  };

  std::unique_ptr<Graph> graph_of(const GraphProto&, Scope& outer);
  std::unique_ptr<Graph> function_of(const FunctionProto&, const NodeProto& call, const Scope& caller);
  void fill(const GraphProto&, Scope&);
  void add_nodes(const std::vector<NodeProto>&, Scope&);
  void add_node(const NodeProto&, Scope&);
  void find_operator_of(Step&, Scope&);
  void check_attributes(const Step&);
  void add_attributes(Step&, Scope&);
  /// Takes a Constant node as a constant of the graph. Returns false if it is none.
  bool add_constant_node(const NodeProto&, Scope&);
  void add_constant(Scope&, std::string_view name, const std::string& weight, const TensorProto&);
  void add_constant(Scope&, std::string_view name, const std::string& weight, Tensor);
  size_t add_place(Scope&, std::string_view name);
  /// Returns the place of a name, 0 if nothing has it.
  size_t find_place(Scope&, std::string_view name);
  bool has_values(const TensorProto&, const std::string& who);
  void problem(const NodeProto&, const std::string& what);
  const FunctionProto* find_function(const NodeProto&) const;
  /// Returns the version of the default domain, or another one if nothing is said of it.
  int64_t version_of(const std::vector<OperatorSetId>&, const std::string& who, int64_t otherwise);

  const detail::FileBytes& file_;
  const ModelProto& model_;
  ExternalFiles& external_;
  const MaybeDevice device_;
  int64_t version_ = 0;
  size_t nodes_ = 0;
  std::vector<std::string> problems_;
  std::vector<std::pair<std::string, Tensor>> weights_;
  std::map<std::string, int> names_;  // how many weights have a name
};

}  // namespace lazy::onnx
