// Writes a block as machine code: one x86 instruction for most of its instructions.
#pragma once
#include "backends/cpu/emitter/registers.hpp"

namespace lazy::cpu_backend {

/// Holds the x86 instruction of each operation for lanes of f32, f64, i32, i64; 0 where there is none.
struct EncodeRow {
  enum class Form : uint8_t { none, binary, binary_imm, unary, unary_imm };
  Form form = Form::none;
  bool commutes = false;
  uint32_t id[4] = {};
};
const EncodeRow& encode_row(Isa, vir::OpCode);

class BlockWriter {
 public:
  BlockWriter(Assembly& as, const Block& code, const Addressing& where)
      : as_(as), a_(as.a), code_(code), where_(where), regs_(as, code, where) {}
  /// Writes a block. `advance` is called for each kAdvance line.
  template <class F>
  void write(F&& advance) {
    for (uint32_t i = 0; i < code_.size(); ++i) {
      const vir::OpCode op = code_[i].op;
      if (op == vir::Op::constant || op == vir::Op::input) continue;
      if (op == kAdvance) {
        advance();
        continue;
      }
      write_one(i);
    }
  }
  void write() {
    write([] {});
  }

 private:
  void write_one(uint32_t i);
  void store(uint32_t i);
  /// Writes an operation for which there is one instruction.
  void write_row(const vir::Inst&);
  void write_block_op(const vir::Inst&);
  void binary(const vir::Inst&, const EncodeRow&);
  void unary(const vir::Inst&, uint32_t id, int immediate);
  void multiply_add(const vir::Inst&);
  struct MultiplyAdd;
  void multiply_add_of_registers(const MultiplyAdd&);
  /// A source whose register the result may take.
  struct Overwritten {
    uint32_t value;  // id of the source
    int reg;         // its register
    bool dies;       // this is its last use
    uint32_t id;     // x86 instruction that overwrites it
    int other;       // register of the other source that is in one
  };
  void multiply_add_from_memory(const MultiplyAdd&, const Overwritten& first, const Overwritten& second);
  int define_over_last_use(uint32_t value);
  void select(const vir::Inst&);
  void masked(const vir::Inst&);
  void compare(const vir::Inst&);
  void masked_compare(const vir::Inst&);
  void convert(const vir::Inst&, uint32_t id);
  void narrow(const vir::Inst&);
  void mask_logic(const vir::Inst&);
  void mask_to_int(const vir::Inst&);
  void upper_half(const vir::Inst&);
  void two_halves(const vir::Inst&);
  void transpose(const vir::Inst&);
  void spread(const vir::Inst&);
  void duplicate(const vir::Inst&);
  void load_at(const vir::Inst&);
  void check(const vir::Inst&);
  void patch(const vir::Inst&);
  void assign(const vir::Inst&);
  void copy(int to, int from, int bytes) {
    if (to != from) a_.vmovaps(as_.vec(to, bytes), as_.vec(from, bytes));
  }
  /// Returns a register or memory operand for the last source.
  asmjit::Operand_ source(uint32_t value, int bytes);
  x86::Vec v(int reg, int bytes) const { return as_.vec(reg, bytes); }

  Assembly& as_;
  x86::Assembler& a_;
  const Block& code_;
  const Addressing& where_;
  Registers regs_;
  uint32_t now_ = 0;
  bool stores_begun_ = false;
};

}  // namespace lazy::cpu_backend
