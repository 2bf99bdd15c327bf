// Allocates registers by linear scan over one block, one instruction at a time: values enter registers when
// first used, leave after their last use, and the one whose next use is farthest makes room. Values that can
// be had from memory for nothing (constants, loads, broadcast scalars, variables on the frame) are never
// stored, and may be an instruction's memory operand instead.
#pragma once
#include <array>
#include <optional>

#include "backends/cpu/emitter/assembly.hpp"
#include "backends/cpu/emitter/loads.hpp"

namespace lazy::cpu_backend {

class Registers {
 public:
  Registers(Assembly&, const Block&, const Addressing&);
  Registers(const Registers&) = delete;
  ~Registers() {
    for (const auto& [at, bytes] : given_up_) as_.release_spill(at, bytes);
  }

  /// Begins instruction `i`: no register is locked.
  void begin(uint32_t i);
  /// Brings a value into a register and locks it there for this instruction.
  int fetch(uint32_t value);
  /// Returns the value as a memory operand, if that is possible and better than a register.
  std::optional<x86::Mem> memory(uint32_t value);
  bool in_register(uint32_t value) const { return state_[value].reg >= 0; }
  /// True if `value` could be a memory operand and is not in a register.
  bool memory_only(uint32_t value) const;
  /// True if this instruction is the value's last reader, so that its register may be overwritten by the
  /// result of instruction i.
  bool dies(uint32_t value) const;
  /// Gives up the registers of operands that no later instruction reads. Call after the last fetch, before
  /// `define`.
  void release_operands();
  /// Returns a register for the result of the current instruction.
  int define();
  /// Gives the result the register of `value`, for which dies() must have been true.
  int define_over(uint32_t value);
  /// Returns a register that is free until the end of the instruction.
  int scratch();
  int scratch_k();

  int bytes_of(uint32_t value) const { return as_.bytes_of(code_[value].type); }
  /// Writes a value that is in no register straight to `reg`, which belongs to a variable.
  void load_into(uint32_t value, int reg) { load(value, reg); }

 private:
  struct File {
    uint32_t free = 0;
    uint32_t locked = 0;
    uint32_t scratch = 0;
    uint32_t all = 0;
    uint32_t owner[32];
  };
  static constexpr uint32_t kNever = ~0u;
  /// Says where a value of the block is.
  struct State {
    uint32_t next = kNever;  // its first use after the current instruction
    int32_t spill = -1;      // frame
    int8_t reg = -1;
    int8_t hint = -1;     // the register of the variable that it will be assigned to
    bool pinned = false;  // its register belongs to a variable
    bool k = false;       // lives in mask registers
  };

  void link_uses();
  File& file_of(const State& s) { return s.k ? k_ : vec_; }
  int take(File&);
  void evict(File&);
  void free_value(State&, uint32_t value);
  bool has_home(uint32_t value) const;
  /// Writes a value that is in no register to `reg`.
  void load(uint32_t value, int reg);
  void load_constant(const vir::Inst&, int reg, bool k);
  void load_slot(const vir::Inst&, int reg, bool k);
  /// Fills a vector register with copies of what is in memory.
  void spread(const vir::Inst&, int reg, const x86::Mem&);
  x86::Mem stepped_scalar(const Slot&);

  Assembly& as_;
  const Block& code_;
  const Addressing& where_;
  uint32_t now_ = 0;
  File vec_, k_;
  Recycled<State> state_;
  Recycled<std::array<uint32_t, 4>> later_;        // by instruction: the next use of each of its operands
  std::vector<std::pair<int32_t, int>> given_up_;  // spill slots of values that this instruction read last
  uint32_t
      reserved_owner_[32];  // of each vector register: the block's value in it, when a variable lives there
};

}  // namespace lazy::cpu_backend
