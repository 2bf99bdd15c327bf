// Writes the inner loop of contractions for the processor's tile registers: accumulators of up to 32 rows by
// two vectors, which pass through memory to the epilogue.
//
// Tile registers: 0 to 3 accumulators, row by row of tiles; 4, 5 the left side; 6, 7 the right side.
#include "backends/cpu/emitter/contraction_writer.hpp"

namespace lazy::cpu_backend {
namespace Id = x86::Inst;
namespace {

constexpr int kRowBytes = 64;  // of a tile register
constexpr int kLeft = 4, kRight = 6;

x86::Tmm tmm(int i) { return x86::Tmm(static_cast<uint32_t>(i)); }
}  // namespace

/// Writes what is the same in all configurations: palette 1, and bytes of each register's rows.
void ContractionWriter::configure_tiles() {
  x86::Assembler& a = as_->a;
  for (int32_t* p : {&at_.configured, &at_.rows, &at_.tile_row, &at_.tile_step}) *p = as_->reserve(8);
  at_.config = as_->reserve(64);
  const auto set = [&](int at, uint64_t bits) {
    a.mov(x86::rcx, bits);
    a.mov(qword(as_->frame(at_.config, at)), x86::rcx);
  };
  const uint64_t ones = 0x0001000100010001, column = static_cast<uint64_t>(lanes_) * 4;
  set(0, 1);
  set(8, 0);
  set(16, ones * column);                                            // accumulators
  set(24, (ones * kRowBytes & 0xffffffff) | (ones * column) << 32);  // left, right
  for (int at = 32; at < 64; at += 8) set(at, 0);
}

/// Writes the rows of the next tile, of which rcx are left, and what they make of the registers. If it is not
/// `two` registers tall, the second ones have a row that is not used.
void ContractionWriter::set_tile_rows(bool two) {
  x86::Assembler& a = as_->a;
  const Label ready = a.newLabel();
  if (two) {
    a.mov(x86::edx, 2 * kTileRows);
    a.cmp(x86::rcx, x86::rdx);
    a.cmovg(x86::rcx, x86::rdx);
  }
  a.mov(as_->frame(at_.rows), x86::rcx);
  a.cmp(x86::rcx, as_->frame(at_.configured));
  a.je(ready);
  a.mov(as_->frame(at_.configured), x86::rcx);
  if (two) a.sub(x86::rcx, kTileRows);
  // Bytes, by register: top, top, bottom, bottom, top, bottom, 16, 16.
  constexpr uint64_t tops = 0x0000000100000101, bottoms = 0x0000010001010000, right = 0x1010000000000000;
  a.mov(x86::rdx, two ? bottoms : tops);
  a.imul(x86::rcx, x86::rdx);
  a.mov(x86::rdx, right + (two ? tops * kTileRows : bottoms));
  a.add(x86::rcx, x86::rdx);
  a.mov(as_->frame(at_.config, 48), x86::rcx);
  a.emit(Id::kIdLdtilecfg, as_->frame(at_.config));
  a.bind(ready);
}

/// Writes all rows of one column of tiles.
void ContractionWriter::columns_of_tiles(int vecs) {
  x86::Assembler& a = as_->a;
  const x86::Mem row = qword(as_->frame(counters_[static_cast<size_t>(row_axis_)]));
  const Label loop = a.newLabel(), two = a.newLabel(), next = a.newLabel(), done = a.newLabel();
  a.mov(row, 0);
  a.bind(loop);
  a.mov(x86::rcx, as_->arg(as_->args.extent(row_axis_)));
  a.sub(x86::rcx, row);
  a.jle(done);
  a.cmp(x86::rcx, kTileRows);
  a.jg(two);
  set_tile_rows(false);
  tile_registers(1, vecs);
  a.jmp(next);
  a.bind(two);
  set_tile_rows(true);
  tile_registers(2, vecs);
  a.bind(next);
  a.mov(x86::rcx, as_->frame(at_.rows));
  a.add(row, x86::rcx);
  a.imul(x86::rcx, as_->frame(at_.left_row));
  a.add(as_->frame(at_.left_now), x86::rcx);
  a.jmp(loop);
  a.bind(done);
}

/// Writes one tile, `tall` registers by `vecs`: its sum, then its epilogue.
void ContractionWriter::tile_registers(int tall, int vecs) {
  x86::Assembler& a = as_->a;
  const int pitch = vecs * as_->bytes_of(contract_type());
  const Label fresh = a.newLabel(), begin = a.newLabel(), complete = a.newLabel(), done = a.newLabel();
  const x86::Mem flags = qword(as_->frame(at_.flags));
  const auto next_tile = [&] {
    a.imul(x86::rcx, as_->frame(at_.rows), pitch);
    a.add(as_->frame(at_.tile), x86::rcx);
  };
  a.test(flags, static_cast<int>(ContractionPlan::kResume));
  a.jz(fresh);
  a.mov(x86::rdx, as_->frame(at_.tile));
  move_tile_registers(tall, vecs, x86::ptr(x86::rdx), false);
  a.jmp(begin);
  a.bind(fresh);
  for (int i = 0; i < tall; ++i)
    for (int v = 0; v < vecs; ++v) a.emit(Id::kIdTilezero, tmm(2 * i + v));
  a.bind(begin);
  multiply_tile_registers(tall, vecs);
  a.test(flags, static_cast<int>(ContractionPlan::kSuspend));
  a.jz(complete);
  a.mov(x86::rdx, as_->frame(at_.tile));
  move_tile_registers(tall, vecs, x86::ptr(x86::rdx), true);
  next_tile();
  a.jmp(done);
  a.bind(complete);
  move_tile_registers(tall, vecs, as_->frame(at_.spilled), true);
  a.imul(x86::rcx, as_->frame(at_.rows), pitch);
  a.mov(as_->frame(at_.spilled_bytes), x86::rcx);
  call_shared_epilogue();
  a.test(flags, static_cast<int>(ContractionPlan::kResume));
  a.jz(done);
  next_tile();
  a.bind(done);
}

/// Moves the accumulators, whose rows lie one after the other from `at` on.
void ContractionWriter::move_tile_registers(int tall, int vecs, const x86::Mem& at, bool to_memory) {
  x86::Assembler& a = as_->a;
  const int bytes = as_->bytes_of(contract_type());
  a.mov(x86::ecx, vecs * bytes);
  for (int i = 0; i < tall; ++i)
    for (int v = 0; v < vecs; ++v) {
      x86::Mem m = at.cloneAdjusted((i * kTileRows * vecs + v) * bytes);
      m.setIndex(x86::rcx);
      if (to_memory) a.emit(Id::kIdTilestored, m, tmm(2 * i + v));
      else a.emit(Id::kIdTileloadd, tmm(2 * i + v), m);
    }
}

/// Runs the sequential axis. Registers: rax lanes left; r8, r10 the left side's two tiles, r9, r11 its
/// distance between rows and between tiles; r12 the right side, r13, r14 its distance between lanes and
/// between tiles.
void ContractionWriter::multiply_tile_registers(int tall, int vecs) {
  x86::Assembler& a = as_->a;
  const ContractionForm& f = *contraction_;
  const bool left_signed = f.left.from == DType::int8, right_signed = f.right.from == DType::int8;
  const auto multiply = f.lane == ContractionLane::halves ? Id::kIdTdpbf16ps
                        : left_signed                     ? (right_signed ? Id::kIdTdpbssd : Id::kIdTdpbsud)
                        : right_signed                    ? Id::kIdTdpbusd
                                                          : Id::kIdTdpbuud;
  const Label loop = a.newLabel(), done = a.newLabel();
  a.mov(x86::r8, as_->frame(at_.left_now));
  a.mov(x86::r9, as_->frame(at_.tile_row));
  a.mov(x86::r11, as_->frame(at_.tile_step));
  if (tall > 1) {
    a.mov(x86::r10, x86::r9);
    a.shl(x86::r10, 4);
    a.add(x86::r10, x86::r8);
  }
  a.mov(x86::r12, as_->frame(at_.right));
  a.mov(x86::r13, as_->frame(at_.right_step));
  a.mov(x86::r14, x86::r13);
  a.shl(x86::r14, 4);
  a.mov(x86::rax, as_->frame(at_.steps));
  a.test(x86::rax, x86::rax);
  a.jle(done);
  a.align(asmjit::AlignMode::kCode, 32);
  a.bind(loop);
  for (int v = 0; v < vecs; ++v)
    a.emit(Id::kIdTileloadd, tmm(kRight + v),
           x86::ptr(x86::r12, x86::r13, 0, v * as_->bytes_of(contract_type())));
  for (int i = 0; i < tall; ++i) {
    // The left side passes, while the right side's part stays in the first-level cache.
    a.emit(Id::kIdTileloaddt1, tmm(kLeft + i), x86::ptr(i ? x86::r10 : x86::r8, x86::r9, 0, 0));
    for (int v = 0; v < vecs; ++v) a.emit(multiply, tmm(2 * i + v), tmm(kLeft + i), tmm(kRight + v));
  }
  a.add(x86::r8, x86::r11);
  if (tall > 1) a.add(x86::r10, x86::r11);
  a.add(x86::r12, x86::r14);
  a.sub(x86::rax, static_cast<int>(ContractionForm::kTileSteps));
  a.jg(loop);
  a.bind(done);
}

}  // namespace lazy::cpu_backend
