// Writes reductions along the vector axis. A block's element r belongs to lane r mod P of P / W vectors of
// partial results.
#include <algorithm>

#include "backends/cpu/emitter/control_flow.hpp"
#include "backends/cpu/emitter/inner_reduction_writer.hpp"
#include "backends/cpu/emitter/legalize.hpp"
#include "backends/cpu/machine/features.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr size_t kLongLoop = 16;  // vector instructions, above which a loop waits for no memory
constexpr size_t kBlocksInCache =
    8;  // of the second level, where the next block of a short loop is prefetched

}  // namespace

void InnerReductionWriter::plan() {
  // Only sums and products of floats depend on the number of partial results; theirs may differ (float32
  // beside float64).
  int partials = 0, most = 0;
  bool differ = false;
  for (const auto& r : k_.reductions) {
    if ((r.op != jit::Op::sum && r.op != jit::Op::prod) || !is_float(r.type)) continue;
    const int own = jit::loop::reduce_lanes(r.type, true) / lanes_;
    differ |= partials && partials != own;
    partials = own;
    most = std::max(most, own);
  }
  make_accumulators(most ? most : 4, 1);
  if (differ)
    for (auto& p : red_->acc) {
      const auto& r = k_.reductions[p.info.reduction];
      if (is_float(r.type)) p.partials = std::min(p.partials, jit::loop::reduce_lanes(r.type, true) / lanes_);
    }
  const int n = red_->acc[0].partials;

  red_->masked_body = std::move(body_);
  body_ = select_body(k_, isa_, false);
  legalize(body_, isa_);
  masked_.scalars = full_.scalars;
  copies_ = std::make_unique<Copies>(*as_, red_->masked_body, masked_, vector_axis_);
  const auto size = static_cast<int>(copies_->stage2_size());
  const int margin = as_->avx512() ? 2 : 3;
  shape_ = {1, 1, 1};
  if (!differ && size * n <= 400) {
    red_->unroll = n;
    shape_.vecs = n;
    for (auto& p : red_->acc)
      for (int i = 0; i < n; ++i) p.hot.push_back(as_->new_variable(p.info.type));
    hot_copies_ = std::make_unique<Copies>(*as_, body_, full_, vector_axis_);
    hot_copies_->accumulator = [this](int a, int, int vec, int) {
      return red_->acc[static_cast<size_t>(a)].hot[static_cast<size_t>(vec + hot_copies_->first_vec)];
    };
    red_->rest_in_registers = n <= 4 && size * (2 * n - 1) <= 400;
    const int free = registers() - margin - pressure_of(*as_, hot_copies_->block(2, shape_));
    pin_hot(free);
    for (auto& p : red_->acc)  // by then the accumulators are done with
      as_->variables[p.folded[0]].reg = as_->variables[p.hot[0]].reg;
    hot_copies_->pin(shape_, free - static_cast<int>(red_->acc.size()) * n);
    if (!hot_copies_->stage_is_empty(0)) write_block(hot_copies_->block(0, shape_), full_);
  } else {
    copies_->pin({}, std::min(8, registers() / 4));
  }
  if (!copies_->stage_is_empty(0)) write_block(copies_->block(0, {}), full_);
  for (auto& p : red_->acc) p.result = p.folded;
  gathers_ = suits_gathering();
  if (gathers_) schedule_.epilogue_rows = lanes_;
  if (rows_) plan_rows();
  decide_once();
  find_operand_ahead();
}

/// True if the body reads one element of each row, as the mean in a variance: an earlier step has made it of
/// the same rows, which are near.
bool InnerReductionWriter::reads_near_rows() const {
  for (size_t i = 0; i < k_.epilogue; ++i) {
    if (k_.body[i].code != jit::loop::Code::load) continue;
    const jit::loop::Operand& o = k_.operands[k_.body[i].imm];
    if (o.stride[vector_axis_] == Stride::zero && o.stride[outer_[0]] != Stride::zero) return true;
  }
  return false;
}

/// Chooses what a loop prefetches during which memory would wait, as there is so much to compute or, of
/// several rows at once, as they are near: the operand whose rows follow each other. A softmax then reads the
/// maximum's next rows while it computes exp.
void InnerReductionWriter::find_operand_ahead() {
  if (!red_->unroll || outer_.size() != 1) return;
  const bool long_loop = body_.code.size() >= kLongLoop;
  if (!long_loop && !(rows_ && reads_near_rows())) return;
  ahead_of_row_ = long_loop;
  for (size_t i = 0; i < k_.epilogue && ahead_operand_ < 0; ++i) {
    const auto& in = k_.body[i];
    if (in.code != jit::loop::Code::load || as_->pointer_reg[in.imm] < 0) continue;
    const jit::loop::Operand& o = k_.operands[in.imm];
    if (o.stride[vector_axis_] == Stride::unit && o.stride[outer_[0]] == Stride::any) ahead_operand_ = in.imm;
  }
  if (ahead_operand_ < 0) return;
  x86::Assembler& a = as_->a;
  const Label known = a.newLabel();
  ahead_ = as_->reserve(8);
  a.xor_(x86::ecx, x86::ecx);
  branch_on_mode(SplitMode::full, false, known);
  a.cmp(as_->arg(jit::loop::ArgLayout::kScratch + 1), static_cast<int>(kBlockOfMany));
  a.jne(known);
  a.mov(x86::rcx, as_->arg(as_->args.extent(outer_[0])));
  a.imul(x86::rcx, as_->arg(as_->args.stride(ahead_operand_, outer_[0])));
  if (!long_loop) {  // the next block must leave room for this one, which is read again, and its results
    const Label small = a.newLabel();
    a.cmp(x86::rcx, static_cast<int32_t>(std::min<size_t>(caches().l2 / kBlocksInCache, 1 << 30)));
    a.jle(small);
    a.xor_(x86::ecx, x86::ecx);
    a.bind(small);
  }
  a.bind(known);
  a.mov(as_->frame(ahead_), x86::rcx);
}

/// Writes the prefetches of one step of the unrolled loop, into the second-level cache.
void InnerReductionWriter::fetch_ahead() {
  if (ahead_operand_ < 0 || !ahead_of_row_) return;
  x86::Assembler& a = as_->a;
  const auto size = static_cast<int>(byte_width(ahead_operand_));
  a.mov(x86::rcx, as_->frame(ahead_));
  a.add(x86::rcx, x86::gpq(static_cast<uint32_t>(as_->pointer_reg[static_cast<size_t>(ahead_operand_)])));
  for (int at = 0; at < red_->unroll * lanes_ * size; at += kCacheLine)
    a.prefetcht1(
        x86::ptr(x86::rcx, x86::rax, static_cast<uint32_t>(__builtin_ctz(static_cast<unsigned>(size))), at));
}

/// Writes what a launch decides once: where rows are all one block, what depends on its length alone is the
/// same in each.
void InnerReductionWriter::decide_once() {
  x86::Assembler& a = as_->a;
  const Label several = a.newLabel();
  red_->rest = as_->reserve(8);
  red_->one_block = as_->reserve(8);
  x86::Mem one_block = as_->frame(red_->one_block);
  one_block.setSize(4);
  a.mov(one_block, 0);
  if (gathers_) {
    gathered_ = as_->reserve(64);
    waiting_ = as_->reserve(8);
    a.mov(qword(as_->frame(waiting_)), 0);
  }
  if (rows_) {
    red_->several_rows = as_->reserve(8);
    x86::Mem several_rows = as_->frame(red_->several_rows);
    several_rows.setSize(4);
    a.mov(several_rows, 0);
  }
  branch_on_mode(SplitMode::full, false, several);
  a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
  a.test(x86::rcx, x86::rcx);
  a.jle(several);
  a.cmp(x86::rcx, static_cast<int32_t>(jit::loop::reduce_block(true)));
  a.jg(several);
  a.mov(one_block, 1);
  if (rows_) begin_rows();
  begin_block();
  a.bind(several);
}

/// Puts the index where the block ends into rcx.
void InnerReductionWriter::begin_block() {
  x86::Assembler& a = as_->a;
  a.mov(as_->frame(red_->block_end), x86::rcx);
  if (!red_->unroll) return;
  const int step = red_->unroll * lanes_;
  a.lea(x86::rdx, x86::ptr(x86::rcx, -step));
  a.mov(as_->frame(red_->loop_limit), x86::rdx);
  if (!red_->rest_in_registers) return;
  set_rest(red_->rest, red_->unroll);
}

/// Names the points in the code of one row that its parts jump to.
struct InnerReductionWriter::RowLabels {
  explicit RowLabels(x86::Assembler& a)
      : finish(a.newLabel()),
        empty(a.newLabel()),
        blocks(a.newLabel()),
        begun(a.newLabel()),
        done(a.newLabel()),
        row_done(a.newLabel()) {}
  Label finish;    // the total is there
  Label empty;     // there is nothing to reduce
  Label blocks;    // a block begins at rax
  Label begun;     // its end and its limits are known
  Label done;      // the folded value of a row's only block is there
  Label row_done;  // nothing is left to do but to count
};

void InnerReductionWriter::jump_if_one_block(const Label& to) {
  x86::Mem one_block = as_->frame(red_->one_block);
  one_block.setSize(4);
  as_->a.cmp(one_block, 0);
  as_->a.jne(to);
}

void InnerReductionWriter::row() {
  x86::Assembler& a = as_->a;
  const RowLabels l(a);
  const Label several = a.newLabel(), one_index = a.newLabel();
  if (rows_) rows_where_short(several);
  for (Copies* c : {copies_.get(), hot_copies_.get()})
    if (c && !c->stage_is_empty(1)) write_block(c->block(1, shape_), full_);
  begin_row(l);
  const Label from_memory = a.newLabel();
  branch_on_mode(SplitMode::combine, true, from_memory);
  a.bind(l.begun);
  accumulate();
  end_block(l, from_memory);
  a.bind(l.empty);
  empty_total(1);
  a.bind(l.finish);
  std::vector<std::pair<uint16_t, uint16_t>> list;
  for (auto& p : red_->acc) list.emplace_back(p.result[0], p.total[0]);
  copy_variables(list);
  a.bind(gathers_ ? one_index : l.done);
  Addressing w = full_;
  w.indexed = false;
  w.lane0 = true;
  write_epilogue({}, w);
  a.bind(l.row_done);
  next_split_row();
  if (gathers_) {
    const Label next = a.newLabel();
    a.jmp(next);
    a.bind(l.done);
    jump_unless_gathering(one_index);
    gather(1);
    a.bind(several);
    gathered_epilogue();
    a.bind(next);
  } else {
    a.bind(several);
  }
}

/// Writes the code for several rows, taken where they are short and so many are left; it goes on at `then`.
void InnerReductionWriter::rows_where_short(const Label& then) {
  x86::Assembler& a = as_->a;
  const Label one_row = a.newLabel();
  const int axis = outer_.back();
  x86::Mem several_rows = as_->frame(red_->several_rows);
  several_rows.setSize(4);
  a.cmp(several_rows, 0);
  a.je(one_row);
  a.mov(x86::rcx, as_->arg(as_->args.extent(axis)));
  a.sub(x86::rcx, as_->frame(counters_[static_cast<size_t>(axis)]));
  a.cmp(x86::rcx, kRows);
  a.jl(one_row);
  reduce_rows();
  a.jmp(then);
  a.bind(one_row);
}

/// Writes what comes before a block: where the row and the block begin and end.
void InnerReductionWriter::begin_row(const RowLabels& l) {
  x86::Assembler& a = as_->a;
  const x86::Mem extent = as_->arg(as_->args.extent(vector_axis_));
  const Label whole = a.newLabel();
  a.xor_(x86::eax, x86::eax);
  jump_if_one_block(l.begun);
  a.cmp(extent, 0);
  a.jle(l.empty);
  begin_split(whole);
  a.bind(whole);
  a.bind(l.blocks);
  a.mov(as_->frame(red_->block_begin), x86::rax);
  a.mov(x86::rcx, extent);
  a.lea(x86::rdx, x86::ptr(x86::rax, static_cast<int32_t>(jit::loop::reduce_block(true))));
  a.cmp(x86::rcx, x86::rdx);
  a.cmovg(x86::rcx, x86::rdx);
  begin_block();
}

/// Writes the loop over one block, into the partial accumulators.
void InnerReductionWriter::accumulate() {
  x86::Assembler& a = as_->a;
  ReductionState& s = *red_;
  start_partials();
  if (s.unroll) {
    a.cmp(x86::rax, as_->frame(s.loop_limit));
    skip_if(a, x86::CondCode::kSignedGT, [&] {
      hot_loop_while(a, x86::CondCode::kSignedLE, [&] {
        fetch_ahead();
        write_block(hot_copies_->block(2, shape_), full_);
        a.add(x86::rax, s.unroll * lanes_);
        a.cmp(x86::rax, as_->frame(s.loop_limit));
      });
    });
  }
  if (s.rest_in_registers) return write_rest_of_block();
  if (s.unroll) store_hot();
  single_vectors();
}

/// Writes what comes after a block: its result joins the total, or goes through the memory of a split
/// reduction; `from_memory` is bound where it comes from there.
void InnerReductionWriter::end_block(const RowLabels& l, const Label& from_memory) {
  x86::Assembler& a = as_->a;
  ReductionState& s = *red_;
  const Label folded = a.newLabel(), to_memory = a.newLabel(), next = a.newLabel(), no_step = a.newLabel();
  fold_partials(1, true);
  jump_if_one_block(l.done);
  a.mov(x86::rax, as_->frame(s.block_end));
  a.bind(folded);
  branch_on_mode(SplitMode::partials, true, to_memory);
  add_to_total(1);
  a.bind(next);
  branch_on_mode(SplitMode::full, true, no_step);
  split_step();
  a.bind(no_step);
  a.cmp(x86::rax, as_->arg(as_->args.extent(vector_axis_)));
  a.jl(l.blocks);
  branch_on_mode(SplitMode::partials, false, l.finish);
  a.jmp(l.row_done);

  a.bind(from_memory);
  a.mov(x86::rax, as_->frame(s.block_end));
  a.mov(x86::rcx, as_->frame(split_block_));
  move_folded(1, false);
  a.jmp(folded);
  a.bind(to_memory);
  a.mov(x86::rcx, as_->frame(split_block_));
  move_folded(1, true);
  a.jmp(next);
}

/// Writes what the unrolled loop leaves of the block, on the accumulators themselves.
void InnerReductionWriter::write_rest_of_block() {
  copies_->accumulator = [this](int acc, int, int, int) {
    return red_->acc[static_cast<size_t>(acc)].hot[static_cast<size_t>(copies_->first_vec)];
  };
  const auto one = [&](Copies& c, int v, const Addressing& w) {
    c.first_vec = v;
    write_block(c.block(2, {}), w);
    c.first_vec = 0;
  };
  write_rest(
      red_->rest, red_->unroll, [&](int v) { one(*hot_copies_, v, full_); },
      [&](int v) { one(*copies_, v, masked_); });
}

/// Writes what is left of the block, a vector at a time under the mask.
void InnerReductionWriter::single_vectors() {
  x86::Assembler& a = as_->a;
  ReductionState& s = *red_;
  const Label loop = a.newLabel(), done = a.newLabel();
  copies_->accumulator = [this](int acc, int, int, int) {
    return red_->acc[static_cast<size_t>(acc)].current[0];
  };
  const auto turn = [&](const AccumulatorPlaces& p) {
    a.mov(x86::rcx, x86::rax);
    a.and_(x86::rcx, p.partials * lanes_ - 1);
  };
  const auto move = [&](bool to_memory) {
    for (const AccumulatorPlaces& p : s.acc) {
      turn(p);
      const bool wide = vir::is64(p.info.type);
      const x86::Mem at = x86::ptr(x86::rsp, x86::rcx, wide ? 3 : 2, p.memory);
      const x86::Mem current = as_->frame(as_->variables[p.current[0]].frame);
      const x86::Vec v = as_->vec(as_->tail_scratch(), p.info.type);
      a.vmovups(v, to_memory ? current : at);
      a.vmovups(to_memory ? at : current, v);
    }
  };
  for (const AccumulatorPlaces& p :
       s.acc)  // their places are needed before the block that uses them is written
    if (Variable& v = as_->variables[p.current[0]]; v.frame < 0)
      v.frame = as_->reserve(as_->bytes_of(v.type));
  a.bind(loop);
  a.mov(x86::rcx, as_->frame(s.block_end));
  a.sub(x86::rcx, x86::rax);
  a.jle(done);
  set_tail();
  move(false);
  write_block(copies_->block(2, {}), masked_);
  move(true);
  a.add(x86::rax, lanes_);
  a.jmp(loop);
  a.bind(done);
}

}  // namespace lazy::cpu_backend
