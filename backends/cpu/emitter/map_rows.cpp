// Writes maps several rows at a time: what is the same in every row, as the weights of a depthwise
// convolution whose channels are vectors, is loaded once for all of them, and their sums fill the time of
// each other's latency.
//
// Such a kernel reads one image at as many places as a window has, so most of its operands' rows lie the same
// distance apart: one register for each row says how far it is from all of these pointers. A launch where
// they do not goes row by row.
#include <algorithm>

#include "backends/cpu/emitter/map_writer.hpp"

namespace lazy::cpu_backend {
using jit::loop::Code;
using jit::loop::Operand;
namespace {

// Fewer loads shared by rows than this gain too little.
constexpr int kFewestShared = 3;
// Rows 1 to 3; row 0 has the index along the vector axis.
constexpr int8_t kRowIndex[] = {x86::Gp::kIdAx, x86::Gp::kIdR13, x86::Gp::kIdR14, x86::Gp::kIdR15};

}  // namespace

/// Finds the operands whose rows are read together. True if there are some, and as many that all rows share.
bool MapWriter::find_rows_alike() {
  if (outer_.empty() || !k_.rolled_loops.empty()) return false;
  rows_alike_.assign(k_.operands.size(), 0);
  int shared = 0, alike = 0;
  size_t size = 0;
  for (const auto& in : k_.body) {
    if (in.code == Code::load_at || in.code == Code::check || in.code == Code::iota) return false;
    if (in.code != Code::load) continue;
    const Operand& o = k_.operands[in.imm];
    if (o.stride[vector_axis_] != Stride::unit) continue;
    if (o.stride[outer_.back()] == Stride::zero) ++shared;
    if (o.stride[outer_.back()] != Stride::any || (size != 0 && size_of(o.dtype) != size)) continue;
    size = size_of(o.dtype);
    rows_alike_[in.imm] = 1;
    ++alike;
  }
  return shared >= kFewestShared && alike >= kFewestShared;
}

/// Decides how many vectors of each row go at once. Returns the registers that they need.
int MapWriter::plan_rows() {
  Addressing several = full_;
  several.row_axis = outer_.back();
  rows_copies_ = std::make_unique<Copies>(*as_, body_, several, vector_axis_);
  const int margin = as_->avx512() ? 2 : 3;
  int pressure = 0;
  for (rows_vecs_ = 2; rows_vecs_ > 0; --rows_vecs_) {
    pressure = pressure_of(*as_, rows_copies_->block(2, {kMostRows, rows_vecs_, 1}));
    if (pressure + margin <= registers()) break;
  }
  suits_rows_ = rows_vecs_ > 0 && rows_copies_->stage2_size() <= 1000;
  return suits_rows_ ? pressure : 0;
}

/// Writes what is done once for a launch: whether its rows can go together.
void MapWriter::begin_rows() {
  x86::Assembler& a = as_->a;
  const int axis = outer_.back();
  if (!rows_copies_->stage_is_empty(0))
    write_block(rows_copies_->block(0, {kMostRows, rows_vecs_, 1}), full_);
  rows_apart_ = as_->reserve(8);
  rows_limit_ = as_->reserve(8);
  a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
  a.sub(x86::rcx, rows_vecs_ * lanes_);
  a.mov(as_->frame(rows_limit_), x86::rcx);
  const Label differ = a.newLabel(), alike = a.newLabel();
  bool first = true;
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    if (!rows_alike_[o]) continue;
    const x86::Mem stride = as_->arg(as_->args.stride(static_cast<int>(o), axis));
    if (first) {
      a.mov(x86::rcx, stride);
    } else {
      a.cmp(x86::rcx, stride);
      a.jne(differ);
    }
    first = false;
  }
  a.jmp(alike);
  a.bind(differ);
  a.xor_(x86::ecx, x86::ecx);
  a.bind(alike);
  a.mov(as_->frame(rows_apart_), x86::rcx);
}

/// Writes so many rows, if there are as many left, and then goes on with the next one.
void MapWriter::several_rows(int rows) {
  x86::Assembler& a = as_->a;
  const int axis = outer_.back();
  const Label fewer = a.newLabel(), loop = a.newLabel(), tail = a.newLabel(), finished = a.newLabel();
  a.mov(x86::rdx, as_->frame(rows_apart_));
  a.test(x86::rdx, x86::rdx);
  a.jz(fewer);
  a.mov(x86::rcx, as_->arg(as_->args.extent(axis)));
  a.sub(x86::rcx, as_->frame(counters_[static_cast<size_t>(axis)]));
  a.cmp(x86::rcx, rows);
  a.jl(fewer);
  const auto index = [](int row) { return x86::gpq(static_cast<uint32_t>(kRowIndex[row])); };
  a.xor_(x86::eax, x86::eax);
  a.mov(index(1), x86::rdx);
  for (int r = 2; r < rows; ++r) a.lea(index(r), x86::ptr(index(r - 1), x86::rdx));
  Addressing whole = full_, masked = masked_;
  for (Addressing* w : {&whole, &masked}) {
    w->row_axis = axis;
    w->rows_alike = &rows_alike_;
    w->row_index = kRowIndex;
  }
  if (!rows_copies_->stage_is_empty(1)) write_block(rows_copies_->block(1, {rows, rows_vecs_, 1}), whole);
  int64_t size = 0;
  for (size_t o = 0; o < k_.operands.size(); ++o)
    if (rows_alike_[o]) size = byte_width(static_cast<int>(o));
  const auto step = [&](int vecs) {
    a.add(x86::rax, vecs * lanes_);
    for (int r = 1; r < rows; ++r) a.add(index(r), vecs * lanes_ * size);
  };
  a.bind(loop);
  a.cmp(x86::rax, as_->frame(rows_limit_));
  a.jg(tail);
  write_block(rows_copies_->block(2, {rows, rows_vecs_, 1}), whole);
  step(rows_vecs_);
  a.jmp(loop);
  a.bind(tail);
  a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
  a.sub(x86::rcx, x86::rax);
  a.jle(finished);
  set_tail();
  write_block(rows_copies_->block(2, {rows, 1, 1}), masked);
  step(1);
  a.jmp(tail);
  a.bind(finished);
  a.mov(x86::rcx, as_->frame(rows_apart_));
  go_on_after(rows, rows_alike_);
  a.bind(fewer);
}

}  // namespace lazy::cpu_backend
