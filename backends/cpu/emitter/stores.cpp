// Writes lanes to operands: narrows to the element type, then writes side by side, strided, under the tail
// mask or lane 0 alone.
#include <bit>

#include "backends/cpu/emitter/loads.hpp"
#include "backends/cpu/emitter/registers.hpp"

namespace lazy::cpu_backend {
using jit::loop::Operand;
using jit::loop::Stride;
namespace Id = x86::Inst;
using asmjit::Imm;
namespace {

class StoreWriter {
 public:
  StoreWriter(Assembly& as, Registers& regs, const Addressing& w, const Slot& s, int value)
      : as_(as), a_(as.a), regs_(regs), w_(w), s_(s), o_(as.kernel.operands[s.index]), value_(value) {}

  void write() {
    const Stride along = o_.stride[w_.vector_axis];
    if (along == Stride::zero) return lane0(address(as_, w_, s_));
    if (along == Stride::any) return w_.often_unit ? often_unit() : strided();
    const x86::Mem m = address(as_, w_, s_);
    if (as_.avx512()) return packed512(m, w_.masked);
    if (!w_.masked) return packed256(m);
    const asmjit::Label partial = a_.newLabel(), done = a_.newLabel();
    a_.cmp(x86::dword_ptr(x86::rsp, w_.count), as_.lanes);
    // Registers are taken, and others spilled for them, before the code branches.
    const bool narrow = size_of(o_.dtype) < 4;
    const int work = narrow ? narrowed() : regs_.scratch();
    a_.jb(partial);
    if (narrow) move_out(work, m);
    else packed256(m);
    a_.jmp(done);
    a_.bind(partial);
    if (narrow) narrow_partial256(m, work);
    else masked256(m, work);
    a_.bind(done);
  }

 private:
  int bytes() const { return as_.lanes * (size_of(o_.dtype) == 8 ? 8 : 4); }
  x86::Vec value() const { return as_.vec(value_, bytes()); }

  void packed512(x86::Mem m, bool masked) {
    const auto emit = [&](uint32_t id, const x86::Vec& v) {
      if (masked) a_.k(x86::k1).emit(id, m, v);
      else a_.emit(id, m, v);
    };
    switch (o_.dtype) {
      case DType::int8:
      case DType::uint8: return emit(Id::kIdVpmovdb, value());
      case DType::int16:
      case DType::uint16: return emit(Id::kIdVpmovdw, value());
      case DType::float16:
        if (masked) a_.k(x86::k1).emit(Id::kIdVcvtps2ph, m, value(), Imm(0));
        else a_.emit(Id::kIdVcvtps2ph, m, value(), Imm(0));
        return;
      case DType::bfloat16: {
        const x86::Vec t = as_.vec(regs_.scratch(), bytes());
        a_.emit(Id::kIdVpsrld, t, value(), Imm(16));
        return emit(Id::kIdVpmovdw, t);
      }
      case DType::bool_: {
        const x86::Vec t = as_.vec(regs_.scratch(), 16);
        a_.k(mask_register(value_)).z().emit(Id::kIdVmovdqu8, t, as_.table(std::vector<uint8_t>(16, 1), 16));
        if (masked) return emit(Id::kIdVmovdqu8, t);
        if (as_.lanes == 16) a_.vmovups(m, t);
        else a_.vmovq(m, t.xmm());
        return;
      }
      case DType::float64:
      case DType::int64:
      case DType::uint64: return emit(w_.stream ? Id::kIdVmovntpd : Id::kIdVmovupd, value());
      default: return emit(w_.stream ? Id::kIdVmovntps : Id::kIdVmovups, value());
    }
  }

  /// Returns, on AVX2, a scratch register whose low bytes are the packed 1- or 2-byte elements.
  int narrowed() {
    const int t = regs_.scratch();
    const x86::Vec full = as_.vec(t, bytes()), low = as_.vec(t, 16);
    if (o_.dtype == DType::float16) {
      a_.emit(Id::kIdVcvtps2ph, low, value(), Imm(0));
      return t;
    }
    if (o_.dtype == DType::bfloat16) a_.emit(Id::kIdVpsrld, full, value(), Imm(16));
    else if (o_.dtype == DType::bool_) a_.emit(Id::kIdVpsrld, full, value(), Imm(31));
    else a_.emit(Id::kIdVpand, full, value(), as_.constant_vector(size_of(o_.dtype) == 2 ? 0xffff : 0xff, 4));
    if (as_.lanes == 8) {
      const x86::Vec high = as_.vec(regs_.scratch(), 16);
      a_.emit(Id::kIdVextracti128, high, full, Imm(1));
      a_.emit(Id::kIdVpackusdw, low, low, high);
    } else {
      a_.emit(Id::kIdVpackusdw, low, low, low);
    }
    if (size_of(o_.dtype) == 1) a_.emit(Id::kIdVpackuswb, low, low, low);
    return t;
  }
  void move_out(int reg, x86::Mem m) {
    const x86::Xmm r = as_.vec(reg, 16).xmm();
    switch (as_.lanes * static_cast<int>(size_of(o_.dtype))) {
      case 16: return static_cast<void>(a_.vmovups(m, r));
      case 8: return static_cast<void>(a_.vmovq(m, r));
      default: return static_cast<void>(a_.vmovd(m, r));
    }
  }
  void packed256(x86::Mem m) {
    if (size_of(o_.dtype) >= 4) a_.emit(w_.stream ? Id::kIdVmovntps : Id::kIdVmovups, m, value());
    else move_out(narrowed(), m);
  }
  void masked256(x86::Mem m, int work) {
    const bool wide = size_of(o_.dtype) == 8;
    const x86::Vec mask = as_.vec(work, bytes());
    a_.vmovups(mask, as_.frame(wide ? w_.tail64 : w_.tail32));
    a_.emit(wide ? Id::kIdVmaskmovpd : Id::kIdVmaskmovps, m, mask, value());
  }
  void narrow_partial256(x86::Mem m, int narrow) {
    move_out(narrow, as_.frame(as_.staging()));
    copy_out(m, true);
  }

  /// Writes side by side, to memory or, if elements are apart there, to the staging buffer and on from it.
  void often_unit() {
    const asmjit::Label done = a_.newLabel();
    const x86::Mem m = address(as_, w_, s_);
    a_.lea(x86::rsi, m);
    a_.lea(x86::rcx, as_.frame(as_.staging()));
    a_.cmp(as_.arg(as_.args.stride(s_.index, w_.vector_axis)), static_cast<int>(size_of(o_.dtype)));
    a_.cmove(x86::rcx, x86::rsi);
    packed512(x86::ptr(x86::rcx), false);  // leaves the flags
    a_.je(done);
    copy_out(x86::ptr(x86::rsi), false);
    a_.bind(done);
  }

  void strided() {
    const bool wide = size_of(o_.dtype) == 8;
    if (as_.avx512() && size_of(o_.dtype) >= 4 && !o_.wide) {
      const x86::Vec index = as_.vec(regs_.scratch(), as_.lanes * 4);
      const x86::KReg lanes = mask_register(regs_.scratch_k());
      a_.lea(x86::rsi, address(as_, w_, s_));
      a_.vmovups(index, as_.frame((*w_.lane_offsets)[s_.index]));
      if (w_.masked) a_.kmovw(lanes, x86::k1);
      else a_.kxnorw(lanes, lanes, lanes);
      a_.k(lanes).emit(wide ? Id::kIdVscatterdpd : Id::kIdVscatterdps, x86::ptr(x86::rsi, index, 0, 0),
                       value());
      return;
    }
    if (as_.avx512()) packed512(as_.frame(as_.staging()), false);
    else packed256(as_.frame(as_.staging()));
    copy_out(address(as_, w_, s_), false);
  }

  /// Copies elements of the staging buffer to memory, one by one.
  void copy_out(x86::Mem at, bool unit) { copy_elements(as_, w_, s_, at, true, unit); }

  void lane0(x86::Mem m) {
    const x86::Xmm low = as_.vec(value_, 16).xmm();
    const auto out = [&] {
      if (size_of(o_.dtype) == 1) a_.mov(m, x86::cl);
      else a_.mov(m, x86::cx);
    };
    switch (o_.dtype) {
      case DType::float64:
      case DType::int64:
      case DType::uint64: a_.vmovsd(m, low); return;
      case DType::float32:
      case DType::int32:
      case DType::uint32: a_.vmovss(m, low); return;
      case DType::bool_:
        if (as_.avx512()) a_.kmovw(x86::ecx, mask_register(value_));
        else a_.vmovd(x86::ecx, low);
        a_.and_(x86::ecx, 1);
        return out();
      case DType::float16: {
        const x86::Xmm t = as_.vec(regs_.scratch(), 16).xmm();
        a_.vcvtps2ph(t, low, 0);
        a_.vmovd(x86::ecx, t);
        return out();
      }
      case DType::bfloat16:
        a_.vmovd(x86::ecx, low);
        a_.shr(x86::ecx, 16);
        return out();
      default: a_.vmovd(x86::ecx, low); return out();
    }
  }

  Assembly& as_;
  x86::Assembler& a_;
  Registers& regs_;
  const Addressing& w_;
  const Slot& s_;
  const Operand& o_;
  int value_;
};

}  // namespace

void write_store(Assembly& as, Registers& regs, const Addressing& w, const Slot& s, uint32_t value) {
  const int r = regs.fetch(value);
  StoreWriter(as, regs, w, s, r).write();
}

}  // namespace lazy::cpu_backend
