#include "backends/cpu/emitter/kernel_writer.hpp"

#include <cstddef>

#include "backends/cpu/emitter/call_table.hpp"
#include "backends/cpu/emitter/contraction_writer.hpp"
#include "backends/cpu/emitter/demanded_bits.hpp"
#include "backends/cpu/emitter/inner_reduction_writer.hpp"
#include "backends/cpu/emitter/legalize.hpp"
#include "backends/cpu/emitter/map_writer.hpp"
#include "backends/cpu/emitter/outer_reduction_writer.hpp"
#include "backends/cpu/emitter/reciprocals.hpp"
#include "backends/cpu/packing/transpose.hpp"

namespace lazy::cpu_backend {
using jit::loop::Form;
using jit::loop::Operand;
using vir::Type;
namespace Id = x86::Inst;

KernelWriter::KernelWriter(const jit::loop::LoopKernel& k, Isa isa)
    : k_(k), isa_(isa), vector_axis_(k.rank - 1), seq_(k.sequential) {
  inner_ = k.form == Form::reduce && seq_ == vector_axis_;
  outer_form_ = seq_ >= 0 && !inner_;
  for (int a = 0; a < k_.rank; ++a)
    if (a != vector_axis_ && a != seq_) outer_.push_back(a);
  if (k.form == Form::contract && k.contraction.row >= 0) {
    row_axis_ = k.contraction.row;
    std::erase(outer_, row_axis_);
  }
}
KernelWriter::~KernelWriter() = default;

std::unique_ptr<KernelWriter> KernelWriter::of(const jit::loop::LoopKernel& k, Isa isa) {
  if (k.form == Form::map) return std::make_unique<MapWriter>(k, isa);
  if (k.form == Form::reduce && k.sequential == k.rank - 1)
    return std::make_unique<InnerReductionWriter>(k, isa);
  if (k.form == Form::contract)
    if (auto form = contraction_form(k)) return std::make_unique<ContractionWriter>(k, isa, *form);
  return std::make_unique<OuterReductionWriter>(k, isa);
}

void KernelWriter::choose_lanes() {
  bool wide = has_wide_lanes(body_) || has_wide_lanes(epilogue_);
  for (const Operand& o : k_.operands) wide |= size_of(o.dtype) == 8;
  const int bytes = isa_ >= Isa::avx512 ? 64 : 32;
  lanes_ = bytes / (wide ? 8 : 4);
}

void KernelWriter::write() {
  body_ = select_body(k_, isa_, inner_);
  if (k_.has_epilogue()) epilogue_ = select_epilogue(k_, isa_);
  if (k_.form == Form::map && isa_ >= Isa::avx512) divide_by_reciprocals(body_, k_);
  drop_unneeded_bits(body_, k_);
  legalize(body_, isa_);
  if (k_.has_epilogue()) legalize(epilogue_, isa_);
  choose_lanes();
  as_ = std::make_unique<Assembly>(k_, isa_, lanes_);
  as_->left_free = std::max(most_at_once(body_.code), most_at_once(epilogue_.code));
  schedule_.isa = isa_;
  schedule_.lanes = lanes_;
  schedule_.instructions = static_cast<int>(body_.code.size());
  schedule_.epilogue = static_cast<int>(epilogue_.code.size());

  prepare();
  counters_.assign(k_.rank, -1);
  assign_pointers();
  const Label done = as_->a.newLabel();
  as_->prologue();
  enter(done);

  full_.indexed = !outer_form_;
  full_.vector_axis = vector_axis_;
  full_.row_axis = row_axis_;
  full_.counters = &counters_;
  full_.lane_offsets = &lane_offsets_;
  full_.count = as_->reserve(8);
  full_.index_base = as_->reserve(8);
  full_.seq_end = as_->reserve(8);
  if (row_axis_ >= 0) counters_[static_cast<size_t>(row_axis_)] = as_->reserve(8);
  if (!as_->avx512()) {
    full_.tail32 = as_->reserve(lanes_ * 4);
    full_.tail64 = as_->reserve(lanes_ * 8);
  }
  masked_ = full_;
  masked_.masked = true;

  plan();
  outer_axes();
  if (schedule_.streams) {  // what went past the caches must be seen by whoever waits for this launch
    const Label cached = as_->a.newLabel();
    as_->a.cmp(as_->arg(jit::loop::ArgLayout::kScratch), static_cast<int>(kStream));
    as_->a.jne(cached);
    as_->a.sfence();
    as_->a.bind(cached);
  }
  as_->a.bind(done);
  as_->epilogue();
  schedule_.spills = as_->spills;
  schedule_.frame_bytes = as_->frame_bytes();
  schedule_.rows = shape_.rows;
  schedule_.vectors = shape_.vecs;
  schedule_.steps = shape_.steps;
}

// Assigns registers to pointers. In a map and an inner reduction they step from row to row; in the other
// forms those are on the frame and the registers hold what the current chunk and step use.
void KernelWriter::assign_pointers() {
  static constexpr int order[] = {x86::Gp::kIdR8,  x86::Gp::kIdR9, x86::Gp::kIdR10, x86::Gp::kIdR11,
                                  x86::Gp::kIdBx,  x86::Gp::kIdBp, x86::Gp::kIdR12, x86::Gp::kIdR13,
                                  x86::Gp::kIdR14, x86::Gp::kIdR15};
  size_t next = 0;
  const size_t n = k_.operands.size();
  as_->pointer_reg.assign(n, -1);
  as_->pointer_frame.assign(n, -1);
  row_pointer_frame_.assign(n, -1);
  const size_t free = std::size(order) - static_cast<size_t>(pointers_for_rows());
  const auto give = [&](size_t o) {
    if (is_side(o)) return;
    if (next < free) as_->pointer_reg[o] = static_cast<int8_t>(order[next++]);
    else as_->pointer_frame[o] = as_->reserve(8);
  };
  for (size_t o = 0; o < n; ++o) {
    if (outer_form_) row_pointer_frame_[o] = as_->reserve(8);
    if (!(outer_form_ && k_.operands[o].output)) give(o);
  }
  for (size_t o = 0; o < n; ++o)
    if (outer_form_ && k_.operands[o].output) give(o);
}

void KernelWriter::enter(const Label& done) {
  x86::Assembler& a = as_->a;
  for (int axis = 0; axis < k_.rank; ++axis) {
    if (axis == seq_ && k_.has_epilogue()) continue;
    a.cmp(as_->arg(as_->args.extent(axis)), 0);
    a.jle(done);
  }
  copy_transposed(done);
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const x86::Mem p = as_->arg(as_->args.pointer(static_cast<int>(o)));
    if (!outer_form_ && as_->pointer_reg[o] >= 0) {
      a.mov(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), p);
    } else {
      a.mov(x86::rcx, p);
      a.mov(as_->frame(outer_form_ ? row_pointer_frame_[o] : as_->pointer_frame[o]), x86::rcx);
    }
  }
  begin();
  widen_scalars();
  lane_offsets();
}

/// Writes a call that does the complete launch if it transposes, then a jump to `done` if it did.
void KernelWriter::copy_transposed(const Label& done) {
  const auto form = copy_form(k_);
  if (!form) return;
  x86::Assembler& a = as_->a;
  const int32_t answer = as_->reserve(8);
  a.mov(x86::rbx, x86::rdi);
  a.mov(x86::rax, as_->arg(as_->args.kContext));
  a.lea(x86::rdx, as_->frame(answer));
  a.mov(x86::ecx, form->pack());
  a.call(x86::qword_ptr(x86::rax, static_cast<int>(Call::copy_transposed) * 8));
  a.mov(x86::rdi, x86::rbx);
  x86::Mem is_done = as_->frame(answer);
  is_done.setSize(4);
  a.cmp(is_done, 0);
  a.jne(done);
}

void KernelWriter::widen_scalars() {
  x86::Assembler& a = as_->a;
  std::vector<int32_t> at(k_.scalars, -1);
  for (const auto& in : k_.body) {
    if (in.code != jit::loop::Code::scalar || size_of(in.type) >= 4 || at[in.imm] >= 0) continue;
    at[in.imm] = as_->reserve(8);
    x86::Mem m = as_->arg(as_->args.scalar(in.imm));
    m.setSize(static_cast<uint32_t>(size_of(in.type)));
    if (in.type == DType::int8 || in.type == DType::int16) a.movsx(x86::ecx, m);
    else a.movzx(x86::ecx, m);
    if (in.type == DType::bool_) {
      a.neg(x86::ecx);
      a.sbb(x86::ecx, x86::ecx);
    } else if (in.type == DType::bfloat16) {
      a.shl(x86::ecx, 16);
    } else if (in.type == DType::float16) {
      a.vmovd(x86::xmm0, x86::ecx);
      a.vcvtph2ps(x86::xmm0, x86::xmm0);
      a.vmovd(x86::ecx, x86::xmm0);
    }
    a.mov(as_->frame(at[in.imm]), x86::ecx);
  }
  full_.scalars = at;
}

void KernelWriter::lane_offsets() {
  lane_offsets_.assign(k_.operands.size(), -1);
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const Operand& op = k_.operands[o];
    if (op.stride[vector_axis_] != Stride::any || op.wide || size_of(op.dtype) < 4) continue;
    if (!as_->avx512() && op.output) continue;
    lane_offsets_[o] = as_->reserve(lanes_ * 4);
    const x86::Vec v = as_->vec(0, lanes_ * 4);
    as_->a.emit(Id::kIdVpbroadcastd, v, as_->arg(as_->args.stride(static_cast<int>(o), vector_axis_)));
    as_->a.emit(Id::kIdVpmulld, v, v, as_->lane_numbers(4, 0));
    as_->a.vmovups(as_->frame(lane_offsets_[o]), v);
  }
}

void KernelWriter::write_block(const Block& b, const Addressing& w) {
  for (Variable& v : as_->variables)
    if (v.reg < 0 && v.frame < 0)
      v.frame = as_->reserve(v.type == Type::mask ? 8 : lanes_ * (vir::is64(v.type) ? 8 : 4));
  BlockWriter(*as_, b, w).write([&] { advance_sequential(w); });
}

void KernelWriter::set_tail() {
  x86::Assembler& a = as_->a;
  a.mov(x86::edx, lanes_);
  a.cmp(x86::rcx, x86::rdx);
  a.cmovg(x86::rcx, x86::rdx);
  a.mov(as_->frame(full_.count), x86::rcx);
  if (as_->avx512()) {
    a.mov(x86::edx, -1);
    a.bzhi(x86::edx, x86::edx, x86::ecx);
    a.kmovw(x86::k1, x86::edx);
    return;
  }
  // The mask is a window on as many ones as lanes before as many zeros.
  a.neg(x86::rcx);
  const auto window = [&](int width, int32_t to) {
    std::vector<uint8_t> bytes(static_cast<size_t>(2 * lanes_ * width), 0);
    std::fill_n(bytes.begin(), lanes_ * width, 0xff);
    a.lea(x86::rdx, as_->table(bytes, 32));
    const x86::Vec v = as_->vec(as_->tail_scratch(), lanes_ * width);
    a.vmovups(v, x86::ptr(x86::rdx, x86::rcx, width == 8 ? 3 : 2, lanes_ * width));
    a.vmovups(as_->frame(to), v);
  };
  window(4, full_.tail32);
  if (lanes_ == 4) window(8, full_.tail64);
}

void KernelWriter::set_rest(int32_t rest, int vectors) {
  x86::Assembler& a = as_->a;
  a.and_(x86::ecx, vectors * lanes_ - 1);
  a.mov(as_->frame(rest), x86::rcx);
  a.dec(x86::ecx);
  a.and_(x86::ecx, lanes_ - 1);
  a.inc(x86::ecx);
  set_tail();
}

void KernelWriter::write_rest(int32_t rest, int vectors, const std::function<void(int v)>& whole,
                              const std::function<void(int v)>& last) {
  x86::Assembler& a = as_->a;
  const Label done = a.newLabel();
  x86::Mem left = as_->frame(rest);
  left.setSize(4);
  std::vector<Label> ends(static_cast<size_t>(vectors));
  for (Label& l : ends) l = a.newLabel();
  a.cmp(left, 0);
  a.je(done);
  for (int v = 0; v + 1 < vectors; ++v) {
    a.cmp(left, (v + 1) * lanes_);
    a.jle(ends[static_cast<size_t>(v)]);
    whole(v);
  }
  for (int v = vectors; v-- > 0;) {
    a.bind(ends[static_cast<size_t>(v)]);
    last(v);
    if (v > 0) a.jmp(done);
  }
  a.bind(done);
}

// Writes the loops over the outer axes. A level's step moves every pointer to the next index and takes back
// what the level inside it has moved.
void KernelWriter::outer_axes() {
  x86::Assembler& a = as_->a;
  deltas_.resize(outer_.size());
  for (size_t l = 0; l < outer_.size(); ++l) {
    const int axis = outer_[l];
    counters_[static_cast<size_t>(axis)] = as_->reserve(8);
    deltas_[l].assign(k_.operands.size(), -1);
    if (l + 1 == outer_.size()) continue;
    const int inside = outer_[l + 1];
    for (size_t o = 0; o < k_.operands.size(); ++o) {
      const Operand& op = k_.operands[o];
      if (op.stride[inside] == Stride::zero) continue;
      deltas_[l][o] = as_->reserve(8);
      const int oi = static_cast<int>(o);
      if (op.stride[inside] == Stride::unit)
        a.imul(x86::rcx, as_->arg(as_->args.extent(inside)), static_cast<int>(byte_width(oi)));
      else {
        a.mov(x86::rcx, as_->arg(as_->args.extent(inside)));
        a.imul(x86::rcx, as_->arg(as_->args.stride(oi, inside)));
      }
      a.neg(x86::rcx);
      if (op.stride[axis] == Stride::unit) a.add(x86::rcx, static_cast<int>(byte_width(oi)));
      else if (op.stride[axis] == Stride::any) a.add(x86::rcx, as_->arg(as_->args.stride(oi, axis)));
      a.mov(as_->frame(deltas_[l][o]), x86::rcx);
    }
  }
  next_row_ = a.newLabel();
  nest(0);
}

void KernelWriter::bump(int operand, const x86::Mem& amount) {
  x86::Assembler& a = as_->a;
  const auto o = static_cast<size_t>(operand);
  if (!outer_form_ && as_->pointer_reg[o] >= 0) {
    a.add(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), amount);
    return;
  }
  a.mov(x86::rcx, amount);
  a.add(as_->frame(outer_form_ ? row_pointer_frame_[o] : as_->pointer_frame[o]), x86::rcx);
}
void KernelWriter::bump(int operand, int64_t amount) {
  x86::Assembler& a = as_->a;
  const auto o = static_cast<size_t>(operand);
  if (!outer_form_ && as_->pointer_reg[o] >= 0) {
    a.add(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), amount);
    return;
  }
  x86::Mem m = as_->frame(outer_form_ ? row_pointer_frame_[o] : as_->pointer_frame[o]);
  m.setSize(8);
  a.add(m, amount);
}

/// Moves pointers and counter to the next index; rcx: the counter.
void KernelWriter::next_index(size_t level) {
  x86::Assembler& a = as_->a;
  const int axis = outer_[level];
  const int32_t counter = counters_[static_cast<size_t>(axis)];
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const Operand& op = k_.operands[o];
    const int oi = static_cast<int>(o);
    if (deltas_[level][o] >= 0) bump(oi, as_->frame(deltas_[level][o]));
    else if (op.stride[axis] == Stride::unit) bump(oi, byte_width(oi));
    else if (op.stride[axis] == Stride::any) bump(oi, as_->arg(as_->args.stride(oi, axis)));
  }
  a.mov(x86::rcx, as_->frame(counter));
  a.inc(x86::rcx);
  a.mov(as_->frame(counter), x86::rcx);
}

void KernelWriter::skip_indices(int n) {
  x86::Assembler& a = as_->a;
  const int axis = outer_.back();
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const int oi = static_cast<int>(o);
    const Stride stride = k_.operands[o].stride[axis];
    if (stride == Stride::unit) bump(oi, n * byte_width(oi));
    if (stride != Stride::any) continue;
    a.imul(x86::rcx, as_->arg(as_->args.stride(oi, axis)), n);
    if (as_->pointer_reg[o] >= 0) a.add(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), x86::rcx);
    else a.add(as_->frame(as_->pointer_frame[o]), x86::rcx);
  }
  x86::Mem counter = as_->frame(counters_[static_cast<size_t>(axis)]);
  counter.setSize(8);
  a.add(counter, n);
}

void KernelWriter::go_on_after(int n, const std::vector<uint8_t>& alike) {
  x86::Assembler& a = as_->a;
  a.imul(x86::rdx, x86::rcx, n);
  const int axis = outer_.back();
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const Stride stride = k_.operands[o].stride[axis];
    const int oi = static_cast<int>(o);
    if (stride == Stride::unit) bump(oi, n * byte_width(oi));
    if (stride != Stride::any) continue;
    x86::Gp distance = x86::rdx;
    if (!alike[o]) a.imul(distance = x86::rcx, as_->arg(as_->args.stride(oi, axis)), n);
    if (as_->pointer_reg[o] >= 0) a.add(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), distance);
    else a.add(as_->frame(as_->pointer_frame[o]), distance);
  }
  const x86::Mem counter = as_->frame(counters_[static_cast<size_t>(axis)]);
  a.mov(x86::rcx, counter);
  a.add(x86::rcx, n);
  a.mov(counter, x86::rcx);
  a.jmp(next_row_);
}

void KernelWriter::nest(size_t level) {
  if (level == outer_.size()) return row();
  x86::Assembler& a = as_->a;
  const int axis = outer_[level];
  const int32_t counter = counters_[static_cast<size_t>(axis)];
  x86::Mem count = as_->frame(counter);
  count.setSize(8);
  a.mov(count, 0);
  const Label loop = a.newLabel();
  a.bind(loop);
  nest(level + 1);
  next_index(level);
  if (level + 1 == outer_.size()) a.bind(next_row_);
  a.cmp(x86::rcx, as_->arg(as_->args.extent(axis)));
  a.jl(loop);
}

}  // namespace lazy::cpu_backend
