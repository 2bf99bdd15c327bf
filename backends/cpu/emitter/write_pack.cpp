// A contraction's columns, packed. What all rows of the kernel share of a chunk (the second factor, converted
// and computed) is written once, in the order it is read: tiles then neither gather nor jump from page to
// page.
#include "backends/cpu/emitter/kernel_writer.hpp"

namespace lazy::cpu {

void KernelWriter::plan_pack() {
  const std::vector<uint32_t> values = hot_copies_->shared_by_rows();
  if (values.empty() || values.size() > 3) return;
  packed_values_ = static_cast<int>(values.size());
  pack_body_ = body_;
  pack_body_.updates.clear();
  packed_body_ = body_;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<uint16_t>(i);
    pack_body_.stores.push_back({index, values[i], Slot::Kind::packed});
    packed_body_.code[values[i]] = {vir::Op::input, body_.code[values[i]].type,
                                    Slot{Slot::Kind::packed, index}.pack()};
  }
  pack_copies_ = std::make_unique<Copies>(*as_, pack_body_, full_, seq_);
  packed_copies_ = std::make_unique<Copies>(*as_, packed_body_, full_, seq_);
  schedule_.row_axis = row_axis_;
  tile_ = as_->reserve(8);
  as_->a.mov(x86::rcx, as_->arg(jit::loop::ArgLayout::kScratch + 2));
  as_->a.and_(x86::rcx, -kPackedVector);
  as_->a.mov(as_->frame(tile_), x86::rcx);
  schedule_.pack_columns = shape_.vecs * lanes_;
  panel_ = as_->reserve(8);
  as_->a.mov(x86::rcx, as_->arg(jit::loop::ArgLayout::kScratch + 1));
  as_->a.mov(as_->frame(panel_), x86::rcx);
  schedule_.pack_bytes = packed_values_ * shape_.vecs * kPackedVector;
}

/// Runs the sequential axis once for the chunk's columns, writing the panel to the launch's scratch memory.
void KernelWriter::pack_panel(int vecs, bool masked) {
  x86::Assembler& a = as_->a;
  Addressing w = masked ? masked_ : full_;
  x86::Mem row = as_->frame(counters_[static_cast<size_t>(row_axis_)]);
  row.setSize(8);
  a.mov(row, 0);
  set_chunk_pointers({1, vecs, 1}, w);
  if (!pack_copies_->stage_is_empty(1)) write_block(pack_copies_->block(1, {1, vecs, 1}), w);
  w.pack_reg = x86::Gp::kIdR14;
  w.pack_vecs = vecs;
  a.mov(x86::r14, as_->frame(panel_));
  a.mov(x86::rax, as_->arg(as_->args.extent(seq_)));
  a.mov(as_->frame(full_.seq_end), x86::rax);
  const Label loop = a.newLabel(), done = a.newLabel();
  a.test(x86::rax, x86::rax);
  a.jle(done);
  a.bind(loop);
  write_block(pack_copies_->block(2, {1, vecs, 1}), w);
  advance_sequential(w);
  a.add(x86::r14, packed_values_ * vecs * kPackedVector);
  a.dec(x86::rax);
  a.jnz(loop);
  a.bind(done);
}

/// The tile's accumulators to or from memory, where the launch asks for it; `otherwise`: where it does not.
void KernelWriter::move_tile(Shape shape, bool to_memory, const Label& otherwise) {
  x86::Assembler& a = as_->a;
  x86::Mem flags = as_->arg(jit::loop::ArgLayout::kScratch + 2);
  a.test(flags, to_memory ? kSuspend : kResume);
  a.jz(otherwise);
  a.mov(x86::rcx, as_->frame(tile_));
  int at = 0;
  for (const AccumulatorPlaces& p : red_->acc)
    for (int i = 0; i < shape.rows * shape.vecs; ++i, at += kPackedVector) {
      const Variable& v = as_->variables[p.hot[static_cast<size_t>(i)]];
      const x86::Vec r = as_->vec(v.reg >= 0 ? v.reg : as_->tail_scratch(), v.type);
      if (to_memory) {
        if (v.reg < 0) a.vmovups(r, as_->frame(v.frame));
        a.vmovups(x86::ptr(x86::rcx, at), r);
      } else {
        a.vmovups(r, x86::ptr(x86::rcx, at));
        if (v.reg < 0) a.vmovups(as_->frame(v.frame), r);
      }
    }
}

}  // namespace lazy::cpu
