// Writes what both forms of reduction share: accumulators, folding, epilogue.
#include <algorithm>
#include <cstddef>

#include "backends/cpu/emitter/legalize.hpp"
#include "backends/cpu/emitter/reduction_writer.hpp"

namespace lazy::cpu_backend {
using vir::Type;
namespace {

// AVX-512 code for few lanes is written for four: narrow instructions take less of the units' time.
constexpr int kLeastLanes = 4;
static_assert(kLeastLanes == kRows);  // an epilogue of several rows has a lane for each

}  // namespace

/// Makes `partials` vectors for each of `copies` (row, vector) pairs.
void ReductionWriter::make_accumulators(int partials, int copies) {
  red_ = std::make_unique<ReductionState>();
  for (const AccumulatorInfo& info : accumulators_of(k_)) {
    AccumulatorPlaces p;
    p.info = info;
    p.partials = partials;
    red_->acc.push_back(p);
  }
  for (AccumulatorPlaces& p : red_->acc) {
    const int bytes = as_->bytes_of(p.info.type);
    p.memory = as_->reserve(64);
    for (int used = 64; used < bytes * partials * copies; used += 64) as_->reserve(64);
    for (int i = 0; i < partials * copies; ++i) {
      p.stored.push_back(as_->new_variable(p.info.type));
      as_->variables.back().frame = p.memory + i * bytes;
    }
    for (int c = 0; c < copies; ++c)
      for (auto* list : {&p.current, &p.folded, &p.total}) list->push_back(as_->new_variable(p.info.type));
    p.result = p.total;
  }
  red_->block_begin = as_->reserve(8);
  red_->block_end = as_->reserve(8);
  red_->loop_limit = as_->reserve(8);
  split_block_ = as_->reserve(8);
}

/// Gives the unrolled loop's accumulators registers, as far as they last.
void ReductionWriter::pin_hot(int available) {
  for (AccumulatorPlaces& p : red_->acc)
    for (uint16_t v : p.hot) {
      if (available-- <= 0 || !as_->has_register_to_give()) return;
      as_->give_register(v);
    }
}

void ReductionWriter::assign_constants(const std::vector<std::pair<uint16_t, uint64_t>>& list) {
  Block b;
  for (const auto& [variable, bits] : list) {
    const Type t = as_->variables[variable].type;
    uint32_t value = 0;
    while (value < b.size() &&
           !(b[value].op == vir::Op::constant && b[value].type == t && b[value].imm == bits))
      ++value;
    if (value == b.size()) b.push_back({vir::Op::constant, t, bits});
    b.push_back({kAssign, t, variable, value});
  }
  write_block(b, full_);
}

void ReductionWriter::copy_variables(const std::vector<std::pair<uint16_t, uint16_t>>& list) {
  Block b;
  for (const auto& [to, from] : list) {
    const Type t = as_->variables[to].type;
    b.push_back({vir::Op::input, t, Slot{Slot::Kind::variable, from}.pack()});
    b.push_back({kAssign, t, to, static_cast<uint32_t>(b.size() - 1)});
  }
  write_block(b, full_);
}

void ReductionWriter::start_partials() {
  std::vector<std::pair<uint16_t, uint64_t>> list;
  for (const AccumulatorPlaces& p : red_->acc)
    for (uint16_t v : p.hot.empty() ? p.stored : p.hot) list.emplace_back(v, p.info.identity);
  assign_constants(list);
}

void ReductionWriter::store_hot() {
  std::vector<std::pair<uint16_t, uint16_t>> list;
  for (const AccumulatorPlaces& p : red_->acc)
    for (size_t i = 0; i < p.hot.size(); ++i) list.emplace_back(p.stored[i], p.hot[i]);
  copy_variables(list);
}

void ReductionWriter::fold_partials(int copies, bool across) {
  bool narrows = across && as_->avx512();  // what stays on the frame is there in full width
  for (const AccumulatorPlaces& p : red_->acc) narrows &= as_->variables[p.folded[0]].reg >= 0;
  for (int c = 0; c < copies; ++c) {
    Template t = fold_template(k_, *red_, lanes_, across && !narrows ? 1 : lanes_);
    legalize(t, isa_);
    Copies fold(*as_, t, full_, -1);
    fold.accumulator = [&](int slot, int, int, int) {
      const auto [accumulator, part] = PartialSlot::unpack(slot);
      const AccumulatorPlaces& p = red_->acc[accumulator];
      if (part == PartialSlot::kFolded) return p.folded[static_cast<size_t>(c)];
      return (red_->rest_in_registers ? p.hot : p.stored)[static_cast<size_t>(c * p.partials + part)];
    };
    write_block(fold.block(2, {}), full_);
  }
  if (narrows) fold_lanes(copies, lanes_);
}

/// Folds the `width` lanes of `folded`; the instructions narrow as the lanes get fewer.
void ReductionWriter::fold_lanes(int copies, int width) {
  while (width > 1) {
    const int half = width / 2, last = half > kLeastLanes ? half : 1;
    as_->lanes = std::max(half, kLeastLanes);
    for (int c = 0; c < copies; ++c) {
      Template t = halve_template(k_, *red_, width, last);
      legalize(t, isa_);
      Copies fold(*as_, t, full_, -1);
      fold.accumulator = [&](int slot, int, int, int) {
        return red_->acc[PartialSlot::unpack(slot).accumulator].folded[static_cast<size_t>(c)];
      };
      write_block(fold.block(2, {}), full_);
    }
    width = last;
  }
  as_->lanes = lanes_;
}

void ReductionWriter::add_to_total(int copies) {
  x86::Assembler& a = as_->a;
  const Label first = a.newLabel(), done = a.newLabel();
  x86::Mem begin = as_->frame(red_->block_begin);
  begin.setSize(8);
  a.cmp(begin, 0);
  a.je(first);
  Template t = combine_template(k_, *red_);
  legalize(t, isa_);
  for (int c = 0; c < copies; ++c) {
    Copies add(*as_, t, full_, -1);
    add.accumulator = [&](int slot, int, int, int) {
      const auto [accumulator, part] = PartialSlot::unpack(slot);
      const AccumulatorPlaces& p = red_->acc[accumulator];
      return (part == PartialSlot::kFolded ? p.folded : p.total)[static_cast<size_t>(c)];
    };
    write_block(add.block(2, {}), full_);
  }
  a.jmp(done);
  a.bind(first);
  std::vector<std::pair<uint16_t, uint16_t>> list;
  for (const AccumulatorPlaces& p : red_->acc)
    for (int c = 0; c < copies; ++c)
      list.emplace_back(p.total[static_cast<size_t>(c)], p.folded[static_cast<size_t>(c)]);
  copy_variables(list);
  a.bind(done);
}

void ReductionWriter::empty_total(int copies) {
  std::vector<std::pair<uint16_t, uint64_t>> list;
  for (const AccumulatorPlaces& p : red_->acc)
    for (int c = 0; c < copies; ++c)
      list.emplace_back(p.total[static_cast<size_t>(c)],
                        k_.reductions[p.info.reduction].op == jit::Op::sum ? 0 : p.info.identity);
  assign_constants(list);
}

void ReductionWriter::write_epilogue(Shape shape, Addressing w, bool whole) {
  w.at_origin = true;
  // The loops' accumulators are out of use.
  const uint32_t reserved = as_->reserved_vec;
  for (const AccumulatorPlaces& p : red_->acc)
    for (uint16_t v : p.hot)
      if (as_->variables[v].reg >= 0) as_->reserved_vec &= ~(1u << as_->variables[v].reg);
  for (const AccumulatorPlaces& p : red_->acc)
    for (uint16_t v : p.result)
      if (as_->variables[v].reg >= 0) as_->reserved_vec |= 1u << as_->variables[v].reg;
  if ((w.lane0 || w.often_unit) && !whole && as_->avx512()) as_->lanes = kLeastLanes;
  Copies epilogue(*as_, epilogue_, w, -1);
  epilogue.result = [&](int reduction, int row, int vec) {
    const size_t first = red_->first_of(static_cast<size_t>(reduction));
    const bool index = first + 1 < red_->acc.size() && red_->acc[first + 1].info.reduction == reduction;
    return red_->acc[first + (index ? 1 : 0)].result[static_cast<size_t>(row * shape.vecs + vec)];
  };
  write_block(epilogue.block(2, shape), w);
  as_->reserved_vec = reserved;
  as_->lanes = lanes_;
}

/// Moves `current` to memory or back. Memory holds partial vector p of copy c at (c * partials + p) vectors;
/// rcx is p in lanes (inner: any index, of which the low bits count).
void ReductionWriter::move_current(int copies, int partials, bool to_memory) {
  x86::Assembler& a = as_->a;
  for (const AccumulatorPlaces& p : red_->acc) {
    const bool wide = vir::is64(p.info.type);
    const int bytes = as_->bytes_of(p.info.type);
    for (int c = 0; c < copies; ++c) {
      const x86::Mem at = x86::ptr(x86::rsp, x86::rcx, wide ? 3 : 2, p.memory + c * partials * bytes);
      const x86::Mem current = as_->frame(as_->variables[p.current[static_cast<size_t>(c)]].frame);
      const x86::Vec v = as_->vec(as_->tail_scratch(), bytes);
      a.vmovups(v, to_memory ? current : at);
      a.vmovups(to_memory ? at : current, v);
    }
  }
}

void ReductionWriter::branch_on_mode(SplitMode mode, bool is, const Label& to) {
  x86::Mem word = as_->arg(jit::loop::ArgLayout::kScratch);
  as_->a.cmp(word, static_cast<int>(mode));
  if (is) as_->a.je(to);
  else as_->a.jne(to);
}

void ReductionWriter::begin() {
  if (k_.form != jit::loop::Form::reduce) return;
  x86::Assembler& a = as_->a;
  split_row_ = as_->reserve(8);
  const Label whole = a.newLabel();
  branch_on_mode(SplitMode::full, true, whole);
  a.mov(x86::rcx, as_->arg(jit::loop::ArgLayout::kScratch + 1));
  a.mov(x86::rcx, x86::ptr_64(x86::rcx, offsetof(SplitPlan, data)));
  a.mov(as_->frame(split_row_), x86::rcx);
  a.bind(whole);
}

/// Writes where a row's blocks lie in a split reduction's memory. A launch that is not split needs nothing
/// and jumps to `whole`, right after.
void ReductionWriter::begin_split(const Label& whole) {
  x86::Assembler& a = as_->a;
  branch_on_mode(SplitMode::full, true, whole);
  a.mov(x86::rcx, as_->frame(split_row_));
  if (outer_form_) {
    a.mov(x86::rdx, as_->frame(full_.index_base));
    a.lea(x86::rcx, x86::ptr(x86::rcx, x86::rdx, 3));
  }
  a.mov(as_->frame(split_block_), x86::rcx);
}
void ReductionWriter::split_step() {
  x86::Assembler& a = as_->a;
  a.mov(x86::rdx, as_->arg(jit::loop::ArgLayout::kScratch + 1));
  a.mov(x86::rcx, x86::ptr_64(x86::rdx, offsetof(SplitPlan, block)));
  a.add(as_->frame(split_block_), x86::rcx);
}
void ReductionWriter::next_split_row() {
  x86::Assembler& a = as_->a;
  const Label whole = a.newLabel();
  branch_on_mode(SplitMode::full, true, whole);
  a.mov(x86::rdx, as_->arg(jit::loop::ArgLayout::kScratch + 1));
  a.mov(x86::rcx, x86::ptr_64(x86::rdx, offsetof(SplitPlan, row)));
  a.add(as_->frame(split_row_), x86::rcx);
  a.bind(whole);
}

void ReductionWriter::move_folded(int copies, bool to_memory) {
  x86::Assembler& a = as_->a;
  a.mov(x86::rdx, as_->arg(jit::loop::ArgLayout::kScratch + 1));
  for (const AccumulatorPlaces& p : red_->acc) {
    for (int c = 0; c < copies; ++c) {
      const x86::Mem memory = x86::ptr(x86::rcx, c * lanes_ * static_cast<int>(kSplitLane));
      Variable& variable = as_->variables[p.folded[static_cast<size_t>(c)]];
      if (variable.reg < 0 && variable.frame < 0) variable.frame = as_->reserve(as_->bytes_of(variable.type));
      if (variable.reg >= 0) {
        const x86::Vec v = as_->vec(variable.reg, p.info.type);
        if (to_memory) a.vmovups(memory, v);
        else a.vmovups(v, memory);
        continue;
      }
      const x86::Vec v = as_->vec(as_->tail_scratch(), p.info.type);
      a.vmovups(v, to_memory ? as_->frame(variable.frame) : memory);
      a.vmovups(to_memory ? memory : as_->frame(variable.frame), v);
    }
    a.add(x86::rcx, x86::ptr_64(x86::rdx, offsetof(SplitPlan, accumulator)));
  }
}

void ReductionWriter::each_tile(const std::function<void(int height)>& write) {
  x86::Assembler& a = as_->a;
  x86::Mem row = as_->frame(counters_[static_cast<size_t>(row_axis_)]);
  row.setSize(8);
  a.mov(row, 0);
  for (int height : tile_heights_) {
    const Label loop = a.newLabel(), next = a.newLabel();
    a.bind(loop);
    a.mov(x86::rcx, as_->arg(as_->args.extent(row_axis_)));
    a.sub(x86::rcx, row);
    a.cmp(x86::rcx, height);
    a.jl(next);
    write(height);
    a.add(row, height);
    a.jmp(loop);
    a.bind(next);
  }
}

}  // namespace lazy::cpu_backend
