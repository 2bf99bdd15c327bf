#include "backends/cpu/emitter/loads.hpp"

#include <bit>

#include "backends/cpu/emitter/registers.hpp"

namespace lazy::cpu_backend {
using jit::loop::Operand;
using jit::loop::Stride;
namespace Id = x86::Inst;
namespace {

constexpr bool plain(DType t) { return size_of(t) >= 4; }
const Operand& operand_of(const Assembly& as, const Slot& s) { return as.kernel.operands[s.index]; }

}  // namespace

void widen(Assembly& as, Registers& regs, DType t, x86::Mem m, int dest, bool masked) {
  x86::Assembler& a = as.a;
  const auto emit = [&](uint32_t id, const x86::Vec& d) {
    if (masked) a.k(x86::k1).z().emit(id, d, m);
    else a.emit(id, d, m);
  };
  const int bytes = as.lanes * 4;
  const x86::Vec d = as.vec(dest, bytes);
  switch (t) {
    case DType::int8: return emit(Id::kIdVpmovsxbd, d);
    case DType::uint8: return emit(Id::kIdVpmovzxbd, d);
    case DType::int16: return emit(Id::kIdVpmovsxwd, d);
    case DType::uint16: return emit(Id::kIdVpmovzxwd, d);
    case DType::float16: return emit(Id::kIdVcvtph2ps, d);
    case DType::bfloat16:
      emit(Id::kIdVpmovzxwd, d);
      a.emit(Id::kIdVpslld, d, d, asmjit::Imm(16));
      return;
    case DType::bool_:
      if (as.avx512()) {  // dest is a mask register
        const x86::Vec v = as.vec(regs.scratch(), bytes);
        emit(Id::kIdVpmovzxbd, v);
        a.emit(Id::kIdVptestmd, mask_register(dest), v, v);
      } else {
        const x86::Vec zero = as.vec(regs.scratch(), bytes);
        a.emit(Id::kIdVpmovzxbd, d, m);
        a.emit(Id::kIdVpxor, zero, zero, zero);
        a.emit(Id::kIdVpcmpgtd, d, d, zero);
      }
      return;
    case DType::float64:
    case DType::int64:
    case DType::uint64: return emit(Id::kIdVmovupd, as.vec(dest, as.lanes * 8));
    default: return emit(Id::kIdVmovups, d);
  }
}

namespace {

/// Loads one element into all lanes.
void widen_one(Assembly& as, DType t, x86::Mem m, int dest) {
  x86::Assembler& a = as.a;
  if (plain(t)) {
    const int bytes = as.lanes * static_cast<int>(size_of(t));
    if (size_of(t) == 4) a.vbroadcastss(as.vec(dest, bytes), m);
    else a.emit(bytes == 16 ? Id::kIdVmovddup : Id::kIdVbroadcastsd, as.vec(dest, bytes), m);
    return;
  }
  const bool word = size_of(t) == 2;
  m.setSize(word ? 2 : 1);
  if (t == DType::int8 || t == DType::int16) a.movsx(x86::ecx, m);
  else a.movzx(x86::ecx, m);
  if (t == DType::bool_) {
    a.neg(x86::ecx);
    a.sbb(x86::ecx, x86::ecx);
    if (as.avx512()) {
      a.kmovw(mask_register(dest), x86::ecx);
      return;
    }
  }
  if (t == DType::bfloat16) a.shl(x86::ecx, 16);
  const x86::Vec d = as.vec(dest, as.lanes * 4), low = as.vec(dest, 16);
  a.vmovd(low.xmm(), x86::ecx);
  if (t == DType::float16) a.emit(Id::kIdVcvtph2ps, low, low);
  a.emit(Id::kIdVpbroadcastd, d, low);
}

/// Returns, for lanes of so many bytes, the numbers by which a permutation of two vectors takes elements 0,
/// 2, 4, ... of memory: the first vector begins at element 0, the second ends with the last that is taken.
x86::Mem every_second(Assembly& as, int size) {
  std::vector<uint8_t> bytes(static_cast<size_t>(as.lanes * size));
  for (int i = 0; i < as.lanes; ++i)
    bytes[static_cast<size_t>(i * size)] = static_cast<uint8_t>(2 * i + (2 * i >= as.lanes ? 1 : 0));
  return as.table(bytes, as.lanes * size);
}

/// Holds the registers of a load of elements that lie apart. They are taken before its ways part, as taking
/// one may write code.
struct Apart {
  int dest, first, second;  // vectors; second: -1 where no way needs it
  x86::KReg lanes;          // AVX-512
};

/// Loads every second element from rsi on, by two loads and a permutation. Reads nothing after the last one.
void load_every_second(Assembly& as, const Apart& r, bool masked, int size) {
  x86::Assembler& a = as.a;
  const bool wide = size == 8;
  const int bytes = as.lanes * size;
  const x86::Vec d = as.vec(r.dest, bytes), low = as.vec(r.first, bytes);
  const x86::Mem first = x86::ptr(x86::rsi), second = x86::ptr(x86::rsi, (as.lanes - 1) * size);
  const uint32_t move = wide ? Id::kIdVmovupd : Id::kIdVmovups;
  if (!as.avx512()) {  // of each half of a register, the second vector gives elements 1 and 3; a short one is
                       // one half
    a.vmovups(low, first);
    if (wide) a.emit(Id::kIdVshufpd, d, low, second, asmjit::Imm(0b1010));
    else a.emit(Id::kIdVshufps, d, low, second, asmjit::Imm(0b11011000));
    if (bytes == 32) a.emit(Id::kIdVpermq, d, d, asmjit::Imm(0b11011000));
    return;
  }
  const uint32_t permute = wide ? Id::kIdVpermi2pd : Id::kIdVpermi2ps;
  if (!masked) {
    a.emit(move, d, every_second(as, size));
    a.emit(move, low, first);
    a.emit(permute, d, low, second);
    return;
  }
  const x86::Vec high = as.vec(r.second, bytes);
  a.kmovw(x86::ecx, x86::k1);
  a.mov(x86::edx, 0x55555555);
  a.pdep(x86::ecx, x86::ecx, x86::edx);
  a.kmovw(r.lanes, x86::ecx);
  a.k(r.lanes).z().emit(move, low, first);
  a.shr(x86::ecx, as.lanes - 1);
  a.kmovw(r.lanes, x86::ecx);
  a.k(r.lanes).z().emit(move, high, second);
  a.emit(move, d, every_second(as, size));
  a.emit(permute, d, low, high);
}

void load_apart(Assembly& as, Registers& regs, const Addressing& w, const Slot& s, x86::Mem at, int dest) {
  x86::Assembler& a = as.a;
  const bool wide = size_of(operand_of(as, s).dtype) == 8, avx512 = as.avx512();
  const int size = wide ? 8 : 4, bytes = as.lanes * size;
  const int first = regs.scratch(), second = !avx512 || w.masked ? regs.scratch() : -1;
  const Apart r{dest, first, second, avx512 ? mask_register(regs.scratch_k()) : x86::k0};
  const asmjit::Label gather = a.newLabel(), done = a.newLabel();
  a.lea(x86::rsi, at);
  if (avx512 || !w.masked) {
    a.cmp(as.arg(as.args.stride(s.index, w.vector_axis)), 2 * size);
    a.jne(gather);
    load_every_second(as, r, w.masked, size);
    a.jmp(done);
    a.bind(gather);
  }
  const x86::Vec d = as.vec(dest, bytes), index = as.vec(r.first, as.lanes * 4);
  a.vmovups(index, as.frame((*w.lane_offsets)[s.index]));
  const x86::Mem m = x86::ptr(x86::rsi, index, 0, 0);
  const auto id = wide ? Id::kIdVgatherdpd : Id::kIdVgatherdps;
  if (avx512) {
    if (w.masked) a.kmovw(r.lanes, x86::k1);
    else a.kxnorw(r.lanes, r.lanes, r.lanes);
    a.k(r.lanes).emit(id, d, m);
  } else {
    const x86::Vec lanes = as.vec(r.second, bytes);
    if (w.masked) a.vmovups(lanes, as.frame(wide ? w.tail64 : w.tail32));
    else a.emit(Id::kIdVpcmpeqd, lanes, lanes, lanes);
    a.emit(id, d, m, lanes);
  }
  a.bind(done);
}

}  // namespace

void copy_elements(Assembly& as, const Addressing& w, const Slot& s, x86::Mem at, bool to_memory, bool unit) {
  x86::Assembler& a = as.a;
  const Operand& o = operand_of(as, s);
  const int size = static_cast<int>(size_of(o.dtype));
  const int32_t buffer = as.staging();
  const asmjit::Label loop = a.newLabel();
  const x86::Mem packed = x86::ptr(
      x86::rsp, x86::rcx, static_cast<uint32_t>(std::countr_zero(static_cast<unsigned>(size))), buffer);
  a.lea(x86::rsi, at);
  a.xor_(x86::ecx, x86::ecx);
  a.bind(loop);
  const x86::Mem memory = x86::ptr(x86::rsi);
  const x86::Mem& from = to_memory ? packed : memory;
  const x86::Mem& to = to_memory ? memory : packed;
  switch (size) {
    case 1: {
      x86::Mem f = from;
      f.setSize(1);
      a.movzx(x86::edx, f);
      a.mov(to, x86::dl);
      break;
    }
    case 2: {
      x86::Mem f = from;
      f.setSize(2);
      a.movzx(x86::edx, f);
      a.mov(to, x86::dx);
      break;
    }
    case 4:
      a.mov(x86::edx, from);
      a.mov(to, x86::edx);
      break;
    default:
      a.mov(x86::rdx, from);
      a.mov(to, x86::rdx);
      break;
  }
  if (unit) a.add(x86::rsi, size);
  else a.add(x86::rsi, as.arg(as.args.stride(s.index, w.vector_axis)));
  a.inc(x86::ecx);
  if (w.masked) a.cmp(x86::ecx, x86::dword_ptr(x86::rsp, w.count));
  else a.cmp(x86::ecx, as.lanes);
  a.jb(loop);
}

LoadForm load_form(const Assembly& as, const Addressing& w, const Slot& s) {
  const Operand& o = operand_of(as, s);
  if (!plain(o.dtype)) return LoadForm::routine;
  switch (o.stride[w.vector_axis]) {
    case Stride::zero: return LoadForm::broadcast;
    case Stride::unit: return w.masked ? LoadForm::routine : LoadForm::direct;
    case Stride::any: break;
  }
  return LoadForm::routine;
}

x86::Mem address(Assembly& as, const Addressing& w, const Slot& s) {
  x86::Assembler& a = as.a;
  const Operand& o = operand_of(as, s);
  const auto size = static_cast<int>(size_of(o.dtype));
  const Stride along = o.stride[w.vector_axis];
  const int ahead = (w.parted >= 0 ? s.vec & ~1 : s.vec) * as.lanes;
  x86::Gp base = x86::rsi;
  x86::Mem m;
  if (s.row > 0 && o.stride[w.row_axis] != Stride::zero) {
    if (w.rows_alike && (*w.rows_alike)[s.index])
      return x86::ptr(as.pointer(s.index), x86::gpq(static_cast<uint32_t>(w.row_index[s.row])), 0,
                      ahead * size);
    if (w.row_step_operand == s.index) {
      base = x86::gpq(static_cast<uint32_t>(w.row_pointers[w.pointer_a_row ? s.row : s.row / 3]));
      if (s.row % 3 && !w.pointer_a_row) {
        m = x86::ptr(base, x86::gpq(static_cast<uint32_t>(w.row_stride_reg)), s.row % 3 == 2 ? 1 : 0, 0);
        if (along == Stride::zero || (along == Stride::unit && !w.indexed)) {
          if (along == Stride::unit) m.addOffset(ahead * size);
          return m;
        }
        a.lea(x86::rsi, m);
        base = x86::rsi;
      }
    } else {
      a.mov(x86::rcx, as.arg(as.args.stride(s.index, w.row_axis)));
      a.imul(x86::rcx, x86::rcx, static_cast<int>(s.row));
      a.add(x86::rcx, as.pointer_reg[s.index] >= 0 ? x86::gpq(static_cast<uint32_t>(as.pointer_reg[s.index]))
                                                   : as.pointer(s.index));
      a.mov(x86::rsi, x86::rcx);
    }
  } else {
    base = as.pointer(s.index);
  }
  if (along == Stride::zero) return x86::ptr(base);
  if (along == Stride::unit) {
    if (!w.indexed) return x86::ptr(base, ahead * size);
    return x86::ptr(base, x86::rax, static_cast<uint32_t>(std::countr_zero(static_cast<unsigned>(size))),
                    ahead * size);
  }
  const x86::Mem stride = as.arg(as.args.stride(s.index, w.vector_axis));
  if (w.indexed) {
    if (ahead) a.lea(x86::rcx, x86::ptr(x86::rax, ahead));
    else a.mov(x86::rcx, x86::rax);
    a.imul(x86::rcx, stride);
  } else if (ahead) {
    a.imul(x86::rcx, stride, ahead);
  } else {
    return x86::ptr(base);
  }
  a.lea(x86::rsi, x86::ptr(base, x86::rcx));
  return x86::ptr(x86::rsi);
}

void write_load_from(Assembly& as, Registers& regs, const Addressing& w, const Slot& s, x86::Mem m,
                     int dest) {
  const Operand& o = operand_of(as, s);
  const Stride along = o.stride[w.vector_axis];
  if (along == Stride::zero) return widen_one(as, o.dtype, m, dest);
  if (w.parted >= 0) {
    const x86::Vec d = as.vec(dest, as.lanes * 4), odd = as.vec(w.parted, as.lanes * 4);
    if (s.vec % 2 == 0) as.a.emit(Id::kIdVpslld, d, m, asmjit::Imm(16));
    else as.a.emit(Id::kIdVpandd, d, odd, m);
    return;
  }
  if (along == Stride::any && w.often_unit) {
    const asmjit::Label packed = as.a.newLabel();
    as.a.lea(x86::rcx, m);
    as.a.cmp(as.arg(as.args.stride(s.index, w.vector_axis)), static_cast<int>(size_of(o.dtype)));
    as.a.je(packed);
    copy_elements(as, w, s, x86::ptr(x86::rcx), false, false);
    as.a.lea(x86::rcx, as.frame(as.staging()));
    as.a.bind(packed);
    return widen(as, regs, o.dtype, x86::ptr(x86::rcx), dest, false);
  }
  if (along == Stride::any) {
    if (plain(o.dtype) && !o.wide) return load_apart(as, regs, w, s, m, dest);
    copy_elements(as, w, s, m, false, false);
    return widen(as, regs, o.dtype, as.frame(as.staging()), dest, false);
  }
  if (as.avx512() || !w.masked) return widen(as, regs, o.dtype, m, dest, w.masked);
  if (plain(o.dtype)) {  // AVX2: masked moves of 4 and 8 bytes
    const bool wide = size_of(o.dtype) == 8;
    const x86::Vec mask = as.vec(regs.scratch(), as.lanes * (wide ? 8 : 4));
    as.a.vmovups(mask, as.frame(wide ? w.tail64 : w.tail32));
    as.a.emit(wide ? Id::kIdVmaskmovpd : Id::kIdVmaskmovps, as.vec(dest, as.lanes * (wide ? 8 : 4)), mask, m);
    return;
  }
  copy_elements(as, w, s, m, false, true);
  widen(as, regs, o.dtype, as.frame(as.staging()), dest, false);
}

void write_load(Assembly& as, Registers& regs, const Addressing& w, const Slot& s, int dest) {
  write_load_from(as, regs, w, s, address(as, w, s), dest);
}

void write_iota(Assembly& as, Registers&, const Addressing& w, const Slot& s, int dest, bool wide) {
  x86::Assembler& a = as.a;
  const int axis = s.index;
  int64_t ahead = 0;
  const bool first_only = w.at_origin && axis == as.kernel.sequential;
  if (first_only) {
    a.xor_(x86::ecx, x86::ecx);
  } else if (axis == w.vector_axis) {
    if (w.indexed) a.mov(x86::rcx, x86::rax);
    else a.mov(x86::rcx, as.frame(w.index_base));
    ahead = s.vec * as.lanes;
  } else if (axis == as.kernel.sequential) {
    a.mov(x86::rcx, as.frame(w.seq_end));
    a.sub(x86::rcx, x86::rax);
    if (s.step - w.seq_bias) a.add(x86::rcx, s.step - w.seq_bias);
  } else {
    a.mov(x86::rcx, as.frame((*w.counters)[static_cast<size_t>(axis)]));
    if (axis == w.row_axis && s.row) a.add(x86::rcx, static_cast<int>(s.row));
  }
  a.add(x86::rcx, as.arg(as.args.origin(axis)));
  const int width = wide ? 8 : 4;
  const x86::Vec d = as.vec(dest, as.lanes * width);
  const auto broadcast = wide ? Id::kIdVpbroadcastq : Id::kIdVpbroadcastd;
  if (as.avx512()) {
    if (wide) a.emit(broadcast, d, x86::rcx);
    else a.emit(broadcast, d, x86::ecx);
  } else {
    a.vmovq(as.vec(dest, 16).xmm(), x86::rcx);
    a.emit(broadcast, d, as.vec(dest, 16));
  }
  if (axis == w.vector_axis && !first_only)
    a.emit(wide ? Id::kIdVpaddq : Id::kIdVpaddd, d, d, as.lane_numbers(width, ahead));
}

}  // namespace lazy::cpu_backend
