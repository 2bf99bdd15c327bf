#include "backends/cpu/emitter/registers.hpp"

#include <algorithm>

#include "support/error.hpp"

namespace lazy::cpu_backend {
using vir::Type;

Registers::Registers(Assembly& as, const Block& code, const Addressing& where)
    : as_(as), code_(code), where_(where) {
  std::fill_n(reserved_owner_, 32, kNever);
  vec_.all = vec_.free = (as.avx512() ? ~0u : 0xffffu) & ~as.reserved_vec;
  k_.all = k_.free = 0xfcu;
  link_uses();
}

void Registers::link_uses() {
  const auto n = static_cast<uint32_t>(code_.size());
  state_.resize(n);
  later_.resize(n);
  for (uint32_t i = n; i-- > 0;) {
    uint32_t* later = later_[i].data();
    each_operand(code_[i], [&](uint32_t v) { *later++ = state_[v].next; });
    each_operand(code_[i], [&](uint32_t v) { state_[v].next = i; });
  }
  const bool masks = as_.avx512();
  for (uint32_t i = 0; i < n; ++i) {
    const vir::Inst& in = code_[i];
    State& s = state_[i];
    s.k = masks && in.type == Type::mask;
    if (in.op == kAssign) {
      const Variable& v = as_.variables[in.imm];
      State& from = state_[in.a];
      if (v.reg >= 0 && from.hint < 0 && code_[in.a].op != vir::Op::input) from.hint = v.reg;
    } else if (in.op == vir::Op::input) {
      const Slot slot = Slot::unpack(in.imm);
      if (slot.kind == Slot::Kind::variable && as_.variables[slot.index].reg >= 0) {
        s.reg = as_.variables[slot.index].reg;
        s.pinned = true;
        reserved_owner_[s.reg] = i;
      }
    }
  }
}

void Registers::begin(uint32_t i) {
  now_ = i;
  vec_.locked = k_.locked = 0;
  vec_.free |= vec_.scratch;
  k_.free |= k_.scratch;
  vec_.scratch = k_.scratch = 0;
  // Only now: the instruction before this may have read the slot after making room for its result.
  for (const auto& [at, bytes] : given_up_) as_.release_spill(at, bytes);
  given_up_.clear();
  const uint32_t* later = later_[i].data();
  each_operand(code_[i], [this, &later](uint32_t v) {
    State& s = state_[v];
    s.next = *later++;
    if (s.reg >= 0 && !s.pinned) file_of(s).locked |= 1u << s.reg;
  });
}

bool Registers::has_home(uint32_t value) const {
  const vir::Inst& in = code_[value];
  if (state_[value].spill >= 0 || in.op == vir::Op::constant) return true;
  if (in.op != vir::Op::input) return false;
  const Slot s = Slot::unpack(in.imm);
  // A load may be repeated only while nothing was stored and no pointer moved: it is spilled like any other
  // value.
  return s.kind == Slot::Kind::variable || s.kind == Slot::Kind::scalar || s.kind == Slot::Kind::stepped ||
         s.kind == Slot::Kind::tail;
}

x86::Mem Registers::stepped_scalar(const Slot& s) {
  as_.a.mov(x86::rsi, as_.frame(where_.stepped));
  return x86::ptr(x86::rsi, as_.args.scalar(s.index) * 8);
}

void Registers::evict(File& f) {
  int victim = -1;
  uint32_t farthest = 0;
  for (uint32_t used = f.all & ~f.free & ~f.locked & ~f.scratch; used; used &= used - 1) {
    const int r = __builtin_ctz(used);
    const uint32_t next = state_[f.owner[r]].next;
    if (victim < 0 || next > farthest) victim = r, farthest = next;
  }
  if (victim < 0)
    throw CompileError("register allocation: an instruction needs more registers than there are");
  const uint32_t v = f.owner[victim];
  State& s = state_[v];
  if (!has_home(v)) {
    const int bytes = as_.bytes_of(code_[v].type);
    s.spill = as_.reserve_spill(bytes);
    ++as_.spills;
    if (s.k) as_.a.kmovw(as_.frame(s.spill), mask_register(victim));
    else as_.a.vmovups(as_.frame(s.spill), as_.vec(victim, bytes));
  }
  s.reg = -1;
  f.free |= 1u << victim;
}

int Registers::take(File& f) {
  if (!f.free) evict(f);
  const int r = __builtin_ctz(f.free);
  f.free &= ~(1u << r);
  return r;
}

int Registers::fetch(uint32_t value) {
  State& s = state_[value];
  File& f = file_of(s);
  if (s.reg < 0) {
    const int r = take(f);
    f.owner[r] = value;
    f.locked |= 1u << r;  // before loading: a routine may need scratch registers
    s.reg = static_cast<int8_t>(r);
    load(value, r);
  }
  if (!s.pinned) f.locked |= 1u << s.reg;
  return s.reg;
}

void Registers::load(uint32_t value, int r) {
  x86::Assembler& a = as_.a;
  const vir::Inst& in = code_[value];
  const State& state = state_[value];
  if (state.spill >= 0) {
    if (state.k) a.kmovw(mask_register(r), as_.frame(state.spill));
    else a.vmovups(as_.vec(r, as_.bytes_of(in.type)), as_.frame(state.spill));
  } else if (in.op == vir::Op::constant) {
    load_constant(in, r, state.k);
  } else {
    load_slot(in, r, state.k);
  }
}

void Registers::spread(const vir::Inst& in, int r, const x86::Mem& m) {
  const int bytes = as_.bytes_of(in.type);
  if (vir::is64(in.type))
    as_.a.emit(bytes == 16 ? x86::Inst::kIdVmovddup : x86::Inst::kIdVbroadcastsd, as_.vec(r, bytes), m);
  else as_.a.vbroadcastss(as_.vec(r, bytes), m);
}

void Registers::load_constant(const vir::Inst& in, int r, bool k) {
  x86::Assembler& a = as_.a;
  const int lane = vir::is64(in.type) ? 8 : 4, bytes = as_.bytes_of(in.type);
  if (k) {
    const x86::KReg kr = mask_register(r);
    if (in.imm) a.kxnorw(kr, kr, kr);
    else a.kxorw(kr, kr, kr);
  } else if (in.imm == 0) {
    const x86::Vec z = as_.vec(r, 16);
    a.emit(r < 16 ? x86::Inst::kIdVpxor : x86::Inst::kIdVpxord, z, z, z);
  } else if (bytes == 64) {
    // If 512 bits are done in halves, a broadcast takes an arithmetic unit's time.
    a.vmovups(as_.vec(r, bytes), as_.constant_vector(in.imm, lane));
  } else {
    spread(in, r, as_.constant(in.imm, lane));
  }
}

void Registers::load_slot(const vir::Inst& in, int r, bool k) {
  x86::Assembler& a = as_.a;
  const bool wide = vir::is64(in.type);
  const int bytes = as_.bytes_of(in.type);
  const Slot s = Slot::unpack(in.imm);
  switch (s.kind) {
    case Slot::Kind::variable: {
      const Variable& v = as_.variables[s.index];
      if (k) a.kmovw(mask_register(r), as_.frame(v.frame));
      else a.vmovups(as_.vec(r, bytes), as_.frame(v.frame));
      return;
    }
    case Slot::Kind::scalar: {
      const int32_t widened = where_.scalars.empty() ? -1 : where_.scalars[s.index];
      const x86::Mem m = widened >= 0 ? as_.frame(widened) : as_.arg(as_.args.scalar(s.index));
      if (k) a.kmovw(mask_register(r), m);
      else spread(in, r, m);
      return;
    }
    case Slot::Kind::stepped: spread(in, r, stepped_scalar(s)); return;
    case Slot::Kind::tail:
      if (k) a.kmovw(mask_register(r), x86::k(1));
      else a.vmovups(as_.vec(r, bytes), as_.frame(wide ? where_.tail64 : where_.tail32));
      return;
    case Slot::Kind::iota: write_iota(as_, *this, where_, s, r, wide); return;
    default: break;
  }
  switch (load_form(as_, where_, s)) {
    case LoadForm::direct: a.vmovups(as_.vec(r, bytes), address(as_, where_, s)); break;
    case LoadForm::broadcast: spread(in, r, address(as_, where_, s)); break;
    case LoadForm::routine: {
      // The routine's registers are free for the instruction's next operand.
      const uint32_t vectors = vec_.scratch, masks = k_.scratch;
      write_load(as_, *this, where_, s, r);
      vec_.free |= vec_.scratch & ~vectors;
      k_.free |= k_.scratch & ~masks;
      vec_.scratch = vectors;
      k_.scratch = masks;
      break;
    }
  }
}

bool Registers::memory_only(uint32_t value) const {
  const State& state = state_[value];
  if (state.reg >= 0 || state.k) return false;
  const vir::Inst& in = code_[value];
  if (state.spill >= 0) return true;
  if (in.op == vir::Op::constant) return in.imm != 0;
  if (in.op != vir::Op::input) return false;
  const Slot s = Slot::unpack(in.imm);
  if (s.kind == Slot::Kind::variable) return true;
  if (s.kind == Slot::Kind::tail) return !as_.avx512();
  if (s.kind == Slot::Kind::scalar || s.kind == Slot::Kind::stepped) return as_.avx512();
  if (s.kind != Slot::Kind::load) return false;
  const LoadForm form = load_form(as_, where_, s);
  return form == LoadForm::direct || (form == LoadForm::broadcast && as_.avx512());
}

std::optional<x86::Mem> Registers::memory(uint32_t value) {
  if (!memory_only(value)) return {};
  // Worth a register when it is read again and one is free.
  const State& state = state_[value];
  const vir::Inst& in = code_[value];
  const Slot::Kind kind = in.op == vir::Op::input ? Slot::unpack(in.imm).kind : Slot::Kind::variable;
  const bool is_load = kind == Slot::Kind::load && state.spill < 0;
  uint32_t beyond = vec_.free;
  for (int i = 0; i < 3 && beyond; ++i) beyond &= beyond - 1;
  if ((is_load || beyond) && state.next != kNever) return {};
  const bool wide = vir::is64(in.type);
  if (state.spill >= 0) return as_.frame(state.spill);
  if (in.op == vir::Op::constant)
    return as_.avx512() ? as_.broadcast(as_.constant(in.imm, wide ? 8 : 4))
                        : as_.constant_vector(in.imm, wide ? 8 : 4);
  const Slot s = Slot::unpack(in.imm);
  if (s.kind == Slot::Kind::variable) return as_.frame(as_.variables[s.index].frame);
  if (s.kind == Slot::Kind::tail) return as_.frame(wide ? where_.tail64 : where_.tail32);
  if (s.kind == Slot::Kind::scalar) {
    const int32_t widened = where_.scalars.empty() ? -1 : where_.scalars[s.index];
    return as_.broadcast(widened >= 0 ? as_.frame(widened) : as_.arg(as_.args.scalar(s.index)));
  }
  if (s.kind == Slot::Kind::stepped) return as_.broadcast(stepped_scalar(s));
  x86::Mem m = address(as_, where_, s);
  return load_form(as_, where_, s) == LoadForm::broadcast ? as_.broadcast(m) : m;
}

bool Registers::dies(uint32_t value) const {
  const State& s = state_[value];
  if (s.reg < 0 || s.next != kNever) return false;
  return !s.pinned || state_[now_].hint == s.reg;
}

void Registers::free_value(State& s, uint32_t value) {
  if (s.spill >= 0) {
    given_up_.emplace_back(s.spill, as_.bytes_of(code_[value].type));
    s.spill = -1;
  }
  if (s.reg < 0) return;
  if (s.pinned) reserved_owner_[s.reg] = kNever;
  else file_of(s).free |= 1u << s.reg;
  s.reg = -1;
}

void Registers::release_operands() {
  each_operand(code_[now_], [this](uint32_t v) {
    State& s = state_[v];
    if (s.next == kNever) free_value(s, v);
  });
}

int Registers::define() {
  State& s = state_[now_];
  if (s.hint >= 0 && reserved_owner_[s.hint] == kNever) {
    reserved_owner_[s.hint] = now_;
    s.pinned = true;
    return s.reg = s.hint;
  }
  File& f = file_of(s);
  const int r = take(f);
  f.owner[r] = now_;
  f.locked |= 1u << r;
  if (s.next == kNever) f.scratch |= 1u << r;  // never read: gone with the instruction
  else s.reg = static_cast<int8_t>(r);
  return r;
}

int Registers::define_over(uint32_t value) {
  State& s = state_[now_];
  State& old = state_[value];
  const int r = old.reg;
  old.reg = -1;
  free_value(old, value);
  s.reg = static_cast<int8_t>(r);
  if (old.pinned) {
    s.pinned = true;
    reserved_owner_[r] = now_;
  } else {
    file_of(s).owner[r] = now_;
  }
  return r;
}

int Registers::scratch() {
  const int r = take(vec_);
  vec_.scratch |= 1u << r;
  return r;
}

int Registers::scratch_k() {
  const int r = take(k_);
  k_.scratch |= 1u << r;
  return r;
}

}  // namespace lazy::cpu_backend
