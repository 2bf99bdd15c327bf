// Writes contractions. A tile of rows by vectors has its accumulators in registers while the sequential axis
// runs to its end; then the epilogue goes through it row by row.
#include <algorithm>
#include <cstddef>

#include "backends/cpu/emitter/contraction_writer.hpp"
#include "backends/cpu/emitter/legalize.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
using vir::Type;
namespace Id = x86::Inst;
namespace {

// A longer epilogue is written once for the tiles of one width, whose accumulators then pass through memory.
constexpr size_t kLongEpilogue = 8;
// If tiles are so many vectors wide, one vector more is done as two times two: a tile of one would wait for
// its loads. This does not hold where chunks of the right side were copied apart.
constexpr int kSplitWidth = 3;
constexpr int kStepsToWait = 128;  // a tile of so many steps takes longer than what its epilogue waits for

/// True if tile registers multiply these sides.
bool takes_tiles(const ContractionForm& f) {
  if (f.lane == ContractionLane::f32)
    return f.left.from == DType::bfloat16 && f.right.from == DType::bfloat16;
  return f.lane == ContractionLane::pairs && size_of(f.left.from) == 1 && size_of(f.right.from) == 1;
}

}  // namespace

void ContractionWriter::plan() {
  masked_.scalars = full_.scalars;
  masked_.indexed = false;
  const bool wide_file = as_->avx512();
  bool one_row = row_axis_ < 0;
  if (!one_row) {
    one_row = true;  // an axis that nothing moves along has one index, or many of the same
    for (const auto& o : k_.operands) one_row &= o.stride[row_axis_] == Stride::zero;
  }
  ContractionForm& f = *contraction_;
  f.tiles = isa_ == Isa::amx && !one_row && takes_tiles(f);
  const bool halves = f.lane == ContractionLane::f32 && f.left.from == DType::bfloat16 &&
                      f.right.from == DType::bfloat16 && isa_ >= Isa::avx512_bf16 && !one_row;
  if (halves) f.lane = ContractionLane::halves;
  else if (f.tiles) f.lane = ContractionLane::quads;
  shape_ = {one_row ? 1 : wide_file ? 8 : 6, one_row ? (wide_file ? 16 : 8) : wide_file ? 3 : 2, 1};
  if (f.tiles) shape_ = {2 * kTileRows, 2, 1};
  tile_widths_ = {shape_.vecs};
  if (one_row) tile_widths_.push_back(4);
  tile_heights_.clear();
  for (int h = shape_.rows; h >= 1; h /= 2) tile_heights_.push_back(h);
  red_ = std::make_unique<ReductionState>();
  red_->acc.resize(1);
  red_->acc[0].info = accumulators_of(k_)[0];
  if (f.lane == ContractionLane::pairs && wide_file && has_vnni() && !one_row && size_of(f.left.from) == 1 &&
      f.right.from == DType::int8)
    f.lane = ContractionLane::quads;
  f.lanes = lanes_;
  f.vectors = shape_.vecs;
  f.narrow = tile_widths_.back();
  f.rows = shape_.rows;
  f.masks = wide_file;
  for (int i = 0; i < (f.tiles ? 1 : shape_.rows) * shape_.vecs; ++i) {
    red_->acc[0].hot.push_back(as_->new_variable(contract_type()));
    as_->variables.back().reg = static_cast<int8_t>(tile_accumulator(i).id());
  }
  for (int32_t* p : {&at_.left, &at_.left_row, &at_.right, &at_.right_step, &at_.right_chunk, &at_.steps,
                     &at_.tile, &at_.flags, &at_.left_now, &at_.split})
    *p = as_->reserve(8);
  if (shares_epilogue()) {
    for (int32_t* p : {&at_.spilled_bytes, &at_.first_row, &at_.back}) *p = as_->reserve(8);
    at_.spilled = as_->reserve(64);
    for (int used = 64; used < shape_.rows * shape_.vecs * as_->bytes_of(contract_type()); used += 64)
      as_->reserve(64);
  }
  if (f.tiles) configure_tiles();
}

/// True if the epilogue is long, or gathers where a tile leaves four registers: three operands and the two
/// registers that a gather works with need five.
bool ContractionWriter::shares_epilogue() const {
  if (shape_.rows == 1) return false;
  if (contraction_->tiles) return true;
  bool gathers = false;
  for (size_t o = 0; o < k_.operands.size(); ++o)
    gathers |= !is_side(o) && !k_.operands[o].output && k_.operands[o].stride[vector_axis_] == Stride::any;
  return epilogue_.code.size() > kLongEpilogue || (gathers && !as_->avx512());
}

/// Writes one index of the axes around: all rows and columns.
void ContractionWriter::row() {
  place_sides();
  if (contraction_->tiles) as_->a.mov(qword(as_->frame(at_.configured)), 0);
  all_columns();
  if (contraction_->tiles) as_->a.emit(Id::kIdTilerelease);
}

/// Writes where the two sides lie to the frame: in the launch's plan, or as the arguments say.
void ContractionWriter::place_sides() {
  x86::Assembler& a = as_->a;
  const auto set = [&](int32_t to, const x86::Mem& from) {
    a.mov(x86::rcx, from);
    a.mov(as_->frame(to), x86::rcx);
  };
  const Label planned = a.newLabel(), placed = a.newLabel();
  const ContractionForm& f = *contraction_;
  const auto left = static_cast<size_t>(f.left.operand), right = static_cast<size_t>(f.right.operand);
  const int chunk = shape_.vecs * as_->bytes_of(contract_type());
  a.cmp(as_->arg(ArgLayout::kScratch), 0);
  a.jne(planned);
  set(at_.left, as_->frame(row_pointer_frame_[left]));
  set(at_.right, as_->frame(row_pointer_frame_[right]));
  const auto set_stride = [&](int32_t to, int operand, int axis) {
    const Stride c = axis < 0 ? Stride::zero : k_.operands[static_cast<size_t>(operand)].stride[axis];
    if (c == Stride::any) set(to, as_->arg(as_->args.stride(operand, axis)));
    else a.mov(qword(as_->frame(to)), c == Stride::unit ? byte_width(operand) : 0);
  };
  set_stride(at_.left_row, f.left.operand, row_axis_);
  set_stride(at_.right_step, f.right.operand, seq_);
  a.mov(qword(as_->frame(at_.right_chunk)), chunk);
  set(at_.steps, as_->arg(as_->args.extent(seq_)));
  a.mov(qword(as_->frame(at_.flags)), 0);
  a.mov(qword(as_->frame(at_.split)), (kSplitWidth + 1) * lanes_);
  a.jmp(placed);
  a.bind(planned);
  a.mov(x86::rdx, as_->arg(ArgLayout::kScratch + 1));
  const auto field = [](size_t offset) { return x86::ptr_64(x86::rdx, static_cast<int32_t>(offset)); };
  set(at_.left, field(offsetof(ContractionPlan, left)));
  set(at_.right, field(offsetof(ContractionPlan, right)));
  set(at_.left_row, field(offsetof(ContractionPlan, left_row)));
  set(at_.right_step, field(offsetof(ContractionPlan, right_step)));
  set(at_.right_chunk, field(offsetof(ContractionPlan, right_chunk)));
  set(at_.steps, field(offsetof(ContractionPlan, steps)));
  set(at_.tile, field(offsetof(ContractionPlan, tiles)));
  set(at_.flags, field(offsetof(ContractionPlan, flags)));
  a.mov(qword(as_->frame(at_.split)), kSplitWidth * lanes_);
  if (f.tiles) {
    set(at_.tile_row, field(offsetof(ContractionPlan, left_tile_row)));
    set(at_.tile_step, field(offsetof(ContractionPlan, left_tile_step)));
  }
  a.cmp(qword(as_->frame(at_.right_chunk)), chunk);
  a.jne(placed);
  a.mov(qword(as_->frame(at_.split)), (kSplitWidth + 1) * lanes_);
  a.bind(placed);
}

/// Writes the loops over columns of tiles, widest first.
void ContractionWriter::all_columns() {
  x86::Assembler& a = as_->a;
  const int vector = as_->bytes_of(contract_type());
  const x86::Mem index = qword(as_->frame(full_.index_base)),
                 extent = as_->arg(as_->args.extent(vector_axis_));
  a.mov(index, 0);
  const Label finished = a.newLabel(), tail = a.newLabel();
  const auto columns_left = [&] {
    a.mov(x86::rcx, extent);
    a.sub(x86::rcx, index);
  };
  const auto advance = [&](int vecs) {
    a.add(index, vecs * lanes_);
    a.add(qword(as_->frame(at_.right)), vecs * vector);
  };
  for (int vecs : tile_widths_) {
    const Label loop = a.newLabel(), next = a.newLabel();
    a.bind(loop);
    columns_left();
    a.cmp(x86::rcx, vecs * lanes_);
    a.jl(next);
    if (vecs == kSplitWidth) {
      const Label one_more = a.newLabel();
      a.cmp(x86::rcx, vecs * lanes_ + lanes_ / 2);  // what is left takes registers of half the width
      a.jle(one_more);
      a.cmp(x86::rcx, as_->frame(at_.split));
      a.jle(next);
      a.bind(one_more);
    }
    columns(vecs, false);
    if (vecs == shape_.vecs) {
      a.add(index, vecs * lanes_);
      a.mov(x86::rcx, as_->frame(at_.right_chunk));
      a.add(as_->frame(at_.right), x86::rcx);
    } else {
      advance(vecs);
    }
    a.jmp(loop);
    a.bind(next);
  }
  // The last columns take as many vectors as they need, the last one under the tail mask.
  a.bind(tail);
  for (int vecs = tile_widths_.back(); vecs >= 1; --vecs) {
    const Label next = a.newLabel();
    columns_left();
    if (tile_widths_.back() == kSplitWidth && vecs == kSplitWidth) {  // four vectors left: two and two
      a.cmp(x86::rcx, vecs * lanes_);
      a.jg(next);
    }
    a.sub(x86::rcx, (vecs - 1) * lanes_);
    a.jle(next);
    set_tail();
    columns(vecs, true);
    if (vecs == kSplitWidth - 1) {
      advance(vecs);
      a.jmp(tail);
    } else {
      a.jmp(finished);
    }
    a.bind(next);
  }
  a.bind(finished);
}

/// Writes all rows of one column of tiles, tallest tiles first.
void ContractionWriter::columns(int vecs, bool masked) {
  x86::Assembler& a = as_->a;
  a.mov(x86::rcx, as_->frame(at_.left));
  a.mov(as_->frame(at_.left_now), x86::rcx);
  if (row_axis_ < 0) return tile(1, vecs, masked);
  shared_epilogue_ = a.newLabel();
  if (contraction_->tiles) columns_of_tiles(vecs);
  else
    each_tile([&](int height) {
      tile(height, vecs, masked);
      a.imul(x86::rcx, as_->frame(at_.left_row), height);
      a.add(as_->frame(at_.left_now), x86::rcx);
    });
  if (!shares_epilogue()) return;
  const Label over = a.newLabel();
  a.jmp(over);
  a.bind(shared_epilogue_);
  shared_epilogue(vecs, masked);
  a.bind(over);
}

void ContractionWriter::tile(int rows, int vecs, bool masked) {
  x86::Assembler& a = as_->a;
  const Label fresh = a.newLabel(), begin = a.newLabel(), complete = a.newLabel(), done = a.newLabel();
  const x86::Mem flags = qword(as_->frame(at_.flags));
  a.test(flags, static_cast<int>(ContractionPlan::kResume));
  a.jz(fresh);
  move_tile(rows, vecs, false);
  a.jmp(begin);
  a.bind(fresh);
  const bool quads = contraction_->lane == ContractionLane::quads;
  if (quads) {
    a.mov(x86::rcx, as_->frame(at_.right_step));
    a.imul(x86::rcx, as_->frame(at_.steps));
    a.add(x86::rcx, as_->frame(at_.right));
  }
  for (int i = 0; quads && i < rows * vecs; ++i) {
    if (i < vecs) a.vmovups(tile_accumulator(i), x86::ptr(x86::rcx, i * as_->bytes_of(contract_type())));
    else a.vmovaps(tile_accumulator(i), tile_accumulator(i % vecs));
  }
  for (int i = 0; !quads && i < rows * vecs; ++i) {
    const x86::Vec z = as_->vec(tile_accumulator(i).id(), 16);
    a.emit(z.id() < 16 ? Id::kIdVpxor : Id::kIdVpxord, z, z, z);
  }
  a.bind(begin);
  prefetch_epilogue(rows, vecs);
  multiply_tile(rows, vecs, masked);
  a.test(flags, static_cast<int>(ContractionPlan::kSuspend));
  a.jz(complete);
  move_tile(rows, vecs, true);
  a.add(qword(as_->frame(at_.tile)), rows * vecs * as_->bytes_of(contract_type()));
  a.jmp(done);
  a.bind(complete);
  tile_epilogue(rows, vecs, masked);
  a.test(flags, static_cast<int>(ContractionPlan::kResume));
  a.jz(done);
  a.add(qword(as_->frame(at_.tile)), rows * vecs * as_->bytes_of(contract_type()));
  a.bind(done);
}

void ContractionWriter::move_tile(int rows, int vecs, bool to_memory) {
  x86::Assembler& a = as_->a;
  a.mov(x86::rcx, as_->frame(at_.tile));
  for (int i = 0; i < rows * vecs; ++i) {
    const x86::Mem m = x86::ptr(x86::rcx, i * as_->bytes_of(contract_type()));
    if (to_memory) a.vmovups(m, tile_accumulator(i));
    else a.vmovups(tile_accumulator(i), m);
  }
}

/// Computes where an operand's element at the current tile's first row and column is, in rcx.
void ContractionWriter::point_at_tile(int operand) {
  x86::Assembler& a = as_->a;
  const auto& stride = k_.operands[static_cast<size_t>(operand)].stride;
  const auto scaled = [&](const x86::Mem& index, int axis) {
    a.mov(x86::rdx, index);
    if (stride[axis] == Stride::unit) a.imul(x86::rdx, x86::rdx, static_cast<int>(byte_width(operand)));
    else a.imul(x86::rdx, as_->arg(as_->args.stride(operand, axis)));
    a.add(x86::rcx, x86::rdx);
  };
  a.mov(x86::rcx, as_->frame(row_pointer_frame_[static_cast<size_t>(operand)]));
  if (stride[vector_axis_] != Stride::zero) scaled(as_->frame(full_.index_base), vector_axis_);
  if (row_axis_ >= 0 && stride[row_axis_] != Stride::zero)
    scaled(as_->frame(counters_[static_cast<size_t>(row_axis_)]), row_axis_);
}

/// Asks for what the epilogue of a tile reads and stores, a short run of each row, while the tile is
/// multiplied: the processor does not foresee runs so far apart. They come into the second-level cache; the
/// first has the sides.
void ContractionWriter::prefetch_epilogue(int rows, int vecs) {
  if (rows == 1) return;
  x86::Assembler& a = as_->a;
  const Label over = a.newLabel();
  a.cmp(qword(as_->frame(at_.steps)), kStepsToWait);
  a.jl(over);
  a.test(qword(as_->frame(at_.flags)), static_cast<int>(ContractionPlan::kSuspend));
  a.jnz(over);
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const auto& operand = k_.operands[o];
    if (is_side(o) || operand.stride[vector_axis_] != Stride::unit ||
        operand.stride[row_axis_] != Stride::any)
      continue;
    const auto oi = static_cast<int>(o);
    const auto bytes = static_cast<int>(byte_width(oi)) * vecs * lanes_;
    point_at_tile(oi);
    a.mov(x86::rdx, as_->arg(as_->args.stride(oi, row_axis_)));
    a.mov(x86::eax, rows);
    const Label row = a.newLabel();
    a.bind(row);
    for (int at = 0; at <= bytes; at += kCacheLine) a.prefetcht1(x86::ptr(x86::rcx, std::min(at, bytes - 1)));
    a.add(x86::rcx, x86::rdx);
    a.dec(x86::eax);
    a.jnz(row);
  }
  a.bind(over);
}

/// Writes the operands' pointers at the current tile's first row and column.
void ContractionWriter::set_pointers() {
  x86::Assembler& a = as_->a;
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    if (is_side(o)) continue;
    point_at_tile(static_cast<int>(o));
    if (as_->pointer_reg[o] >= 0) a.mov(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), x86::rcx);
    else a.mov(as_->frame(as_->pointer_frame[o]), x86::rcx);
  }
}

/// Moves pointers and index to the next row of the epilogue.
void ContractionWriter::next_row() {
  x86::Assembler& a = as_->a;
  if (row_axis_ < 0) return;
  for (size_t o = 0; o < k_.operands.size(); ++o) {
    const Stride c = k_.operands[o].stride[row_axis_];
    if (is_side(o) || c == Stride::zero) continue;
    const auto oi = static_cast<int>(o);
    if (c == Stride::unit) a.mov(x86::ecx, static_cast<int>(byte_width(oi)));
    else a.mov(x86::rcx, as_->arg(as_->args.stride(oi, row_axis_)));
    if (as_->pointer_reg[o] >= 0) a.add(x86::gpq(static_cast<uint32_t>(as_->pointer_reg[o])), x86::rcx);
    else a.add(as_->frame(as_->pointer_frame[o]), x86::rcx);
  }
  a.inc(qword(as_->frame(counters_[static_cast<size_t>(row_axis_)])));
}

void ContractionWriter::tile_epilogue(int rows, int vecs, bool masked) {
  x86::Assembler& a = as_->a;
  const auto& accumulators = red_->acc[0].hot;
  if (shares_epilogue()) {
    const int bytes = as_->bytes_of(contract_type());
    for (int i = 0; i < rows * vecs; ++i) a.vmovups(as_->frame(at_.spilled, i * bytes), tile_accumulator(i));
    a.mov(qword(as_->frame(at_.spilled_bytes)), rows * vecs * bytes);
    return call_shared_epilogue();
  }
  set_pointers();
  const uint32_t reserved = as_->reserved_vec;
  for (int i = 0; i < rows * vecs; ++i) as_->reserved_vec |= 1u << tile_accumulator(i).id();
  for (int row = 0; row < rows; ++row) {
    tile_row_.assign(accumulators.begin() + row * vecs, accumulators.begin() + (row + 1) * vecs);
    epilogue_row(vecs, masked);
    if (row + 1 < rows) next_row();
    else if (row > 0) a.sub(qword(as_->frame(counters_[static_cast<size_t>(row_axis_)])), rows - 1);
  }
  as_->reserved_vec = reserved;
}

void ContractionWriter::call_shared_epilogue() {
  x86::Assembler& a = as_->a;
  const Label back = a.newLabel();
  a.lea(x86::rcx, x86::ptr(back));
  a.mov(as_->frame(at_.back), x86::rcx);
  a.jmp(shared_epilogue_);
  a.bind(back);
}

/// Goes through the rows that a tile of any height has left in memory, then back to where `at_.back` says.
void ContractionWriter::shared_epilogue(int vecs, bool masked) {
  x86::Assembler& a = as_->a;
  const int bytes = as_->bytes_of(contract_type());
  const int32_t counter = counters_[static_cast<size_t>(row_axis_)];
  set_pointers();
  a.mov(x86::rcx, as_->frame(counter));
  a.mov(as_->frame(at_.first_row), x86::rcx);
  tile_row_.assign(red_->acc[0].hot.begin(), red_->acc[0].hot.begin() + vecs);
  const uint32_t reserved = as_->reserved_vec;
  for (int v = 0; v < vecs; ++v) as_->reserved_vec |= 1u << tile_accumulator(v).id();
  const Label loop = a.newLabel();
  a.xor_(x86::eax, x86::eax);
  a.bind(loop);
  for (int v = 0; v < vecs; ++v)
    a.vmovups(tile_accumulator(v), x86::ptr(x86::rsp, x86::rax, 0, at_.spilled + v * bytes));
  epilogue_row(vecs, masked);
  next_row();
  a.add(x86::rax, vecs * bytes);
  a.cmp(x86::rax, as_->frame(at_.spilled_bytes));
  a.jl(loop);
  a.mov(x86::rcx, as_->frame(at_.first_row));
  a.mov(as_->frame(counter), x86::rcx);
  a.mov(x86::rcx, as_->frame(at_.back));
  a.jmp(x86::rcx);
  as_->reserved_vec = reserved;
}

/// Writes the epilogue at one row, whose accumulators are the variables `tile_row_`.
void ContractionWriter::epilogue_row(int vecs, bool masked) {
  const auto part = [&](int first, int count, const Addressing& where) {
    if (count == 0) return;
    Addressing w = where;
    w.at_origin = true;
    w.row_axis = -1;  // the pointers are at the row
    Copies copies(*as_, epilogue_, w, -1);
    copies.first_vec = first;
    copies.result = [&](int, int, int vec) { return tile_row_[static_cast<size_t>(first + vec)]; };
    write_block(copies.block(2, {1, count, 1}), w);
  };
  part(0, masked ? vecs - 1 : vecs, full_);
  if (masked) part(vecs - 1, 1, masked_);
}

}  // namespace lazy::cpu_backend
