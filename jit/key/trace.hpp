// Holds what the compiler reads: the values of a captured graph, which passes may rewrite. Value numbers are
// those of the captured graph; rewriting changes operands and ops, and may append values, but never
// renumbers, so that programs can bind by number.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jit/key/captured_graph.hpp"

namespace lazy::jit {

/// Holds a value's operands, as many as its arity.
class ValueOperands {
 public:
  static constexpr int kInline = 3;
  /// Refers to operands that the trace owns, where there are many.
  void refer_to(uint32_t* many) { many_ = many; }
  uint32_t& operator[](int i) { return many_ ? many_[i] : few_[i]; }
  uint32_t operator[](int i) const { return many_ ? many_[i] : few_[i]; }

 private:
  uint32_t few_[kInline] = {kNone, kNone, kNone};
  uint32_t* many_ = nullptr;
};

struct Value {
  Op op{};  // Op::input for what exists already
  DType dtype{};
  Accuracy accuracy{};
  bool output = false;
  uint8_t rank = 0;
  uint8_t ones = 0;     // bit i: dimension i has extent 1
  uint8_t extents = 0;  // number of extents that are not 1
  int arity = 0;
  ValueOperands operand;
  uint32_t node = 0;  // captured graph value with this value's shape, attributes and line (its own number,
                      // unless a pass appended it)
};

struct Trace {
  const CapturedGraph* captured = nullptr;
  std::vector<Value> values;
  std::vector<uint32_t>
      same_as;  // value that equals this output, which a pass replaced (else its own number)

  explicit Trace(const CapturedGraph&);
  const Node& node(uint32_t v) const { return *captured->values[values[v].node]; }
  const Shape& shape(uint32_t v) const { return node(v).shape; }
  uint32_t append_copy(uint32_t of);  // appends a value with the same shape that packs `of` row-major

 private:
  std::vector<std::unique_ptr<uint32_t[]>> many_;  // operands of values that have many
};

/// Return one line per value, for logs and dumps, and a Graphviz graph.
std::string print(const Trace&);
std::string dot(const Trace&, const std::vector<int>& kernel_of);

}  // namespace lazy::jit
