// Defines the loop IR: what a kernel computes, without saying for which machine.
//
// A LoopKernel is a box of iterations ("axes", extents known only at launch), a straight-line SSA body
// evaluated at each index, at most one sequential axis along which values are reduced or scanned, and stores.
// Both the reference backend and the compilers read this and nothing else; the order of every reduction is
// fixed here, so that they agree to the bit on sums and so that threads, vector width and fusion never change
// a result.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::jit::loop {

using ValueId = uint16_t;
inline constexpr ValueId kNoValue = 0xffff;
inline constexpr int kMaxAxes = 10;

/// Says what is known of an operand's stride along an axis when the kernel is compiled. Guards ensure it.
/// zero: the operand does not move along the axis. unit: its stride is its element size. any: read it from
/// the arguments.
enum class Stride : uint8_t { zero, unit, any };

struct Operand {
  DType dtype{};
  bool output = false;
  Stride stride[kMaxAxes] =
      {};             // one per axis of the kernel; of an epilogue's output the sequential axis is `zero`
  bool wide = false;  // offsets of one vector may exceed 32 bits (no `stride fits 32 bits` guard)
};

enum class Code : uint8_t {
  load,     // operand `imm` at the current index, as its dtype (float16 and bfloat16 arrive as they are:
            // a cast follows)
  scalar,   // scalar argument `imm`, already of type `type`
  iota,     // index along axis `imm` (its origin added), int64
  op,       // `op` on a, b, c. Never a 16-bit float: lowering casts to float32 and back
  result,   // epilogue only: the value of reduction `imm`
  load_at,  // operand `imm`, as its dtype, `a` (int64) elements on from the current index. Whoever makes the
            // kernel sees to it that there is an element
  check,    // `a` (bool, its value) says that something is at fault: the int32 at the address in scalar
            // argument `imm` (int64) becomes 1 if it is true at an index
  carried,  // first in a rolled loop: `a`, a value from before it, in the first iteration; then what `b`, of
            // the repeat, was in the iteration before
};

struct Instr {
  Code code{};
  Op op{};       // when code == Code::op: cast or any pointwise row of the table
  DType type{};  // of the result
  uint16_t imm = 0;
  ValueId a = kNoValue, b = kNoValue, c = kNoValue;
  Accuracy accuracy{};  // of an elementary function: which of its forms
};

/// Describes instructions [first, last) of a map's body, run one iteration after the other at each index.
/// They are first the rolled loop's carried values, then ops and scalars (of 4 bytes or more): what else they
/// need comes from before. What follows sees the values of the last iteration, of all but carried ones.
struct RolledLoop {
  uint16_t first = 0, last = 0;
  uint16_t trips = 0;        // scalar argument, int64: how many iterations, at least 1
  uint16_t scalar_step = 0;  // `scalar` reads argument imm + scalar_step * iteration
};

/// Describes a store to an output. That may lie in the memory of an input of the same dtype and strides,
/// element on element: a backend loads what an index needs before it stores there. That does not hold if the
/// kernel has several stores and one of them stores that very load, which a backend may put off until then.
struct Store {
  uint16_t operand = 0;
  ValueId value = kNoValue;  // has the operand's dtype
  // The rest is for scatters only.
  ValueId at = kNoValue;  // int64: so many elements on from the current index; below 0: nothing is stored
  Op combine = Op::cast;  // what is there becomes `there combine value` (add, multiply, minimum, maximum), in
                          // the operand's dtype, 16-bit floats by float32; cast: it becomes the value
};

/// Describes an accumulator of a reduce or a scan. `op` is one of the reduce rows, in a scan
/// one of the scan rows.
///
/// float sum and prod, max, min, any, all, argmax, argmin:
///   The sequential axis is cut into blocks of `reduce_block(...)` indices. In a block, element r (counted
///   from the block's start) goes to partial accumulator r mod P, in ascending r; P is `reduce_lanes(...)`.
///   Partials are then folded in halves: acc[l] = acc[l] op acc[l + P/2] for l < P/2, then P/4, ... 1. Block
///   results combine from left to right. Unused accumulators hold the identity (-0.0 for a float sum). An
///   empty axis gives the empty value (+0.0).
/// scans: strictly ascending, starting with the first element itself; combined as the reduction of their
/// name.
struct Reduction {
  Op op{};
  DType type{};  // of the accumulator and of `value` (argmax/argmin: of `value`; their result is int64)
  ValueId value = kNoValue;
};

/// Says what lies between memory and a side of a contraction.
enum class Prologue : uint8_t {
  none,     // the side is a load
  cast,     // the side is one cast of a load
  casts,    // ... several casts, one after the other, of a load
  computed  // the side is another expression
};

/// Describes either of the two values that a contraction multiplies.
struct Side {
  ValueId value = kNoValue;  // instruction of the body, of the contraction's type
  ValueId load = kNoValue;  // instruction of the body: the load that `value` is made of; kNoValue if computed
  Prologue prologue = Prologue::computed;
  bool operator==(const Side&) const = default;
};

/// Describes a sum of products: result[batch..., row, column] = the sum over depth of left[batch..., row,
/// depth] * right[batch..., depth, column].
///
/// Depth is the kernel's sequential axis, columns are its last axis; axes that are none of row, column and
/// depth are batch axes. Products are added in ascending order of depth into one accumulator that starts at
/// +0.0, with one rounding (fused multiply-add) for floats; integers wrap.
/// Invariant: `left` is the same at all indices along the columns, and `right` along the row axis.
struct Contraction {
  DType type{};     // of both sides and of the sum
  int8_t row = -1;  // axis of the kernel, the last one before the columns but depth; -1: there is none, or
                    // the right side moves along it
  Side left, right;
};

enum class Form : uint8_t {
  map,      // every axis is parallel; stores in the body
  reduce,   // stores in the epilogue, once per index of the parallel axes; one that reduces along the last
            // axis may also store values of its body, at every index
  scan,     // stores in the body, which may read its running sums through Code::result
  scatter,  // one store, at a computed index. The output stays in place along the sequential axis, and along
            // that axis the stores happen in ascending order; no two indices of the other axes store to the
            // same element
  contract  // stores in the epilogue, where Code::result 0 is the sum of `LoopKernel::contraction`
};

/// Axes run outermost first, in the logical order of the tensor; the last one is the vector axis. In a
/// `reduce` the sequential axis is either the last one ("inner": lanes run along the reduction) or not
/// ("outer": lanes run along the last, parallel axis). In a `scan` and a `contract` it is never the last
/// (lowering adds an axis of extent 1 where needed); in a `scatter` it may be any.
struct LoopKernel {
  Form form = Form::map;
  uint8_t rank = 0;        // number of axes, at least 1
  int8_t sequential = -1;  // the reduced, scanned, scattered or contracted (depth) axis, -1 for a map
  std::vector<Operand> operands;
  std::vector<Instr>
      body;  // SSA: operands of an instruction come earlier. Body first, then epilogue: one numbering
  uint16_t epilogue = 0;  // index of the epilogue's first instruction in `body` (== body.size() when there is
                          // none). The epilogue runs once per index of the parallel axes. It may use
                          // `result`, scalars, loads (which must not move along the sequential axis) and its
                          // instructions, not the body's.
  std::vector<RolledLoop> rolled_loops;  // in order, apart from each other; maps only
  std::vector<Reduction> reductions;     // of a reduce and a scan, at least one; of others none
  Contraction contraction;               // of a contract
  std::vector<Store> stores;
  uint16_t scalars = 0;  // number of scalar arguments
  std::string name;      // for profiles and dumps; not part of the kernel's identity
  std::string at;        // likewise: the last op's line, as "path/main.cpp:14"

  /// True if there is one result for all indices along the sequential axis, which the epilogue takes.
  bool has_epilogue() const { return form == Form::reduce || form == Form::contract; }
};

/// Returns the number of partial accumulators of one block (see Reduction).
constexpr int reduce_lanes(DType acc, bool inner) { return inner ? (size_of(acc) == 8 ? 32 : 64) : 4; }
/// Returns the number of indices of the sequential axis in a block.
constexpr int64_t reduce_block(bool inner) { return inner ? 16384 : 1024; }

/// Locates the arguments of a launch, which are 64-bit words in one array. Strides are in bytes.
struct ArgLayout {
  int rank, operands, scalars;
  static constexpr int kContext = 0;  // word 0: a pointer for the backend's use
  static constexpr int kScratch = 1;  // words 1-3: for the backend (partial results of split reductions)
  static constexpr int kPlanned = 3;
  /// Of a kernel that packs an operand (Kernel::packing): the address of what Kernel::pack() made of it, 0
  /// for nothing. launch() and launch_here() leave the word as it is.
  static constexpr int kPacked = 3;
  static constexpr int kBox = 4;  // from here on: what the kernel is to do
  constexpr int extent(int axis) const { return kBox + axis; }
  constexpr int origin(int axis) const {
    return kBox + rank + axis;
  }  // index of the box's first element: iota, argmax
  constexpr int pointer(int operand) const { return kBox + 2 * rank + operand * (1 + rank); }
  constexpr int stride(int operand, int axis) const { return pointer(operand) + 1 + axis; }
  constexpr int scalar(int i) const {
    return kBox + 2 * rank + operands * (1 + rank) + i;
  }  // low bytes hold the value
  constexpr int words() const { return scalar(scalars); }

  /// Returns the bytes from one index of `axis` to the next in a launch with `args`, where what is known of
  /// the operand's stride is `known` and its elements have `size` bytes.
  constexpr int64_t stride_bytes(const uint64_t* args, int operand, int axis, Stride known,
                                 int64_t size) const {
    switch (known) {
      case Stride::zero: return 0;
      case Stride::unit: return size;
      case Stride::any: break;
    }
    return static_cast<int64_t>(args[stride(operand, axis)]);
  }
  /// Returns that of the kernel whose operands these are.
  int64_t stride_bytes(const uint64_t* args, const std::vector<Operand>& all, int operand, int axis) const {
    const Operand& o = all[static_cast<size_t>(operand)];
    return stride_bytes(args, operand, axis, o.stride[axis], static_cast<int64_t>(size_of(o.dtype)));
  }
};
inline ArgLayout layout_of(const LoopKernel& k) {
  return {k.rank, static_cast<int>(k.operands.size()), k.scalars};
}

/// Returns the type of Code::result `i` of the kernel.
DType result_type(const LoopKernel&, size_t i);
/// Returns the side whose value this is, with the load and the prologue that the body shows.
Side side_of(const LoopKernel&, ValueId);
/// Returns the contraction of two values of the body: which of them is the left side, and whether there is a
/// row axis, follow from the axes along which they move.
Contraction contraction_of(const LoopKernel&, ValueId, ValueId);

/// True if the kernel loads or stores at a computed index, or checks something.
bool is_indexed(const LoopKernel&);
/// Says, by value of the body, if it is the same at every index along `axis` of the kernel.
std::vector<uint8_t> same_along(const LoopKernel&, int axis);

/// Returns the kernel as text: one line per instruction. Stable; used by dumps and tests.
std::string print(const LoopKernel&);
/// Returns everything that decides the generated code, as bytes: equal bytes mean interchangeable kernels.
std::string identity(const LoopKernel&);
/// Returns the kernel that has these bytes as its identity, nameless; nothing if there is none. The bytes
/// decide its contents: check() tells whether it is well-formed.
std::optional<LoopKernel> from_identity(std::string_view);
/// Throws lazy::Error naming the broken rule. Debug builds and tests run it on every kernel.
void check(const LoopKernel&);

}  // namespace lazy::jit::loop
