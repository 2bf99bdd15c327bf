// Reads the op table: see ops.def for its columns.
#pragma once
#include <cstddef>
#include <cstdint>

#include "jit/core/dtype.hpp"
#include "support/config_enums.hpp"

namespace lazy::jit {

enum class OpKind : uint8_t {
  input,
  constant,
  iota,
  pointwise,
  indexed,
  view,
  update,
  reduce,
  scan,
  contract,
  call,
  part
};
enum class DTypeRule : uint8_t { same, logical, given, first_bool, index };
enum class Accepts : uint8_t { none, any, number, bits, integer, word32, floating, boolean };
/// Says how accurate an elementary function is; the lower, the more (docs/math.md).
using Accuracy = config::Accuracy;
enum class Exactness : uint8_t { exact, approximate, standard, fast };
inline constexpr uint8_t kAnyArity = 0xff;  // the arity in rows whose nodes have any number of operands
// Limits that a key's fields set (jit/key/key.hpp).
inline constexpr int kMostOperands = (1 << 15) - 1;
inline constexpr uint32_t kMostAttributeBytes = (1 << 16) - 1;
inline constexpr size_t kMostOutputs = 256;  // of one call

enum class Op : uint8_t {
#define LAZY_OP(name, ...) name,
#include "jit/core/ops.def"
#undef LAZY_OP
  complex,  // a pair of planes (jit/graph/planes.hpp): in no graph, so neither keys nor kernels have it
};

struct OpRow {
  const char* name;
  uint8_t arity;
  OpKind kind;
  DTypeRule rule;
  Accepts accepts;
  uint8_t cost;
  Exactness exactness;
};

inline constexpr OpRow kOps[] = {
#define LAZY_OP(name, arity, kind, rule, accepts, cost, exactness) \
  {#name, arity, OpKind::kind, DTypeRule::rule, Accepts::accepts, cost, Exactness::exactness},
#include "jit/core/ops.def"
#undef LAZY_OP
    {"complex", 2, OpKind::part, DTypeRule::given, Accepts::none, 1, Exactness::exact},
};
/// Counts the ops that graphs have; `complex` comes after them.
inline constexpr int kOpCount = sizeof(kOps) / sizeof(kOps[0]) - 1;

constexpr const OpRow& row_of(Op op) { return kOps[static_cast<int>(op)]; }
constexpr const char* name_of(Op op) { return row_of(op).name; }
constexpr OpKind kind_of(Op op) { return row_of(op).kind; }
/// True for an op that has no operands and is on every device: its values are made where they are read.
constexpr bool is_source(Op op) { return op == Op::constant || op == Op::iota; }
/// Returns the reduction that a scan shows the partial results of; of any other op the op itself.
constexpr Op reduction_of(Op op) {
  switch (op) {
    case Op::cumsum: return Op::sum;
    case Op::cumprod: return Op::prod;
    case Op::cummax: return Op::max;
    case Op::cummin: return Op::min;
    default: return op;
  }
}
/// Returns what dumps write after an op's name.
constexpr const char* suffix_of(Accuracy a) {
  constexpr const char* suffixes[] = {"", ".standard", ".fast"};
  return suffixes[static_cast<int>(a)];
}
/// Returns the form that there is of an op on values of type `t` where `wanted` is asked for: the least
/// accurate one that is at least so accurate. float64 has one form only.
constexpr Accuracy form_of(Op op, DType t, Accuracy wanted) {
  const Exactness e = row_of(op).exactness;
  if (e < Exactness::standard || !is_float(t) || t == DType::float64) return Accuracy::full;
  return wanted == Accuracy::fast && e == Exactness::standard ? Accuracy::standard : wanted;
}
/// Returns the cost of one result, in additions.
constexpr uint32_t cost_of(Op op) { return row_of(op).cost; }

}  // namespace lazy::jit
