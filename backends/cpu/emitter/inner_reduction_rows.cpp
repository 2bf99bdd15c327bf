// Writes reductions along the vector axis, several rows at a time: what does not move from row to row is
// loaded once for all of them, and the ends of rows overlap. Each row's order is that of a row alone.
//
// r13, r14 and r12 are rows one to three of the operand whose elements they are, r15 the distance between its
// rows. What else moves from row to row is one element for each, as the mean in a variance.
#include <algorithm>
#include <bit>
#include <utility>

#include "backends/cpu/emitter/control_flow.hpp"
#include "backends/cpu/emitter/inner_reduction_writer.hpp"
#include "backends/cpu/emitter/legalize.hpp"
#include "backends/cpu/emitter/split.hpp"
#include "backends/cpu/machine/features.hpp"

namespace lazy::cpu_backend {
using jit::loop::Code;
using jit::loop::Operand;
namespace {

constexpr size_t kLongBody = 16;  // vector instructions; more hide the latency of a row's end themselves
// Rows of at most so many elements have separate code, without what they leave empty: the other partial
// vectors and the lanes past the width hold the identity, which changes nothing.
constexpr int kWidths[] = {16, 8, 4};
constexpr int kLongRow = 1024;  // bytes
constexpr int kAnyLength = 1;   // `several_rows`; or a width
constexpr int8_t kFirstRow = x86::Gp::kIdR13, kSecondRow = x86::Gp::kIdR14, kThirdRow = x86::Gp::kIdR12,
                 kRowStride = x86::Gp::kIdR15;
constexpr int kSpareRegisters = 8;  // vector registers for what a step of several rows computes

}  // namespace

/// True if the elements of rows are those of one operand, in unit steps along a row, on AVX-512, which has
/// the registers.
bool InnerReductionWriter::suits_rows() const {
  if (!inner_ || isa_ < Isa::avx512 || outer_.empty() || k_.reductions.size() != 1) return false;
  const auto& r = k_.reductions[0];
  using jit::Op;
  const bool order_known = (r.op == Op::sum || r.op == Op::prod) && is_float(r.type);
  if ((!order_known && r.op != Op::max && r.op != Op::min) || body_.code.size() > kLongBody) return false;
  int moving = 0;
  for (size_t i = 0; i < k_.epilogue; ++i) {
    const auto& in = k_.body[i];
    if (in.code == Code::iota || in.code == Code::load_at || in.code == Code::check) return false;
    if (in.code != Code::load) continue;
    const Operand& o = k_.operands[in.imm];
    const bool moves = o.stride[outer_.back()] != Stride::zero;
    if (size_of(o.dtype) == 1) return false;
    if (o.stride[vector_axis_] == Stride::zero && moves) continue;
    if (o.stride[vector_axis_] != Stride::unit) return false;
    moving += moves;
  }
  for (const auto& s : k_.stores)
    if (k_.operands[s.operand].stride[vector_axis_] != Stride::zero) return false;
  return moving == 1;
}

/// True if all that moves along rows is bfloat16.
bool InnerReductionWriter::suits_parting() const {
  const bool whole_pairs = red_->unroll % 2 == 0 && lanes_ == 16 && red_->acc[0].partials == red_->unroll;
  return whole_pairs && std::all_of(k_.body.begin(), k_.body.begin() + k_.epilogue, [&](const auto& in) {
           return in.code != Code::load || k_.operands[in.imm].stride[vector_axis_] == Stride::zero ||
                  k_.operands[in.imm].dtype == DType::bfloat16;
         });
}

/// Writes how pairs of vectors, of which one has the even and one the odd ones of 2 * lanes values, become
/// vectors of their first and their last half.
void InnerReductionWriter::put_in_order(const std::vector<uint16_t>& vectors) {
  x86::Assembler& a = as_->a;
  const auto from_both = [&](int first) {
    std::vector<uint8_t> bytes(64);
    for (int i = 0; i < 16; ++i)
      bytes[static_cast<size_t>(i * 4)] = static_cast<uint8_t>(first + i / 2 + i % 2 * 16);
    return as_->table(bytes, 64);
  };
  std::array<x86::Vec, 3> spare;
  uint32_t taken = as_->reserved_vec;
  for (x86::Vec& v : spare) {
    v = as_->vec(std::countr_one(taken), 64);
    taken |= taken + 1;
  }
  const auto& [first, last, copy] = spare;
  a.emit(x86::Inst::kIdVmovups, first, from_both(0));
  a.emit(x86::Inst::kIdVmovups, last, from_both(8));
  for (size_t i = 0; i < vectors.size(); i += 2) {
    const x86::Vec even = as_->vec(as_->variables[vectors[i]].reg, 64),
                   odd = as_->vec(as_->variables[vectors[i + 1]].reg, 64);
    a.emit(x86::Inst::kIdVmovaps, copy, even);
    a.emit(x86::Inst::kIdVpermt2ps, even, first, odd);
    a.emit(x86::Inst::kIdVpermt2ps, copy, last, odd);
    a.emit(x86::Inst::kIdVmovaps, odd, copy);
  }
}

void InnerReductionWriter::plan_rows() {
  AccumulatorPlaces& p = red_->acc[0];
  for (size_t i = 0; i < k_.epilogue; ++i)
    if (const auto& in = k_.body[i]; in.code == Code::load)
      if (const Operand& o = k_.operands[in.imm];
          o.stride[outer_.back()] != Stride::zero && o.stride[vector_axis_] == Stride::unit)
        row_operand_ = in.imm;
  rows_ = red_->rest_in_registers && as_->pointer_reg[static_cast<size_t>(row_operand_)] >= 0;
  Addressing whole = full_, masked = masked_;
  whole.row_axis = masked.row_axis = outer_.back();
  rows_copies_ = std::make_unique<Copies>(*as_, body_, whole, vector_axis_);
  rows_masked_ = std::make_unique<Copies>(*as_, red_->masked_body, masked, vector_axis_);
  for (Copies* c : {rows_copies_.get(), rows_masked_.get()}) rows_ &= c->stage_is_empty(0);
  rows_ &= std::popcount(~as_->reserved_vec) >= (kRows - 1) * p.partials + kSpareRegisters;
  if (!rows_) return;
  // The first row's are those of a row alone.
  red_->rows_hot = p.hot;
  uint32_t taken = as_->reserved_vec;
  while (static_cast<int>(red_->rows_hot.size()) < kRows * p.partials) {
    const int r = 31 - __builtin_clz(~taken);
    taken |= 1u << r;
    red_->rows_hot.push_back(as_->new_variable(p.info.type));
    as_->variables.back().reg = static_cast<int8_t>(r);
  }
  const uint32_t reserved = std::exchange(as_->reserved_vec, taken);
  rows_copies_->pin({kRows, 1, 1}, std::popcount(~taken) - kSpareRegisters);
  rows_kept_ = as_->reserved_vec & ~taken;
  as_->reserved_vec = reserved;
  one_epilogue_ = suits_one_epilogue();
  parted_ = suits_parting();
  for (int row = 0; row < kRows; ++row) {
    red_->rows_folded.push_back(as_->new_variable(p.info.type));
    as_->variables.back().reg = as_->variables[red_->rows_hot[static_cast<size_t>(row * p.partials)]].reg;
  }
  for (Copies* c : {rows_copies_.get(), rows_masked_.get()})
    c->accumulator = [this, c](int, int row, int vec, int) {
      const AccumulatorPlaces& a = red_->acc[0];
      return a.hot[static_cast<size_t>(row * a.partials + vec + c->first_vec)];
    };
}

/// Writes what is done once for a launch whose rows are one block each. Far memory is read faster in one
/// stream, unless there is more to do with what arrives; so are long rows of a tile group's block, if no step
/// before has read them.
void InnerReductionWriter::begin_rows() {
  x86::Assembler& a = as_->a;
  const int axis = outer_.back();
  const Operand& o = k_.operands[static_cast<size_t>(row_operand_)];
  const Label far = a.newLabel();
  x86::Mem several_rows = as_->frame(red_->several_rows);
  several_rows.setSize(4);
  if (size_of(o.dtype) >= 4 && o.stride[axis] == Stride::any) {
    a.mov(x86::rdx, as_->arg(as_->args.extent(axis)));
    a.imul(x86::rdx, as_->arg(as_->args.stride(row_operand_, axis)));
    a.cmp(x86::rdx, static_cast<int32_t>(std::min<size_t>(caches().l2, 1 << 30)));
    a.jg(far);
    if (!reads_near_rows()) {
      const Label alone = a.newLabel();
      a.cmp(as_->arg(jit::loop::ArgLayout::kScratch + 1), static_cast<int>(kBlockOfMany));
      a.jne(alone);
      a.cmp(as_->arg(as_->args.stride(row_operand_, axis)), kLongRow);
      a.jge(far);
      a.bind(alone);
    }
  }
  a.mov(several_rows, kAnyLength);
  for (const int width : kWidths) {
    if (width > lanes_) continue;
    a.cmp(as_->arg(as_->args.extent(vector_axis_)), width);
    a.jg(far);
    a.mov(several_rows, width);
  }
  a.bind(far);
}

/// The first partial vector of a row is where its folded value is.
void InnerReductionWriter::rows_within_a_vector(int width, const Addressing& masked) {
  const AccumulatorPlaces& p = red_->acc[0];
  as_->lanes = width;
  std::vector<std::pair<uint16_t, uint64_t>> start;
  for (int row = 0; row < kRows; ++row)
    start.emplace_back(p.hot[static_cast<size_t>(row * p.partials)], p.info.identity);
  assign_constants(start);
  write_block(rows_masked_->block(2, {kRows, 1, 1}), masked);
  if (!one_epilogue_) return fold_lanes(kRows, width);
  as_->lanes = lanes_;
  fold_rows(width);
}

/// True if the epilogue can be written once for several rows: what it loads and stores is as wide as
/// instructions of few lanes can move, and at no computed index.
bool InnerReductionWriter::suits_one_epilogue() const {
  if (as_->bytes_of(red_->acc[0].info.type) != 64) return false;
  for (size_t i = k_.epilogue; i < k_.body.size(); ++i) {
    const auto& in = k_.body[i];
    if (in.code == Code::load_at || in.code == Code::check) return false;
    if (in.code == Code::load && size_of(k_.operands[in.imm].dtype) == 1) return false;
  }
  for (const auto& s : k_.stores)
    if (size_of(k_.operands[s.operand].dtype) == 1 ||
        k_.operands[s.operand].stride[outer_.back()] == Stride::zero)
      return false;
  return true;
}

/// Writes the folding of all rows' first `width` lanes into the lanes of one vector, the first folded value.
void InnerReductionWriter::fold_rows(int width) {
  for (int level = 0; level == 0 || lanes_ >> (level - 1) >= kRows; ++level) {
    as_->lanes = level < 2 ? lanes_ : lanes_ >> (level - 1);
    Template t = fold_rows_template(k_, *red_, lanes_, width, level);
    legalize(t, isa_);
    Copies fold(*as_, t, full_, -1);
    fold.accumulator = [&](int slot, int, int, int) {
      return red_->acc[0].folded[static_cast<size_t>(PartialSlot::unpack(slot).part)];
    };
    write_block(fold.block(2, {}), full_);
  }
  as_->lanes = lanes_;
}

/// Reserves the registers of these variables.
void InnerReductionWriter::hold(const std::vector<uint16_t>& variables) {
  for (uint16_t v : variables) as_->reserved_vec |= 1u << as_->variables[v].reg;
}

/// Writes the pointers to rows, and returns how both kinds of vectors go through them.
std::array<Addressing, 2> InnerReductionWriter::address_rows() {
  x86::Assembler& a = as_->a;
  const auto oi = static_cast<size_t>(row_operand_);
  const x86::Gp first = x86::gpq(static_cast<uint32_t>(as_->pointer_reg[oi])), row1 = x86::gpq(kFirstRow),
                row2 = x86::gpq(kSecondRow), third = x86::gpq(kThirdRow), stride = x86::gpq(kRowStride);
  if (k_.operands[oi].stride[outer_.back()] == Stride::unit) a.mov(stride, byte_width(row_operand_));
  else a.mov(stride, as_->arg(as_->args.stride(row_operand_, outer_.back())));
  a.lea(row1, x86::ptr(first, stride));
  a.lea(row2, x86::ptr(first, stride, 1));
  a.lea(third, x86::ptr(row1, stride, 1));
  std::array<Addressing, 2> both{full_, masked_};
  for (Addressing& w : both) {
    w.row_axis = outer_.back();
    w.row_step_operand = row_operand_;
    w.row_stride_reg = kRowStride;
    w.row_pointers = {as_->pointer_reg[oi], kFirstRow, kSecondRow, kThirdRow};
    w.pointer_a_row = true;
  }
  return both;
}

void InnerReductionWriter::reduce_rows() {
  ReductionState& s = *red_;
  AccumulatorPlaces& p = s.acc[0];
  const uint32_t reserved = as_->reserved_vec;
  const auto [whole, masked] = address_rows();
  hold(s.rows_hot);
  as_->reserved_vec |= rows_kept_;
  for (Copies* c : {rows_copies_.get(), rows_masked_.get()})
    for (const int stage : {0, 1})  // what is pinned of the first one, too
      if (!c->stage_is_empty(stage)) write_block(c->block(stage, {kRows, 1, 1}), whole);
  std::swap(p.hot, s.rows_hot);
  std::swap(p.folded, s.rows_folded);
  accumulate_rows(whole, masked);
  std::swap(p.hot, s.rows_hot);
  std::swap(p.folded, s.rows_folded);
  as_->reserved_vec = reserved;
  hold(s.rows_folded);
  const Label few = as_->a.newLabel(), done = as_->a.newLabel();
  if (gathers_ && one_epilogue_) {
    jump_unless_gathering(few);
    gather(kRows);
    skip_indices(kRows - 1);
    as_->a.jmp(done);
  }
  as_->a.bind(few);
  one_epilogue_ ? one_epilogue(kRows) : row_epilogues();
  as_->a.bind(done);
  as_->reserved_vec = reserved;
}

/// Writes the prefetches of one step of all rows, into the second-level cache.
void InnerReductionWriter::fetch_rows_ahead(const Addressing& rows) {
  if (ahead_operand_ != row_operand_) return;
  x86::Assembler& a = as_->a;
  const auto size = static_cast<int>(byte_width(row_operand_));
  a.mov(x86::rcx, as_->frame(ahead_));
  a.lea(x86::rcx,
        x86::ptr(x86::rcx, x86::rax, static_cast<uint32_t>(std::countr_zero(static_cast<unsigned>(size)))));
  for (int row = 0; row < kRows; ++row) {
    a.lea(x86::rdx,
          x86::ptr(x86::rcx, x86::gpq(static_cast<uint32_t>(rows.row_pointers[static_cast<size_t>(row)]))));
    for (int at = 0; at < red_->unroll * lanes_ * size; at += kCacheLine)
      a.prefetcht1(x86::ptr(x86::rdx, at));
  }
}

/// Writes the rows' sums, by width where they are within a vector.
void InnerReductionWriter::accumulate_rows(const Addressing& whole, const Addressing& masked) {
  x86::Assembler& a = as_->a;
  ReductionState& s = *red_;
  // Writes one vector of all rows.
  const auto one = [&](Copies& c, int v, const Addressing& w) {
    c.first_vec = v;
    write_block(c.block(2, {kRows, 1, 1}), w);
    c.first_vec = 0;
  };
  a.xor_(x86::eax, x86::eax);
  const Label folded = a.newLabel();
  for (const int width : kWidths) {
    if (width > lanes_) continue;
    x86::Mem several_rows = as_->frame(s.several_rows);
    several_rows.setSize(4);
    a.cmp(several_rows, width);
    skip_if(a, x86::CondCode::kNE, [&] {
      rows_within_a_vector(width, masked);
      a.jmp(folded);
    });
  }
  start_partials();
  a.cmp(x86::rax, as_->frame(s.loop_limit));
  skip_if(a, x86::CondCode::kSignedGT, [&] {
    Addressing in_loop = whole;
    const uint32_t reserved = as_->reserved_vec;
    if (parted_) {
      in_loop.parted = std::countr_one(reserved);
      as_->reserved_vec |= 1u << in_loop.parted;
      a.emit(x86::Inst::kIdVpbroadcastd, as_->vec(in_loop.parted, 64), as_->constant(0xffff0000, 4));
    }
    hot_loop_while(a, x86::CondCode::kSignedLE, [&] {
      fetch_rows_ahead(whole);
      for (int v = 0; v < s.unroll; ++v) one(*rows_copies_, v, in_loop);
      a.add(x86::rax, s.unroll * lanes_);
      a.cmp(x86::rax, as_->frame(s.loop_limit));
    });
    as_->reserved_vec = reserved;
    if (parted_) put_in_order(s.acc[0].hot);
  });
  write_rest(
      s.rest, s.unroll, [&](int v) { one(*rows_copies_, v, whole); },
      [&](int v) { one(*rows_masked_, v, masked); });
  fold_partials(kRows, !one_epilogue_);
  if (one_epilogue_) fold_rows(lanes_);
  a.bind(folded);
}

/// Writes the epilogue of so many rows at once, kRows or as many as there are lanes.
void InnerReductionWriter::one_epilogue(int rows) {
  AccumulatorPlaces& p = red_->acc[0];
  Addressing w = full_;
  w.indexed = false;
  w.vector_axis = outer_.back();
  w.often_unit = true;
  w.index_base = counters_[static_cast<size_t>(outer_.back())];
  std::vector<uint16_t> hot, result{rows > kRows ? p.folded[0] : red_->rows_folded[0]};
  std::swap(hot, p.hot);  // only the folded value is left of them
  std::swap(result, p.result);
  write_epilogue({}, w, rows > kRows);
  std::swap(hot, p.hot);
  std::swap(result, p.result);
  skip_indices(rows - 1);  // the last one steps in the loop itself
}

/// Writes the epilogue row by row.
void InnerReductionWriter::row_epilogues() {
  ReductionState& s = *red_;
  AccumulatorPlaces& p = s.acc[0];
  Addressing w = full_;
  w.indexed = false;
  w.lane0 = true;
  std::vector<uint16_t> hot, result;
  std::swap(hot, p.hot);  // only folded values are left of them
  std::swap(result, p.result);
  for (int row = 0; row < kRows; ++row) {
    p.result = {s.rows_folded[static_cast<size_t>(row)]};
    write_epilogue({}, w);
    if (row + 1 < kRows) next_index(outer_.size() - 1);  // the last one steps in the loop itself
  }
  std::swap(hot, p.hot);
  std::swap(result, p.result);
}

}  // namespace lazy::cpu_backend
