// What the compiler reads: the values of a captured graph, freely rewritable. Value numbers are those of the
// captured graph; rewriting changes operands and ops, and may append values, but never renumbers, so that
// programs can bind by number.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jit/key/captured_graph.hpp"

namespace lazy::jit {

/// A value's operands, as many as its arity.
class ValueOperands {
 public:
  static constexpr int kInline = 3;
  /// Many are in memory of the trace's.
  void refer_to(uint32_t* many) { many_ = many; }
  uint32_t& operator[](int i) { return many_ ? many_[i] : few_[i]; }
  uint32_t operator[](int i) const { return many_ ? many_[i] : few_[i]; }

 private:
  uint32_t few_[kInline] = {kNone, kNone, kNone};
  uint32_t* many_ = nullptr;
};

struct Value {
  Op op{};  // input for what exists already
  DType dtype{};
  bool output = false;
  uint8_t rank = 0;
  uint8_t ones = 0;     // bit i: dimension i has extent 1
  uint8_t extents = 0;  // how many are not 1
  int arity = 0;
  ValueOperands operand;
  uint32_t node = 0;  // captured graph value whose shape, attributes and line this value has (itself, unless
                      // appended by a pass)
};

struct Trace {
  const CapturedGraph* captured = nullptr;
  std::vector<Value> values;
  std::vector<uint32_t>
      same_as;  // an output that a pass replaced: the value that it equals (else its own number)

  explicit Trace(const CapturedGraph&);
  const Node& node(uint32_t v) const { return *captured->values[values[v].node]; }
  const Shape& shape(uint32_t v) const { return node(v).shape; }
  uint32_t append_copy(uint32_t of);  // a value with the same shape that packs `of` row-major

 private:
  std::vector<std::unique_ptr<uint32_t[]>> many_;  // of each value with many operands
};

/// Writes one line per value; for logs and dumps. `dot`: the same as a Graphviz graph.
std::string print(const Trace&);
std::string dot(const Trace&, const std::vector<int>& kernel_of);

}  // namespace lazy::jit
