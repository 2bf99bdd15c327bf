// Every axis parallel: whole vectors several at a time, then the rest of the row under the tail mask.
#include "backends/cpu/emitter/kernel_writer.hpp"

namespace lazy::cpu {

namespace {

/// Cycles that the template takes on its longest chain, and by how many instructions the units can begin.
struct Estimate {
  int chain = 0, work = 0;
  int slow = 0;  // divisions and roots: copies would wait for the one unit that does them
};
Estimate estimate(const Template& t) {
  Estimate e;
  std::vector<int> depth(t.code.size(), 0);
  for (size_t v = 0; v < t.code.size(); ++v) {
    const vir::Inst& in = t.code[v];
    const int arity = block_arity(in.op);
    if (arity == 0) continue;
    int d = depth[in.a];
    if (arity > 1) d = std::max(d, depth[in.b]);
    if (arity > 2) d = std::max(d, depth[in.c]);
    if (arity > 3) d = std::max(d, depth[in.d]);
    const bool is_float = in.type == vir::Type::f32 || in.type == vir::Type::f64;
    const bool slow = in.op == vir::Op::div || in.op == vir::Op::sqrt;
    depth[v] = d + (slow ? 12 : is_float ? 4 : 2);
    e.chain = std::max(e.chain, depth[v]);
    e.work += slow ? 6 : 1;
    e.slow += slow;
  }
  return e;
}

}  // namespace

void KernelWriter::plan_map() {
  copies_ = std::make_unique<Copies>(*as_, body_, full_, vector_axis_);
  const Estimate e = estimate(body_);
  const auto size = static_cast<int>(copies_->stage2_size());
  // Short bodies share the loop's overhead; a long one is interleaved with itself if its chain is longer than
  // its work and too long for the processor's own window to overlap.
  int vecs = size <= 12 ? 4 : size <= 40 ? 2 : 1;
  const bool chained = size > 40 && e.chain > e.work && e.slow <= 2;
  if (chained) vecs = e.chain > 2 * e.work || registers() == 32 ? 4 : 2;
  if (size * vecs > 6000) vecs = 1;
  const int margin = as_->avx512() ? 2 : 3;
  // Copies that take turns need as many times the registers.
  single_ = copies_->block(2, {});
  const int each = pressure_of(*as_, single_);
  while (vecs > 1 && each * vecs + margin > registers() + (chained ? registers() / 4 : 0)) --vecs;
  shape_ = {1, vecs, 1};
  single_loop_ = vecs == 1 && size > 300;
  if (copies_->pin(shape_, registers() - margin - each * vecs)) single_ = copies_->block(2, {});
  limit_ = as_->reserve(8);
  if (!single_loop_) {
    as_->a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
    as_->a.sub(x86::rcx, vecs * lanes_);
    as_->a.mov(as_->frame(limit_), x86::rcx);
  }
  masked_.scalars = full_.scalars;
  if (!copies_->stage_is_empty(0)) write_block(copies_->block(0, shape_), full_);
}

void KernelWriter::row_map() {
  x86::Assembler& a = as_->a;
  if (!copies_->stage_is_empty(1)) write_block(copies_->block(1, shape_), full_);
  const Label tail = a.newLabel(), finished = a.newLabel();
  a.xor_(x86::eax, x86::eax);
  if (!single_loop_) {
    const Label loop = a.newLabel();
    a.cmp(x86::rax, as_->frame(limit_));
    a.jg(tail);
    a.align(asmjit::AlignMode::kCode, 32);
    a.bind(loop);
    if (shape_.vecs == 1) write_block(single_, full_);
    else write_block(copies_->block(2, shape_), full_);
    a.add(x86::rax, shape_.vecs * lanes_);
    a.cmp(x86::rax, as_->frame(limit_));
    a.jle(loop);
  }
  a.bind(tail);
  a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
  a.sub(x86::rcx, x86::rax);
  a.jle(finished);
  set_tail();
  write_block(single_, masked_);
  a.add(x86::rax, lanes_);
  a.jmp(tail);
  a.bind(finished);
}

}  // namespace lazy::cpu
