// Gives an operator's function what it needs to record one node: inputs, attributes, the version of the
// opset, and the places of its outputs.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/core/arg.hpp"
#include "lazy/core/named.hpp"
#include "lazy/onnx/model/protos.hpp"
#include "lazy/onnx/ops/value.hpp"
#include "support/error.hpp"

namespace lazy::onnx {

/// Holds dtype and shape of a value, as a file says them.
struct StaticType {
  DType dtype;
  Shape shape;
};

class Call {
 public:
  /// Holds what is the same for all nodes of a run.
  struct Run {
    Site site;
    MaybeDevice device;
  };
  Call(const Run& run, const NodeProto& node, int64_t version, std::span<const Value> inputs,
       std::span<Value> outputs)
      : run_(run), node_(node), version_(version), inputs_(inputs), outputs_(outputs) {}
  virtual ~Call() = default;

  const Site& site() const { return run_.site; }
  const MaybeDevice& device() const { return run_.device; }
  const NodeProto& node() const { return node_; }
  /// Returns the version of the opset that the node is of.
  int64_t version() const { return version_; }
  /// Throws E, which the importer completes with the node's name.
  template <class E = Error>
  [[noreturn]] void fail(const std::string& what) const {
    throw E(what);
  }

  // Inputs, by position. Those that are left out are not there.

  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].defined(); }
  const Value& value(size_t i) const;
  const Tensor& tensor(size_t i) const { return value(i).tensor(run_.device, run_.site); }
  /// Returns the tensor with the line of the model's call.
  Arg operator[](size_t i) const { return Arg(tensor(i), run_.site); }
  Arg arg(const Tensor& t) const { return Arg(t, run_.site); }
  /// Returns the tensor, or an undefined one if it is left out.
  Tensor tensor_or_none(size_t i) const { return has(i) ? tensor(i) : Tensor(); }
  std::vector<Tensor> tensors(size_t first = 0) const;
  DType dtype(size_t i) const { return value(i).dtype(run_.site); }
  Shape shape(size_t i) const { return value(i).shape(run_.site); }
  int rank(size_t i) const { return shape(i).size(); }
  /// Returns the elements of an input that are known; reads it if they are not, which computes what is
  /// pending.
  Known elements(size_t i) const;
  std::vector<int64_t> integers(size_t i) const { return elements(i).as_integers(); }
  double number(size_t i) const;
  int64_t integer(size_t i) const;

  // Attributes, by name.

  const AttributeProto* attribute(std::string_view name) const;
  bool has(std::string_view name) const { return attribute(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string_view> texts(std::string_view name) const;
  /// Returns an integer that must be there. Error otherwise.
  int64_t needed(std::string_view name) const;
  /// Returns axes in [0, rank). IndexError for others.
  Dims axes(const std::vector<int64_t>& given, int rank) const;
  int axis(int64_t given, int rank) const;

  // Outputs.

  size_t outputs() const { return outputs_.size(); }
  /// True if somebody may read the output.
  bool wants(size_t i) const { return i < node_.output.size() && !node_.output[i].empty(); }
  void give(Value v) { give(0, std::move(v)); }
  void give(size_t i, Value v) {
    if (i < outputs_.size()) outputs_[i] = std::move(v);
  }

  // Graphs in attributes, which the importer runs.

  virtual std::vector<Value> run(std::string_view graph, std::span<const Value> inputs) = 0;
  /// Returns the numbers of a graph's inputs and outputs.
  virtual std::pair<size_t, size_t> arity(std::string_view graph) const = 0;
  /// Returns what the file says of output i of a graph, if its extents are all known.
  virtual std::optional<StaticType> output_type(std::string_view graph, size_t i) const = 0;
  /// Returns the tensor of an attribute.
  virtual Value attribute_tensor(std::string_view name) const = 0;

 private:
  const Run& run_;
  const NodeProto& node_;
  int64_t version_;
  std::span<const Value> inputs_;
  std::span<Value> outputs_;
};

}  // namespace lazy::onnx
