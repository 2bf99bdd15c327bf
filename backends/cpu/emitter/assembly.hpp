// Declares everything that the writers of one kernel's code share: the assembler, the stack frame, the
// constant pool, variables, pointers.
//
// Registers: rdi args; rax index along the vector axis (or steps left of a sequential axis); rcx, rdx, rsi
// scratch within one instruction's code; the others hold operand pointers. k1 is the tail mask (AVX-512).
// Everything on the frame is addressed from rsp, whose final distance is written into the prologue at the
// end.
#pragma once
#include <asmjit/asmjit.h>

#include <unordered_map>
#include <vector>

#include "backends/cpu/emitter/block.hpp"
#include "backends/cpu/machine/features.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::cpu_backend {
namespace x86 = asmjit::x86;

constexpr int kCacheLine = 64;  // bytes

inline x86::KReg mask_register(int id) { return x86::k(static_cast<uint32_t>(id)); }
/// Returns an operand of eight bytes, for instructions whose other operand does not say how many they are.
inline x86::Mem qword(x86::Mem m) {
  m.setSize(8);
  return m;
}

/// Says where a value that outlives its block is: in a register throughout, or on the frame.
struct Variable {
  vir::Type type{};
  int8_t reg = -1;
  int32_t frame = -1;
};

class Assembly {
 public:
  Assembly(const jit::loop::LoopKernel&, Isa, int lanes);

  const jit::loop::LoopKernel& kernel;
  const jit::loop::ArgLayout args;
  const Isa isa;
  int lanes;  // lanes of the code being written; fewer than the kernel has where only some count
  asmjit::CodeHolder code;
  x86::Assembler a;

  bool avx512() const { return isa >= Isa::avx512; }
  /// Returns the bytes of a vector of `t`.
  int bytes_of(vir::Type t) const {
    if (t == vir::Type::mask) return 8;
    return vir::is64(t) ? lanes * 8 : lanes * 4;
  }
  static x86::Vec vec(int id, int bytes) {
    const auto n = static_cast<uint32_t>(id);
    if (bytes > 32) return x86::Zmm(n);
    if (bytes > 16) return x86::Ymm(n);
    return x86::Xmm(n);
  }
  x86::Vec vec(int id, vir::Type t) const { return vec(id, bytes_of(t)); }
  /// Returns the operand broadcast to all lanes of an AVX-512 instruction; to `n` of them in shorter
  /// registers.
  x86::Mem broadcast(x86::Mem m) const { return broadcast(m, lanes); }
  static x86::Mem broadcast(x86::Mem m, int n) {
    m.setBroadcast(n == 16  ? x86::Mem::Broadcast::k1To16
                   : n == 8 ? x86::Mem::Broadcast::k1To8
                            : x86::Mem::Broadcast::k1To4);
    return m;
  }

  // frame
  int32_t reserve(int bytes);        // aligned to its size (a power of two up to 64)
  int32_t reserve_spill(int bytes);  // likewise, from slots given back
  void release_spill(int32_t at, int bytes) noexcept;
  x86::Mem frame(int32_t at, int32_t offset = 0) const { return x86::ptr(x86::rsp, at + offset); }
  void prologue();
  void epilogue();  // also writes the constant pool and the out-of-line code
  x86::Mem arg(int word) const { return x86::ptr_64(x86::rdi, word * 8); }

  // constants
  x86::Mem constant(uint64_t bits, int width);         // one word of 4 or 8 bytes
  x86::Mem constant_vector(uint64_t bits, int width);  // as many as there are lanes
  x86::Mem lane_numbers(int width, int64_t first);     // first, first + 1, ...
  x86::Mem table(const std::vector<uint8_t>& bytes, int align);

  // variables
  std::vector<Variable> variables;
  uint16_t new_variable(vir::Type t);  // which has no place yet
  uint32_t reserved_vec = 0;           // registers that variables occupy
  int left_free = 0;                   // number of registers that variables leave to a block's values
  bool has_register_to_give() const;
  /// Gives the variable a register of its own. Call only while has_register_to_give().
  void give_register(uint16_t variable);
  uint32_t reserved_k = 0;

  // pointers of operands: `pointer_reg[k]` or, when negative, on the frame at `pointer_frame[k]`
  std::vector<int8_t> pointer_reg;
  std::vector<int32_t> pointer_frame;
  /// Returns the operand's current pointer in a register (rsi if no register is reserved for it).
  x86::Gp pointer(int operand);

  /// Describes code of a rare case, written behind the rest. Its parts are captured by value.
  struct Cold {
    asmjit::Label entry, back;
    int dest, x, y, mask;
    vir::Type type;
    vir::Type operand;
    uint16_t helper;  // or kDivide: x / y
    static constexpr uint16_t kDivide = 0xffff;
  };
  std::vector<Cold> cold;

  /// Returns scratch memory of two vectors, for packed elements on their way between lanes and strided
  /// memory.
  int32_t staging();

  /// Returns a vector register that no variable lives in.
  int tail_scratch() const { return __builtin_ctz(~reserved_vec); }

  int spills = 0;  // statistics for schedule()
  int frame_bytes() const { return frame_size_; }

 private:
  struct Pooled {
    asmjit::Label label;
    std::vector<uint8_t> bytes;
    int align;
  };
  x86::Mem pooled(std::vector<uint8_t> bytes, int align);
  void write_cold();

  std::unordered_map<uint64_t, uint32_t> words4_, words8_;  // bits -> offset in the pool of words
  std::vector<uint32_t> pool4_;
  std::vector<uint64_t> pool8_;
  asmjit::Label label4_, label8_;
  std::vector<Pooled> pooled_;
  std::unordered_map<uint64_t, size_t> vectors4_, vectors8_;
  int32_t frame_size_ = 0;
  std::vector<int32_t> free_spills_[3];
  size_t spills_made_[3] = {};
  size_t patch_at_ = 0;
  int32_t saved_rsp_ = -1;
  int32_t staging_ = -1;
};

}  // namespace lazy::cpu_backend
