// Writes reductions and scans along an axis that is not the vector axis. Lanes are neighbouring results; a
// chunk of them, rows by vectors, runs the sequential axis to its end with its accumulators in registers.
#include <algorithm>

#include "backends/cpu/emitter/control_flow.hpp"
#include "backends/cpu/emitter/legalize.hpp"
#include "backends/cpu/emitter/outer_reduction_writer.hpp"

namespace lazy::cpu_backend {
using jit::loop::Form;
using jit::loop::Operand;
namespace {

// Holds the registers of a tile's rows 3 and 6, r12 and r13; r15 is the stride between its rows.
constexpr int8_t kRowRegs[] = {x86::Gp::kIdR12, x86::Gp::kIdR13};
constexpr int8_t kRowStrideReg = x86::Gp::kIdR15;

}  // namespace

void OuterReductionWriter::plan() {
  const bool straight = k_.form != Form::reduce;
  const int partials = straight ? 1 : jit::loop::reduce_lanes(DType::float32, false);
  masked_.scalars = full_.scalars;
  masked_.indexed = false;
  shape_ = chunk_shape(partials, row_axis_ >= 0);
  const int rows = shape_.rows, vecs = shape_.vecs;
  tile_heights_.clear();
  for (int h = rows; h > 1; h /= 2)
    if (h == rows || h == rows / 2) tile_heights_.push_back(h);
  tile_heights_.push_back(1);

  as_->variables.clear();
  make_accumulators(partials, rows * vecs);
  const auto size = static_cast<int>(copies_->stage2_size());
  const bool small = size * vecs * rows <= 400;
  if (straight || small) {
    red_->unroll = partials;
    shape_.steps = partials;
    for (auto& p : red_->acc)
      for (int i = 0; i < rows * vecs * partials; ++i) p.hot.push_back(as_->new_variable(p.info.type));
  }
  copies_ = std::make_unique<Copies>(*as_, body_, full_, seq_);
  hot_copies_ = std::make_unique<Copies>(*as_, body_, full_, seq_);
  pin_registers(partials);
  choose_row_operand();
  for (Copies* c : {copies_.get(), hot_copies_.get()})
    if (c && !c->stage_is_empty(0)) write_block(c->block(0, {1, 1, 1}), full_);
}

/// Returns the number of registers that are neither accumulators nor the body's: loads that are not one
/// instruction need some.
int OuterReductionWriter::margin() const {
  const bool routines = std::any_of(k_.operands.begin(), k_.operands.end(), [&](const Operand& o) {
    return !o.output && (size_of(o.dtype) < 4 || o.stride[vector_axis_] == Stride::any);
  });
  return as_->avx512() ? 2 : routines ? 3 : 1;
}

/// Returns how large a chunk may be, from a look at its registers. Makes copies_ on the way.
Shape OuterReductionWriter::chunk_shape(int partials, bool tiles) {
  int vecs = as_->avx512() ? 4 : 2, rows = 1;
  if (tiles) {
    rows = as_->avx512() ? 8 : 6;
    vecs = as_->avx512() ? 3 : 2;
  }
  copies_ = std::make_unique<Copies>(*as_, body_, full_, seq_);
  copies_->accumulator = [](int, int, int, int) { return uint16_t{0}; };
  as_->variables.push_back({});
  const auto size = static_cast<int>(copies_->stage2_size());
  const auto accumulators = static_cast<int>(accumulators_of(k_).size());
  const auto fits = [&] {
    if (size * rows * vecs * (partials > 1 ? 4 : 1) > 600) return false;
    return pressure_of(*as_, copies_->block(2, {rows, vecs, 1})) + accumulators * partials * rows * vecs +
               margin() <=
           registers();
  };
  while (vecs > 1 && rows == 1 && !fits()) --vecs;
  while (rows > 1 && !fits()) rows /= 2;
  while (vecs > 1 && !fits()) --vecs;
  return {rows, vecs, 1};
}

/// Gives registers to accumulators first, then to what the body loads once.
void OuterReductionWriter::pin_registers(int partials) {
  const int rows = shape_.rows, vecs = shape_.vecs;
  if (!red_->unroll) {
    copies_->pin({1, vecs, 1}, std::min(6, registers() / 4));
    return;
  }
  hot_copies_->accumulator = [](int, int, int, int) { return uint16_t{0}; };
  const int free = registers() - margin() - pressure_of(*as_, hot_copies_->block(2, {rows, vecs, 1}));
  pin_hot(free);
  hot_copies_->pin({rows, vecs, 1},
                   std::min(8, free - static_cast<int>(red_->acc.size()) * rows * vecs * partials));
}

/// Gives rows of one operand separate pointers: every third one; the two after it go through the stride in a
/// register.
void OuterReductionWriter::choose_row_operand() {
  for (size_t o = 0; o < k_.operands.size() && shape_.rows > 1 && row_operand_ < 0; ++o) {
    const Operand& op = k_.operands[o];
    if (!op.output && op.stride[row_axis_] != Stride::zero && as_->pointer_reg[o] >= 0)
      row_operand_ = static_cast<int>(o);
  }
}

void OuterReductionWriter::row() {
  x86::Assembler& a = as_->a;
  const x86::Mem index = as_->frame(full_.index_base), extent = as_->arg(as_->args.extent(vector_axis_));
  x86::Mem zero = index;
  zero.setSize(8);
  a.mov(zero, 0);
  const Label tail = a.newLabel(), finished = a.newLabel();
  if (shape_.vecs > 1) {
    const Label loop = a.newLabel();
    a.bind(loop);
    a.mov(x86::rcx, extent);
    a.sub(x86::rcx, index);
    a.cmp(x86::rcx, shape_.vecs * lanes_);
    a.jl(tail);
    rows(shape_.vecs, false);
    a.add(zero, shape_.vecs * lanes_);
    a.jmp(loop);
  }
  a.bind(tail);
  a.mov(x86::rcx, extent);
  a.sub(x86::rcx, index);
  a.jle(finished);
  set_tail();
  rows(1, true);
  a.add(zero, lanes_);
  a.jmp(tail);
  a.bind(finished);
  if (k_.form == Form::reduce) next_split_row();
}

void OuterReductionWriter::rows(int vecs, bool masked) {
  if (row_axis_ < 0) return chunk({1, vecs, shape_.steps}, masked);
  each_tile([&](int height) { chunk({height, vecs, shape_.steps}, masked); });
}

void OuterReductionWriter::set_chunk_pointers(Shape shape, Addressing& w) {
  x86::Assembler& a = as_->a;
  const auto scaled = [&](const x86::Mem& index, int operand, int axis) {
    const auto o = static_cast<size_t>(operand);
    a.mov(x86::rdx, index);
    if (k_.operands[o].stride[axis] == Stride::unit)
      a.imul(x86::rdx, x86::rdx, static_cast<int>(byte_width(operand)));
    else a.imul(x86::rdx, as_->arg(as_->args.stride(operand, axis)));
    a.add(x86::rcx, x86::rdx);
  };
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const auto oi = static_cast<int>(o);
    a.mov(x86::rcx, as_->frame(row_pointer_frame_[o]));
    if (k_.operands[o].stride[vector_axis_] != Stride::zero)
      scaled(as_->frame(full_.index_base), oi, vector_axis_);
    if (row_axis_ >= 0 && k_.operands[o].stride[row_axis_] != Stride::zero)
      scaled(as_->frame(counters_[static_cast<size_t>(row_axis_)]), oi, row_axis_);
    if (as_->pointer_reg[o] >= 0) a.mov(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), x86::rcx);
    else a.mov(as_->frame(as_->pointer_frame[o]), x86::rcx);
  }
  w.row_pointers.clear();
  w.row_step_operand = -1;
  if (shape.rows == 1 || row_operand_ < 0) return;
  const x86::Gp stride = x86::gpq(static_cast<uint32_t>(kRowStrideReg));
  if (k_.operands[static_cast<size_t>(row_operand_)].stride[row_axis_] == Stride::unit)
    a.mov(stride, byte_width(row_operand_));
  else a.mov(stride, as_->arg(as_->args.stride(row_operand_, row_axis_)));
  w.row_step_operand = row_operand_;
  w.row_stride_reg = kRowStrideReg;
  w.row_pointers.push_back(as_->pointer_reg[static_cast<size_t>(row_operand_)]);
  for (int g = 1; 3 * g < shape.rows; ++g) {
    const x86::Gp before = x86::gpq(static_cast<uint32_t>(w.row_pointers.back()));
    const x86::Gp here = x86::gpq(static_cast<uint32_t>(kRowRegs[g - 1]));
    a.lea(here, x86::ptr(before, stride, 1));
    a.add(here, stride);
    w.row_pointers.push_back(kRowRegs[g - 1]);
  }
}

void OuterReductionWriter::chunk(Shape shape, bool masked) {
  x86::Assembler& a = as_->a;
  Addressing w = masked ? masked_ : full_;
  set_chunk_pointers(shape, w);
  for (Copies* c : {copies_.get(), hot_copies_.get()})
    if (!c->stage_is_empty(1)) write_block(c->block(1, shape), w);
  if (k_.form != Form::reduce) return straight(shape, w);
  const Label empty = a.newLabel(), finish = a.newLabel();
  a.cmp(as_->arg(as_->args.extent(seq_)), 0);
  a.jle(empty);
  const Label whole = a.newLabel(), done = a.newLabel();
  begin_split(whole);
  a.bind(whole);
  blocks(shape, w);
  branch_on_mode(SplitMode::partials, true, done);
  a.jmp(finish);
  a.bind(empty);
  empty_total(shape.rows * shape.vecs);
  a.bind(finish);
  write_epilogue(shape, w);
  a.bind(done);
}

/// Writes the steps of one accumulator, without blocks: scans, and contractions whose sides are computed.
void OuterReductionWriter::straight(Shape shape, const Addressing& w) {
  x86::Assembler& a = as_->a;
  hot_copies_->accumulator = [&](int acc, int row, int vec, int) {
    return red_->acc[static_cast<size_t>(acc)].hot[static_cast<size_t>(row * shape.vecs + vec)];
  };
  start_partials();
  a.mov(x86::rax, as_->arg(as_->args.extent(seq_)));
  a.mov(as_->frame(full_.seq_end), x86::rax);
  a.test(x86::rax, x86::rax);
  skip_if(a, x86::CondCode::kSignedLE, [&] {
    hot_loop_while(a, x86::CondCode::kNotZero, [&] {
      write_block(hot_copies_->block(2, shape), w);
      advance_sequential(w);
      a.dec(x86::rax);
    });
  });
  if (k_.form == Form::scan) return;
  std::vector<std::pair<uint16_t, uint16_t>> list;
  for (auto& p : red_->acc)
    for (int i = 0; i < shape.rows * shape.vecs; ++i)
      list.emplace_back(p.total[static_cast<size_t>(i)], p.hot[static_cast<size_t>(i)]);
  copy_variables(list);
  write_epilogue(shape, w);
}

void OuterReductionWriter::blocks(Shape shape, const Addressing& w) {
  x86::Assembler& a = as_->a;
  ReductionState& s = *red_;
  const int copies = shape.rows * shape.vecs;
  const x86::Mem extent = as_->arg(as_->args.extent(seq_));
  x86::Mem begin = as_->frame(s.block_begin);
  begin.setSize(8);
  a.mov(begin, 0);
  const Label blocks = a.newLabel(), from_memory = a.newLabel(), folded = a.newLabel(),
              to_memory = a.newLabel(), next = a.newLabel(), finished = a.newLabel(), no_step = a.newLabel();
  a.bind(blocks);
  // rax: steps of this block; seq_end: where it ends.
  a.mov(x86::rax, extent);
  a.sub(x86::rax, begin);
  a.mov(x86::ecx, static_cast<int>(jit::loop::reduce_block(false)));
  a.cmp(x86::rax, x86::rcx);
  a.cmovg(x86::rax, x86::rcx);
  a.mov(x86::rcx, x86::rax);
  a.add(x86::rcx, begin);
  a.mov(as_->frame(full_.seq_end), x86::rcx);
  branch_on_mode(SplitMode::combine, true, from_memory);
  start_partials();
  if (s.unroll) unrolled_steps(shape, w);
  single_steps(shape, w);
  fold_partials(copies, false);
  a.bind(folded);
  branch_on_mode(SplitMode::partials, true, to_memory);
  add_to_total(copies);
  a.bind(next);
  branch_on_mode(SplitMode::full, true, no_step);
  split_step();
  a.bind(no_step);
  a.mov(x86::rcx, as_->frame(full_.seq_end));
  a.mov(begin, x86::rcx);
  a.cmp(x86::rcx, extent);
  a.jl(blocks);
  a.jmp(finished);

  a.bind(from_memory);
  a.mov(x86::rcx, as_->frame(split_block_));
  move_folded(copies, false);
  a.jmp(folded);
  a.bind(to_memory);
  a.mov(x86::rcx, as_->frame(split_block_));
  move_folded(copies, true);
  a.jmp(next);
  a.bind(finished);
}

/// Writes the steps of a block a round of partials at a time. rax: steps left.
void OuterReductionWriter::unrolled_steps(Shape shape, const Addressing& w) {
  x86::Assembler& a = as_->a;
  ReductionState& s = *red_;
  const int partials = s.acc[0].partials;
  hot_copies_->accumulator = [&](int acc, int row, int vec, int step) {
    return s.acc[static_cast<size_t>(acc)]
        .hot[static_cast<size_t>((row * shape.vecs + vec) * partials + step)];
  };
  a.sub(x86::rax, partials);
  skip_if(a, x86::CondCode::kSignedLT, [&] {
    hot_loop_while(a, x86::CondCode::kSignedGE, [&] {
      // Within the block rax is `partials` less than the steps left.
      Addressing ahead = w;
      ahead.seq_bias = partials;
      write_block(hot_copies_->stepped_block({shape.rows, shape.vecs, partials}, partials), ahead);
      a.sub(x86::rax, partials);
    });
  });
  a.add(x86::rax, partials);
  store_hot();
}

/// Writes the rest of a block one step at a time. rax: steps left.
void OuterReductionWriter::single_steps(Shape shape, const Addressing& w) {
  x86::Assembler& a = as_->a;
  ReductionState& s = *red_;
  const int copies = shape.rows * shape.vecs, partials = s.acc[0].partials;
  copies_->accumulator = [&](int acc, int row, int vec, int) {
    return s.acc[static_cast<size_t>(acc)].current[static_cast<size_t>(row * shape.vecs + vec)];
  };
  for (const AccumulatorPlaces& p : s.acc)
    for (uint16_t c : p.current)
      if (Variable& v = as_->variables[c]; v.frame < 0) v.frame = as_->reserve(as_->bytes_of(v.type));
  const auto turn = [&] {  // the step's partial, in lanes
    x86::Mem begin = as_->frame(s.block_begin);
    begin.setSize(8);
    a.mov(x86::rcx, as_->frame(full_.seq_end));
    a.sub(x86::rcx, begin);
    a.sub(x86::rcx, x86::rax);
    a.and_(x86::ecx, partials - 1);
    a.imul(x86::ecx, x86::ecx, lanes_);
  };
  loop_until(
      a, x86::CondCode::kSignedLE, [&] { a.test(x86::rax, x86::rax); },
      [&] {
        turn();
        move_current(copies, partials, false);
        write_block(copies_->block(2, {shape.rows, shape.vecs, 1}), w);
        advance_sequential(w);
        turn();
        move_current(copies, partials, true);
        a.dec(x86::rax);
      });
}

void OuterReductionWriter::advance_sequential(const Addressing& w) {
  x86::Assembler& a = as_->a;
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const Operand& op = k_.operands[o];
    if (op.stride[seq_] == Stride::zero) continue;
    const auto oi = static_cast<int>(o);
    const bool unit = op.stride[seq_] == Stride::unit;
    const x86::Mem stride = as_->arg(as_->args.stride(oi, seq_));
    if (as_->pointer_reg[o] < 0) {
      if (unit) a.mov(x86::rcx, byte_width(oi));
      else a.mov(x86::rcx, stride);
      a.add(as_->frame(as_->pointer_frame[o]), x86::rcx);
      continue;
    }
    const auto add = [&](int reg) {
      if (unit) a.add(x86::gpq(static_cast<uint32_t>(reg)), byte_width(oi));
      else a.add(x86::gpq(static_cast<uint32_t>(reg)), stride);
    };
    add(as_->pointer_reg[o]);
    if (w.row_step_operand == oi)
      for (size_t g = 1; g < w.row_pointers.size(); ++g) add(w.row_pointers[g]);
  }
}

}  // namespace lazy::cpu_backend
