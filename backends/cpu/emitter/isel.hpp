// Declares instruction selection: loop IR to vector IR.
//
// Integers of 8 and 16 bits travel in i32 lanes, sign- or zero-extended after every operation that may leave
// their range; uint32 and uint64 are the bits of i32 and i64 lanes; bool is a mask; the 16-bit floats are the
// float32 of the same value.
#pragma once
#include <vector>

#include "backends/cpu/emitter/block.hpp"
#include "backends/cpu/machine/features.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::cpu_backend {

/// Returns the lane type that values of `t` travel in.
constexpr vir::Type lane_type(DType t) {
  switch (t) {
    case DType::bool_: return vir::Type::mask;
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return vir::Type::f32;
    case DType::float64: return vir::Type::f64;
    case DType::int64:
    case DType::uint64: return vir::Type::i64;
    default: return vir::Type::i32;
  }
}

/// Describes a pointwise op about to be selected.
struct Selecting {
  vir::Builder& b;
  DType type;     // of the result
  DType operand;  // of the operands (of `where`: of its values)
  vir::Val x, y, z;
  jit::Op op{};
  jit::Accuracy accuracy{};
};
using EmitFn = vir::Val (*)(const Selecting&);
/// Returns how the op is emitted; null for a row that is not pointwise.
EmitFn emission(jit::Op);

vir::Val emit_cast(vir::Builder&, DType from, DType to, vir::Val);
/// Brings i32 lanes back into the range of an 8- or 16-bit integer.
vir::Val normalise(vir::Builder&, DType, vir::Val);
// families
vir::Val emit_floor_divide(const Selecting&);
vir::Val emit_remainder(const Selecting&);
vir::Val emit_power(const Selecting&);
vir::Val emit_maximum(const Selecting&);
vir::Val emit_minimum(const Selecting&);
vir::Val emit_philox0(const Selecting&);
vir::Val emit_philox1(const Selecting&);
vir::Val emit_compare(vir::Builder&, DType operand, vir::Pred, vir::Val, vir::Val);

/// Holds straight-line code of a kernel's body or epilogue, once: to be copied for every row and vector in
/// flight.
struct Template {
  std::vector<vir::Inst> code;
  struct Out {
    uint16_t operand;
    uint32_t value;
  };
  struct Update {
    uint16_t accumulator;
    uint32_t value;
  };
  /// Describes a carried value (the line of its kCarried) and what it is in the next iteration.
  struct Carried {
    uint32_t value, next;
  };
  std::vector<Out> stores;
  std::vector<Update> updates;
  std::vector<Carried> carried;
  bool indexed = false;  // it loads at computed indices, or checks some
};

/// Says what an accumulator variable starts from. argmax and argmin have two: the value, then the index.
struct AccumulatorInfo {
  uint16_t reduction;
  vir::Type type;
  uint64_t identity;
};
std::vector<AccumulatorInfo> accumulators_of(const jit::loop::LoopKernel&);

/// Returns the body with its stores, and updates of the accumulators (`reduce`, `scan`). `masked`: updates do
/// not change the lanes outside the tail mask.
Template select_body(const jit::loop::LoopKernel&, Isa, bool masked);
Template select_epilogue(const jit::loop::LoopKernel&, Isa);
/// True if lanes of 64 bits occur: a vector then has half as many lanes.
bool has_wide_lanes(const Template&);
/// Returns acc[i] = combine(acc[i], other[i]) for one reduction's accumulators; `other` is the later part of
/// the axis.
std::vector<vir::Val> combine(vir::Builder&, const jit::loop::Reduction&, const std::vector<vir::Val>& acc,
                              const std::vector<vir::Val>& other);

}  // namespace lazy::cpu_backend
