// Moves values from and to operands: element types and strides of memory against lanes of registers.
#pragma once
#include "backends/cpu/emitter/assembly.hpp"

namespace lazy::cpu_backend {

/// Says where the current vectors lie.
struct Addressing {
  bool indexed = true;  // rax is the index along the vector axis; otherwise the pointers already include it
  bool masked = false;  // only the lanes of the tail mask are inside the box
  bool stream = false;  // stores bypass the caches; their addresses are multiples of a vector's bytes
  bool lane0 = false;   // one index only: stores write lane 0 (the epilogue of an inner reduction)
  bool often_unit = false;  // operands of any stride along the vector axis mostly lie side by side: both ways
  /// If not -1, vectors 2u and 2u + 1 hold the even and the odd ones of the elements that lie where they
  /// would, which are bfloat16: parting them takes an instruction a vector, widening them in order two, one
  /// across lanes. It is the vector register that has 0xffff0000 in its lanes.
  int parted = -1;
  bool at_origin = false;  // the sequential axis is at its first index (an epilogue)
  int vector_axis = 0;
  int row_axis = -1;                 // tile axis
  int32_t tail32 = -1, tail64 = -1;  // AVX2: the tail mask as vectors on the frame
  int32_t count = -1;                // frame: lanes inside the box when masked
  int32_t index_base = -1;           // frame: index along the vector axis when not `indexed`
  int32_t seq_end = -1;              // frame: rax counts down from here along the sequential axis
  int seq_bias = 0;                  // ... and is so much less than the steps left
  const std::vector<int32_t>* counters = nullptr;  // frame: index along each outer axis
  const std::vector<int32_t>* lane_offsets =
      nullptr;                       // frame: of operands strided along the vector axis, lane * stride
  int row_step_operand = -1;         // operand whose rows have separate pointers; -1: none
  std::vector<int8_t> row_pointers;  // of row 3g at [g]; of row r at [r] if a row has one each
  bool pointer_a_row = false;
  int row_stride_reg = -1;
  // Operands, by number, whose rows lie the same distance apart; `row_index[r]` is a register with row r's
  // distance from the pointer in bytes, that along the vector axis included.
  const std::vector<uint8_t>* rows_alike = nullptr;
  const int8_t* row_index = nullptr;
  int32_t stepped =
      -1;  // frame: the arguments, moved on by the scalars of the rolled loop's iterations so far
  std::vector<int32_t> scalars;  // frame: scalar arguments that had to be widened, or -1
};

/// Says how a load reaches its lanes.
enum class LoadForm : uint8_t {
  direct,     // a memory operand: as many elements as lanes, side by side, as wide as their lanes
  broadcast,  // one element of 4 or 8 bytes for all lanes
  routine     // needs instructions
};
LoadForm load_form(const Assembly&, const Addressing&, const Slot&);

class Registers;

/// Returns the address of the first element of the slot's vector. May use rsi, rcx, rdx.
x86::Mem address(Assembly&, const Addressing&, const Slot&);
/// Copies elements one by one between the staging buffer and memory, where they lie side by side (`unit`) or
/// at the operand's stride along the vector axis. `at`: the first one. Uses rsi, rcx, rdx.
void copy_elements(Assembly&, const Addressing&, const Slot&, x86::Mem at, bool to_memory, bool unit);
/// Widens packed elements at `m` to lanes; with `masked`, AVX-512 only, just those of the tail mask.
void widen(Assembly&, Registers&, DType, x86::Mem m, int dest, bool masked);
/// Writes the lanes of a load whose first element is at `m` to `dest`, as below. Uses rsi, rcx, rdx.
void write_load_from(Assembly&, Registers&, const Addressing&, const Slot&, x86::Mem m, int dest);
/// Writes the lanes of a `routine` load to `dest`; `mask` for a bool on AVX-512.
void write_load(Assembly&, Registers&, const Addressing&, const Slot&, int dest);
/// Writes the lanes of a load `index` (i64 lanes) elements on from each lane's element to `dest`, as above.
/// `row`: lane 0's index counts for all lanes.
void write_load_at(Assembly&, Registers&, const Addressing&, const Slot&, int index, bool row, int dest);
void write_store(Assembly&, Registers&, const Addressing&, const Slot&, uint32_t value);
/// Writes indices to `dest`. `wide`: as 64-bit integers, else 32-bit ones.
void write_iota(Assembly&, Registers&, const Addressing&, const Slot&, int dest, bool wide);

}  // namespace lazy::cpu_backend
