#include "backends/cpu/emitter/registers.hpp"

#include "support/error.hpp"

namespace lazy::cpu {
using vir::Type;

Registers::Registers(Assembly& as, const Block& code, const Addressing& where) : as_(as), code_(code), where_(where) {
  const size_t n = code.size();
  reg_.assign(n, -1);
  pinned_.assign(n, 0);
  hint_.assign(n, -1);
  spill_.assign(n, -1);
  reserved_owner_.assign(32, kNever);
  vec_.free = (as.avx512() ? ~0u : 0xffffu) & ~as.reserved_vec;
  k_.free = 0xfcu;
  number_uses();
  for (uint32_t i = 0; i < n; ++i) {
    const vir::Inst& in = code[i];
    if (in.op == kAssign) {
      const Variable& v = as.variables[in.imm];
      if (v.reg >= 0 && hint_[in.a] < 0 && code[in.a].op != vir::Op::input) hint_[in.a] = v.reg;
    } else if (in.op == vir::Op::input) {
      const Slot s = Slot::unpack(in.imm);
      if (s.kind == Slot::Kind::variable && as.variables[s.index].reg >= 0) {
        reg_[i] = as.variables[s.index].reg;
        pinned_[i] = 1;
        reserved_owner_[static_cast<size_t>(reg_[i])] = i;
      }
    }
  }
}

void Registers::number_uses() {
  const size_t n = code_.size();
  first_use_.assign(n + 1, 0);
  const auto operands = [](const vir::Inst& in, auto&& f) {
    const int arity = block_arity(in.op);
    if (arity > 0) f(in.a);
    if (arity > 1) f(in.b);
    if (arity > 2) f(in.c);
    if (arity > 3) f(in.d);
  };
  for (const vir::Inst& in : code_) operands(in, [&](uint32_t v) { ++first_use_[v + 1]; });
  for (size_t v = 0; v < n; ++v) first_use_[v + 1] += first_use_[v];
  uses_.resize(first_use_[n]);
  cursor_.assign(first_use_.begin(), first_use_.end() - 1);
  for (uint32_t i = 0; i < n; ++i) operands(code_[i], [&](uint32_t v) { uses_[cursor_[v]++] = i; });
  cursor_.assign(first_use_.begin(), first_use_.end() - 1);
}

uint32_t Registers::next_use(uint32_t value, uint32_t after) const {
  uint32_t& at = cursor_[value];
  const uint32_t end = first_use_[value + 1];
  while (at < end && uses_[at] < now_) ++at;
  for (uint32_t u = at; u < end; ++u)
    if (uses_[u] > after) return uses_[u];
  return kNever;
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
  const vir::Inst& in = code_[i];
  const int arity = block_arity(in.op);
  const uint32_t v[4] = {in.a, in.b, in.c, in.d};
  for (int o = 0; o < arity; ++o)
    if (reg_[v[o]] >= 0 && !pinned(v[o])) file_of(v[o]).locked |= 1u << reg_[v[o]];
}

bool Registers::has_home(uint32_t value) const {
  const vir::Inst& in = code_[value];
  if (spill_[value] >= 0 || in.op == vir::Op::constant) return true;
  if (in.op != vir::Op::input) return false;
  const Slot s = Slot::unpack(in.imm);
  // A load may be repeated only while nothing was stored and no pointer moved: it is spilled like any other value.
  return s.kind == Slot::Kind::variable || s.kind == Slot::Kind::scalar || s.kind == Slot::Kind::tail;
}

void Registers::evict(File& f, bool k) {
  int victim = -1;
  uint32_t farthest = 0;
  const uint32_t used = ~f.free & ~f.locked & ~f.scratch & (k ? 0xfcu : (as_.avx512() ? ~0u : 0xffffu) & ~as_.reserved_vec);
  for (int r = 0; r < 32; ++r) {
    if (!(used >> r & 1)) continue;
    const uint32_t next = next_use(f.owner[r], now_);
    if (victim < 0 || next > farthest) victim = r, farthest = next;
  }
  if (victim < 0) throw CompileError("register allocation: an instruction needs more registers than there are");
  const uint32_t v = f.owner[victim];
  if (!has_home(v)) {
    const int bytes = as_.bytes_of(code_[v].type);
    spill_[v] = as_.reserve_spill(bytes);
    ++as_.spills;
    if (k) as_.a.kmovw(as_.frame(spill_[v]), x86::k(static_cast<uint32_t>(victim)));
    else as_.a.vmovups(as_.frame(spill_[v]), as_.vec(victim, bytes));
  }
  reg_[v] = -1;
  f.free |= 1u << victim;
}

int Registers::take(File& f, bool k) {
  if (!f.free) evict(f, k);
  const int r = __builtin_ctz(f.free);
  f.free &= ~(1u << r);
  if (!k) {
    const auto used = static_cast<uint32_t>(__builtin_popcount(~f.free & (as_.avx512() ? ~0u : 0xffffu)));
    if (used > peak_) peak_ = used;
  }
  return r;
}

int Registers::fetch(uint32_t value) {
  File& f = file_of(value);
  if (reg_[value] < 0) {
    const int r = take(f, &f == &k_);
    f.owner[r] = value;
    f.locked |= 1u << r;  // before loading: a routine may need scratch registers
    reg_[value] = static_cast<int8_t>(r);
    load(value, r);
  }
  if (!pinned(value)) f.locked |= 1u << reg_[value];
  return reg_[value];
}

void Registers::load(uint32_t value, int r) {
  x86::Assembler& a = as_.a;
  const vir::Inst& in = code_[value];
  const bool k = is_k(value);
  const bool wide = vir::is64(in.type);
  const int bytes = as_.bytes_of(in.type);
  if (spill_[value] >= 0) {
    if (k) a.kmovw(x86::k(static_cast<uint32_t>(r)), as_.frame(spill_[value]));
    else a.vmovups(as_.vec(r, bytes), as_.frame(spill_[value]));
    return;
  }
  const auto spread = [&](x86::Mem m) {
    if (wide) a.emit(bytes == 16 ? x86::Inst::kIdVmovddup : x86::Inst::kIdVbroadcastsd, as_.vec(r, bytes), m);
    else a.vbroadcastss(as_.vec(r, bytes), m);
  };
  if (in.op == vir::Op::constant) {
    if (k) {
      const x86::KReg kr = x86::k(static_cast<uint32_t>(r));
      if (in.imm) a.kxnorw(kr, kr, kr);
      else a.kxorw(kr, kr, kr);
    } else if (in.imm == 0) {
      const x86::Vec z = as_.vec(r, 16);
      a.emit(r < 16 ? x86::Inst::kIdVpxor : x86::Inst::kIdVpxord, z, z, z);
    } else {
      spread(as_.constant(in.imm, wide ? 8 : 4));
    }
    return;
  }
  const Slot s = Slot::unpack(in.imm);
  switch (s.kind) {
    case Slot::Kind::variable: {
      const Variable& v = as_.variables[s.index];
      if (k) a.kmovw(x86::k(static_cast<uint32_t>(r)), as_.frame(v.frame));
      else a.vmovups(as_.vec(r, bytes), as_.frame(v.frame));
      return;
    }
    case Slot::Kind::scalar: {
      const int32_t widened = where_.scalars.empty() ? -1 : where_.scalars[s.index];
      const x86::Mem m = widened >= 0 ? as_.frame(widened) : as_.arg(as_.args.scalar(s.index));
      if (k) a.kmovw(x86::k(static_cast<uint32_t>(r)), m);
      else spread(m);
      return;
    }
    case Slot::Kind::tail:
      if (k) a.kmovw(x86::k(static_cast<uint32_t>(r)), x86::k(1));
      else a.vmovups(as_.vec(r, bytes), as_.frame(wide ? where_.tail64 : where_.tail32));
      return;
    case Slot::Kind::iota: write_iota(as_, *this, where_, s, r); return;
    default: break;
  }
  switch (load_form(as_, where_, s)) {
    case LoadForm::direct: a.vmovups(as_.vec(r, bytes), address(as_, where_, s)); break;
    case LoadForm::broadcast: spread(address(as_, where_, s)); break;
    case LoadForm::routine: write_load(as_, *this, where_, s, r); break;
  }
}

bool Registers::memory_only(uint32_t value) const {
  if (reg_[value] >= 0 || is_k(value)) return false;
  const vir::Inst& in = code_[value];
  if (spill_[value] >= 0) return true;
  if (in.op == vir::Op::constant) return in.imm != 0;
  if (in.op != vir::Op::input) return false;
  const Slot s = Slot::unpack(in.imm);
  if (s.kind == Slot::Kind::variable) return true;
  if (s.kind == Slot::Kind::tail) return !as_.avx512();
  if (s.kind == Slot::Kind::scalar) return as_.avx512();
  if (s.kind != Slot::Kind::load) return false;
  const LoadForm form = load_form(as_, where_, s);
  return form == LoadForm::direct || (form == LoadForm::broadcast && as_.avx512());
}

std::optional<x86::Mem> Registers::memory(uint32_t value) {
  if (!memory_only(value)) return {};
  // Worth a register when it is read again and one is free.
  const uint32_t next = next_use(value, now_);
  const vir::Inst& in = code_[value];
  const bool is_load = in.op == vir::Op::input && Slot::unpack(in.imm).kind == Slot::Kind::load && spill_[value] < 0;
  if (next != kNever && (is_load || __builtin_popcount(vec_.free) > 3)) return {};
  const bool wide = vir::is64(in.type);
  if (spill_[value] >= 0) return as_.frame(spill_[value]);
  if (in.op == vir::Op::constant)
    return as_.avx512() ? as_.broadcast(as_.constant(in.imm, wide ? 8 : 4)) : as_.constant_vector(in.imm, wide ? 8 : 4);
  const Slot s = Slot::unpack(in.imm);
  if (s.kind == Slot::Kind::variable) return as_.frame(as_.variables[s.index].frame);
  if (s.kind == Slot::Kind::tail) return as_.frame(wide ? where_.tail64 : where_.tail32);
  if (s.kind == Slot::Kind::scalar) {
    const int32_t widened = where_.scalars.empty() ? -1 : where_.scalars[s.index];
    return as_.broadcast(widened >= 0 ? as_.frame(widened) : as_.arg(as_.args.scalar(s.index)));
  }
  x86::Mem m = address(as_, where_, s);
  return load_form(as_, where_, s) == LoadForm::broadcast ? as_.broadcast(m) : m;
}

bool Registers::dies(uint32_t value) const {
  if (reg_[value] < 0 || next_use(value, now_) != kNever) return false;
  return !pinned(value) || hint_[now_] == reg_[value];
}

void Registers::free_value(uint32_t value) {
  if (spill_[value] >= 0) {
    given_up_.emplace_back(spill_[value], as_.bytes_of(code_[value].type));
    spill_[value] = -1;
  }
  const int r = reg_[value];
  if (r < 0) return;
  reg_[value] = -1;
  if (pinned(value)) {
    reserved_owner_[static_cast<size_t>(r)] = kNever;
    return;
  }
  File& f = file_of(value);
  f.free |= 1u << r;
}

void Registers::release_operands() {
  const vir::Inst& in = code_[now_];
  const int arity = block_arity(in.op);
  const uint32_t v[4] = {in.a, in.b, in.c, in.d};
  for (int i = 0; i < arity; ++i)
    if (next_use(v[i], now_) == kNever) free_value(v[i]);
}

int Registers::define() {
  const int hint = hint_[now_];
  if (hint >= 0 && reserved_owner_[static_cast<size_t>(hint)] == kNever) {
    reserved_owner_[static_cast<size_t>(hint)] = now_;
    pinned_[now_] = 1;
    reg_[now_] = static_cast<int8_t>(hint);
    return hint;
  }
  File& f = file_of(now_);
  const int r = take(f, &f == &k_);
  f.owner[r] = now_;
  f.locked |= 1u << r;
  reg_[now_] = static_cast<int8_t>(r);
  if (next_use(now_, now_) == kNever) {  // never read: gone with the instruction
    f.scratch |= 1u << r;
    reg_[now_] = -1;
  }
  return r;
}

int Registers::define_over(uint32_t value) {
  const int r = reg_[value];
  if (spill_[value] >= 0) {
    given_up_.emplace_back(spill_[value], as_.bytes_of(code_[value].type));
    spill_[value] = -1;
  }
  reg_[value] = -1;
  reg_[now_] = static_cast<int8_t>(r);
  if (pinned(value)) {
    pinned_[now_] = 1;
    reserved_owner_[static_cast<size_t>(r)] = now_;
  } else {
    file_of(now_).owner[r] = now_;
  }
  return r;
}

int Registers::scratch() {
  const int r = take(vec_, false);
  vec_.scratch |= 1u << r;
  return r;
}

int Registers::scratch_k() {
  const int r = take(k_, true);
  k_.scratch |= 1u << r;
  return r;
}

}  // namespace lazy::cpu
