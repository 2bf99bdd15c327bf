// Holds the kernel that lowering is making: its dimensions, operands and the expressions of its body.
#pragma once
#include <algorithm>
#include <array>

#include "jit/plan/program.hpp"
#include "support/flat_map.hpp"

namespace lazy::jit {

using loop::Code;
using loop::Instr;
using loop::kNoValue;
using loop::LoopKernel;
using loop::Stride;
using loop::ValueId;

/// Maps kernel dimensions to a layout's extents: by kernel dimension, the position among the extents that are
/// not 1, or kAbsent.
struct DimMap {
  int8_t of[loop::kMaxAxes];
  DimMap() { std::fill(std::begin(of), std::end(of), Binding::kAbsent); }
};

struct BuildingOperand {
  Binding binding;
  uint32_t value = kNone;  // trace value in memory
  // By kernel dimension, 0 (it does not move) or 1 + its place in the source, if that is packed; how many
  // places the source has (jit/plan/places.hpp).
  std::array<int8_t, loop::kMaxAxes> place{};
  int places = 0;
  bool packed = false;  // strides follow from the extents
};

/// Holds a body or epilogue: expressions evaluated over one index map.
struct Region {
  std::vector<Instr> code;
  FlatMap<ValueId> memo;      // by value and path
  FlatMap<uint32_t> aligned;  // path and form of a shape -> the path that broadcasts to it
  DimMap dims;
  bool epilogue = false;

  ValueId push(Instr i) {
    code.push_back(i);
    return static_cast<ValueId>(code.size() - 1);
  }
  ValueId cast(ValueId v, DType to) {
    if (code[v].type == to) return v;
    return push({Code::op, Op::cast, to, 0, v});
  }
};

struct Building {
  explicit Building(int of) : group(of) {
    operands.reserve(4);
    epilogue.epilogue = true;
  }

  int group;
  Step step;
  LoopKernel kernel;
  std::vector<BuildingOperand> operands;
  FlatMap<uint16_t> operand_ids;
  FlatMap<uint16_t> scalar_ids;
  std::vector<uint32_t> reduced;  // values of the kernel's reductions
  FlatMap<uint16_t> reduction_ids;
  ValueId left = kNoValue, right = kNoValue;  // of a contraction: values of the body that are multiplied
  size_t body_stores = 0;                     // of a reduce: how many stores, the first ones, are in the body
  int dims = 0;
  int sequential_dim = -1;
  // Bit d: dimension d must not merge with its neighbours (an index along it is used).
  uint32_t fixed_dims = 0;
  Region body, epilogue;

  /// Adds a dimension whose extent is that of one of a value's; of extent 1 if `v` is kNone. `node` is the
  /// value's.
  void add_dim(uint32_t node, int dim) {
    KernelDim d;
    if (node != kNone) d.node = node, d.dim = dim;
    step.dims.push_back(d);
    ++dims;
  }
};

}  // namespace lazy::jit
