// Builds a LoopKernel instruction by instruction, and the argument words of a launch, for tests.
#pragma once
#include <cstring>
#include <stdexcept>
#include <vector>

#include "jit/core/rules.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::test {
using namespace jit::loop;
using jit::Op;

class KernelBuilder {
 public:
  LoopKernel k;

  explicit KernelBuilder(Form form, int rank, int sequential = -1) {
    k.form = form;
    k.rank = static_cast<uint8_t>(rank);
    k.sequential = static_cast<int8_t>(sequential);
  }

  /// Adds an operand; strides that are not given are `any`.
  int operand(DType t, bool output, std::vector<Stride> strides = {}) {
    Operand o;
    o.dtype = t;
    o.output = output;
    for (int i = 0; i < k.rank; ++i)
      o.stride[i] = i < static_cast<int>(strides.size()) ? strides[i] : Stride::any;
    if (output && k.has_epilogue() && epilogue_ >= 0) o.stride[k.sequential] = Stride::zero;
    k.operands.push_back(o);
    return static_cast<int>(k.operands.size()) - 1;
  }
  ValueId load(int operand) {
    return push({Code::load, {}, k.operands[operand].dtype, static_cast<uint16_t>(operand)});
  }
  ValueId load_at(int operand, ValueId elements) {
    return push({Code::load_at, {}, k.operands[operand].dtype, static_cast<uint16_t>(operand), elements});
  }
  /// Adds a check. The address of the flag that it sets is scalar argument `flag`.
  ValueId check(ValueId bad, ValueId flag) {
    return push({Code::check, {}, DType::bool_, k.body[flag].imm, bad});
  }
  /// Adds an input and loads it.
  ValueId input(DType t, std::vector<Stride> strides = {}) {
    return load(operand(t, false, std::move(strides)));
  }
  ValueId scalar(DType t) { return push({Code::scalar, {}, t, k.scalars++}); }
  ValueId iota(int axis) { return push({Code::iota, {}, DType::int64, static_cast<uint16_t>(axis)}); }
  ValueId op(Op op, ValueId a, ValueId b = kNoValue, ValueId c = kNoValue) {
    const DType t = result_type(op, k.body[op == Op::where ? b : a].type);
    return push({Code::op, op, t, 0, a, b, c});
  }
  ValueId cast(DType to, ValueId a) { return push({Code::op, Op::cast, to, 0, a}); }
  /// Begins a rolled loop: instructions up to end_rolled_loop() run as often as scalar `trips` says; first
  /// come carried values.
  void begin_rolled_loop(ValueId trips, int scalar_step = 0) {
    const auto at = static_cast<uint16_t>(k.body.size());
    k.rolled_loops.push_back({at, at, k.body[trips].imm, static_cast<uint16_t>(scalar_step)});
  }
  ValueId carried(ValueId from) { return push({Code::carried, {}, k.body[from].type, 0, from}); }
  void next(ValueId carried, ValueId v) { k.body[carried].b = v; }
  void end_rolled_loop() { k.rolled_loops.back().last = static_cast<uint16_t>(k.body.size()); }
  int reduce(Op op, ValueId v) {
    k.reductions.push_back({op, k.body[v].type, v});
    return static_cast<int>(k.reductions.size()) - 1;
  }
  int contract(ValueId left, ValueId right) {
    k.contraction = contraction_of(k, left, right);
    return 0;
  }
  /// Begins the epilogue with the next instruction.
  void begin_epilogue() { epilogue_ = static_cast<int>(k.body.size()); }
  ValueId result(int r) {
    return push({Code::result, {}, result_type(k, static_cast<size_t>(r)), static_cast<uint16_t>(r)});
  }
  /// Adds an output that gets `v`; returns the operand.
  int store(ValueId v, std::vector<Stride> strides = {}) {
    const int o = operand(k.body[v].type, true, std::move(strides));
    k.stores.push_back({static_cast<uint16_t>(o), v});
    return o;
  }
  const LoopKernel& done() {
    k.epilogue = static_cast<uint16_t>(epilogue_ < 0 ? static_cast<int>(k.body.size()) : epilogue_);
    return k;
  }

 private:
  ValueId push(Instr i) {
    k.body.push_back(i);
    return static_cast<ValueId>(k.body.size() - 1);
  }
  int epilogue_ = -1;
};

/// Holds the argument words of one launch, all zero at first.
class Launch {
 public:
  explicit Launch(const LoopKernel& k) : layout(layout_of(k)), words(layout.words()) {}
  Launch& extents(std::vector<int64_t> v) {
    for (size_t i = 0; i < v.size(); ++i)
      words[layout.extent(static_cast<int>(i))] = static_cast<uint64_t>(v[i]);
    return *this;
  }
  Launch& origin(int axis, int64_t v) {
    words[layout.origin(axis)] = static_cast<uint64_t>(v);
    return *this;
  }
  /// Sets an operand's address and its strides in bytes.
  Launch& operand(int i, const void* p, std::vector<int64_t> strides) {
    words[layout.pointer(i)] = reinterpret_cast<uint64_t>(p);
    for (size_t a = 0; a < strides.size(); ++a)
      words[layout.stride(i, static_cast<int>(a))] = static_cast<uint64_t>(strides[a]);
    return *this;
  }
  template <class T>
  Launch& scalar(int i, T v) {
    std::memcpy(&words[layout.scalar(i)], &v, sizeof v);
    return *this;
  }
  uint64_t* data() { return words.data(); }

  ArgLayout layout;
  std::vector<uint64_t> words;
};

}  // namespace lazy::test
