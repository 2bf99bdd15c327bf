// Linear scan over one block, one instruction at a time: values enter registers when first used, leave after their last use,
// and the one whose next use is farthest makes room. What can be had from memory for nothing (constants, loads, broadcast
// scalars, variables on the frame) is never stored, and may be an instruction's memory operand instead.
#pragma once
#include <optional>

#include "backends/cpu/emitter/assembly.hpp"
#include "backends/cpu/emitter/loads.hpp"

namespace lazy::cpu {

class Registers {
 public:
  Registers(Assembly&, const Block&, const Addressing&);
  Registers(const Registers&) = delete;
  ~Registers() {
    for (const auto& [at, bytes] : given_up_) as_.release_spill(at, bytes);
  }

  /// Begins instruction `i`: nothing is locked.
  void begin(uint32_t i);
  /// Brings a value into a register and keeps it there for this instruction.
  int fetch(uint32_t value);
  /// The value as a memory operand, if that is possible and better than a register.
  std::optional<x86::Mem> memory(uint32_t value);
  bool in_register(uint32_t value) const { return reg_[value] >= 0; }
  /// Whether `value` could be a memory operand and is not in a register.
  bool memory_only(uint32_t value) const;
  /// This instruction is the value's last reader and its register may be overwritten by the result of instruction i.
  bool dies(uint32_t value) const;
  /// Gives up the registers of operands that no later instruction reads. Call after the last fetch, before `define`.
  void release_operands();
  /// A register for the result of the current instruction.
  int define();
  /// The result takes over the register of `value`, which must have been `dies`.
  int define_over(uint32_t value);
  /// A register until the end of the instruction.
  int scratch();
  int scratch_k();
  /// The same value under another name (a bitcast): afterwards the current instruction stands for it.
  void define_as(uint32_t value);

  uint32_t pressure() const { return peak_; }

 private:
  struct File {
    uint32_t free = 0;
    uint32_t locked = 0;
    uint32_t scratch = 0;
    uint32_t owner[32];
  };
  static constexpr uint32_t kNever = ~0u;

  void number_uses();
  bool is_k(uint32_t value) const { return as_.avx512() && code_[value].type == vir::Type::mask; }
  File& file_of(uint32_t value) { return is_k(value) ? k_ : vec_; }
  uint32_t next_use(uint32_t value, uint32_t after) const;
  int take(File&, bool k);
  void evict(File&, bool k);
  void free_value(uint32_t value);
  bool has_home(uint32_t value) const;
  void load(uint32_t value, int reg);
  bool pinned(uint32_t value) const { return pinned_[value]; }

  Assembly& as_;
  const Block& code_;
  const Addressing& where_;
  uint32_t now_ = 0, peak_ = 0;
  File vec_, k_;
  std::vector<int8_t> reg_;
  std::vector<uint8_t> pinned_;
  std::vector<int8_t> hint_;        // the register of the variable that the value will be assigned to
  std::vector<int32_t> spill_;
  std::vector<std::pair<int32_t, int>> given_up_;  // spill slots of values that this instruction read last
  std::vector<uint32_t> first_use_, uses_;
  mutable std::vector<uint32_t> cursor_;
  std::vector<uint32_t> reserved_owner_;  // of each vector register: the block's value in it, when a variable lives there
  friend class BlockWriter;
};

}  // namespace lazy::cpu
