// Writes a recorded graph as nodes of the format. Two recordings, for two numbers of rows, are gone through
// side by side: an extent that differs between them is a multiple of the number of rows.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/calls/call.hpp"
#include "jit/graph/node.hpp"
#include "lazy/core/named.hpp"
#include "lazy/core/tensor.hpp"
#include "lazy/io/wire/writer.hpp"

namespace lazy::onnx {

/// Is an intention that stands for an input while a model is recorded. Its attribute is the input's number.
const jit::CallDefinition& input_call();

/// Holds a value in both recordings; `b` is null if there is one recording.
struct Twin {
  jit::Node *a = nullptr, *b = nullptr;
};
/// Holds an integer in both.
struct TwinSize {
  int64_t a, b;
  bool same() const { return a == b; }
};

class Exporter {
 public:
  using Bytes = wire::MessageWriter;
  Exporter(const NamedTensors& weights, std::vector<std::string> inputs, int64_t rows, int64_t other_rows,
           const Site& site);

  /// Writes what the value needs, and an output of that name.
  void add_output(const Twin&, const std::string& name);
  const std::vector<std::string>& problems() const { return problems_; }

  struct Initializer {
    std::string name;
    Tensor value;
  };
  const std::vector<Bytes>& nodes() const { return nodes_; }
  const std::vector<Initializer>& initializers() const { return initializers_; }

 private:
  using Names = std::vector<std::string>;
  void visit(const Twin&);
  Twin operand(const Twin&, int i);
  /// Returns what stands for a value: of an intention that is expanded the output that it is expanded to.
  Twin resolved(Twin);
  void expand_if_needed(const Twin& call);
  std::string name_of(const Twin&);
  std::string write(const Twin&);  // returns the name of the value
  std::string write_pointwise(const Twin&);
  std::string write_view(const Twin&);
  std::string write_update(const Twin&);
  std::string write_call(const Twin& call, int output);
  std::string write_window(const Twin&);
  std::string write_iota(const Twin&);
  std::optional<std::string> write_concat(const Twin&);

  std::string node(const char* op, const Names& inputs, const std::vector<Bytes>& attributes = {});
  std::string cast(const std::string& x, DType to);
  std::string integers(const std::vector<int64_t>&);
  std::string sizes(const std::vector<TwinSize>&);
  std::string number(double v, DType, int rank = 0);
  std::string initializer(Tensor, const std::string& wish = {});
  std::string weight(const Twin&);
  double constant_of(const jit::Node&);
  void problem(const jit::Node&, const std::string& what);
  static std::vector<TwinSize> extents(const Twin&);
  static TwinSize extent(const Twin& t, int axis) {
    return {t.a->shape[axis], t.b ? t.b->shape[axis] : t.a->shape[axis]};
  }

  const Names inputs_;
  const int64_t rows_, other_rows_;
  const Site site_;
  std::map<std::pair<const char*, int>, std::string> weights_;  // names by address and dtype
  std::unordered_map<const jit::Node*, std::string> names_;
  std::unordered_map<const jit::Node*, std::pair<std::vector<jit::Handle>, std::vector<jit::Handle>>>
      expanded_;
  std::map<std::string, std::string> known_;  // initializers by what they hold
  std::set<std::string> used_;
  std::vector<Bytes> nodes_;
  std::vector<Initializer> initializers_;
  std::vector<std::string> problems_;
  std::string batch_;
  int count_ = 0;
};

}  // namespace lazy::onnx
