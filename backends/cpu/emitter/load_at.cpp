// Loads at a computed index: one index for all lanes, which is a load like any other from another address, or
// one for each lane.
#include <bit>

#include "backends/cpu/emitter/loads.hpp"
#include "backends/cpu/emitter/registers.hpp"

namespace lazy::cpu_backend {
using jit::loop::Operand;
using jit::loop::Stride;
namespace Id = x86::Inst;
namespace {

uint32_t log2_of(DType t) { return static_cast<uint32_t>(std::countr_zero(size_of(t))); }

class IndexedLoad {
 public:
  IndexedLoad(Assembly& as, Registers& regs, const Addressing& w, const Slot& s, int index, int dest)
      : as_(as),
        a_(as.a),
        regs_(regs),
        w_(w),
        s_(s),
        o_(as.kernel.operands[s.index]),
        along_(o_.stride[w.vector_axis]),
        index_(index),
        dest_(dest) {}

  /// Loads from the address that lane 0's index leads to.
  void row() {
    a_.lea(x86::rsi, address(as_, w_, s_));
    a_.vmovq(x86::rdx, as_.vec(index_, 16).xmm());
    a_.lea(x86::rsi, x86::ptr(x86::rsi, x86::rdx, log2_of(o_.dtype)));
    write_load_from(as_, regs_, w_, s_, x86::ptr(x86::rsi), dest_);
  }

  void lanes() {
    if (size_of(o_.dtype) < 4 || (along_ == Stride::any && o_.wide)) return one_by_one();
    a_.lea(x86::rsi, address(as_, w_, s_));
    switch (along_) {
      case Stride::zero: return gather(index_, log2_of(o_.dtype));
      case Stride::unit: {
        const int at = regs_.scratch();
        a_.emit(Id::kIdVpaddq, wide(at), wide(index_), as_.lane_numbers(8, 0));
        return gather(at, log2_of(o_.dtype));
      }
      case Stride::any: return gather(offsets(), 0);
    }
  }

 private:
  x86::Vec wide(int reg) const { return as_.vec(reg, as_.lanes * 8); }

  /// Returns byte offsets from lane 0's element, including those of each lane's element.
  int offsets() {
    const int at = regs_.scratch(), bytes = regs_.scratch();
    a_.emit(Id::kIdVpbroadcastq, wide(at), as_.arg(as_.args.stride(s_.index, w_.vector_axis)));
    a_.emit(Id::kIdVpmuldq, wide(at), wide(at), as_.lane_numbers(8, 0));  // which fits 32 bits
    a_.emit(Id::kIdVpsllq, wide(bytes), wide(index_), asmjit::Imm(log2_of(o_.dtype)));
    a_.emit(Id::kIdVpaddq, wide(at), wide(at), wide(bytes));
    return at;
  }

  /// Gathers elements of 4 or 8 bytes at rsi + lanes of `at` << shift.
  void gather(int at, uint32_t shift) {
    const bool wide8 = size_of(o_.dtype) == 8;
    const int bytes = as_.lanes * (wide8 ? 8 : 4);
    const uint32_t id = wide8 ? Id::kIdVgatherqpd : Id::kIdVgatherqps;
    const x86::Mem m = x86::ptr(x86::rsi, wide(at), shift, 0);
    const x86::Vec d = as_.vec(dest_, bytes);
    if (as_.avx512()) {
      const x86::KReg lanes = mask_register(regs_.scratch_k());
      if (w_.masked) a_.kmovw(lanes, x86::k1);
      else a_.kxnorw(lanes, lanes, lanes);
      a_.k(lanes).emit(id, d, m);
      return;
    }
    const x86::Vec lanes = as_.vec(regs_.scratch(), bytes);
    if (w_.masked) a_.vmovups(lanes, as_.frame(wide8 ? w_.tail64 : w_.tail32));
    else a_.emit(Id::kIdVpcmpeqd, lanes, lanes, lanes);
    a_.emit(id, d, m, lanes);
  }

  /// Goes through the staging buffer: for elements of 1 and 2 bytes, which no instruction gathers, and far
  /// ones.
  void one_by_one() {
    const uint32_t shift = log2_of(o_.dtype);
    const int32_t elements = as_.staging(), indices = elements + 64;
    const x86::Mem from = x86::ptr(x86::rsi, x86::rdx, shift),
                   to = x86::ptr(x86::rsp, x86::rcx, shift, elements);
    a_.lea(x86::rsi, address(as_, w_, s_));
    a_.vmovups(as_.frame(indices), wide(index_));
    a_.xor_(x86::ecx, x86::ecx);
    const asmjit::Label loop = a_.newLabel();
    a_.bind(loop);
    a_.mov(x86::rdx, x86::ptr_64(x86::rsp, x86::rcx, 3, indices));
    move_element(from, to);
    if (along_ == Stride::unit) a_.add(x86::rsi, static_cast<int>(size_of(o_.dtype)));
    else if (along_ == Stride::any) a_.add(x86::rsi, as_.arg(as_.args.stride(s_.index, w_.vector_axis)));
    a_.inc(x86::ecx);
    if (w_.masked) a_.cmp(x86::ecx, x86::dword_ptr(x86::rsp, w_.count));
    else a_.cmp(x86::ecx, as_.lanes);
    a_.jb(loop);
    widen(as_, regs_, o_.dtype, as_.frame(elements), dest_, false);
  }

  /// Moves one by way of rdx.
  void move_element(x86::Mem from, const x86::Mem& to) {
    switch (size_of(o_.dtype)) {
      case 1:
        from.setSize(1);
        a_.movzx(x86::edx, from);
        a_.mov(to, x86::dl);
        return;
      case 2:
        from.setSize(2);
        a_.movzx(x86::edx, from);
        a_.mov(to, x86::dx);
        return;
      case 4:
        a_.mov(x86::edx, from);
        a_.mov(to, x86::edx);
        return;
      default: a_.mov(x86::rdx, from); a_.mov(to, x86::rdx);
    }
  }

  Assembly& as_;
  x86::Assembler& a_;
  Registers& regs_;
  const Addressing& w_;
  const Slot& s_;
  const Operand& o_;
  const Stride along_;
  const int index_, dest_;
};

}  // namespace

void write_load_at(Assembly& as, Registers& regs, const Addressing& w, const Slot& s, int index, bool row,
                   int dest) {
  IndexedLoad load(as, regs, w, s, index, dest);
  if (row) load.row();
  else load.lanes();
}

}  // namespace lazy::cpu_backend
