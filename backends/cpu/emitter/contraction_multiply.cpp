// Writes the inner loop of contractions: a tile of rows by vectors, all of its accumulators in registers.
//
// Registers: rax steps left, r8 (and rbp, eight rows on) the left side, r9, r10, r11, rbx one, three, five
// and seven times its distance between rows; r12 the right side, r13, r14 one and three times its distance
// between steps. Accumulators are the highest vector registers.
#include "backends/cpu/emitter/contraction_writer.hpp"

namespace lazy::cpu_backend {
namespace Id = x86::Inst;

/// Runs the sequential axis.
void ContractionWriter::multiply_tile(int rows, int vecs, bool masked) {
  x86::Assembler& a = as_->a;
  const int element = as_->bytes_of(contract_type()) / lanes_;
  a.mov(x86::rax, as_->frame(at_.steps));
  a.mov(x86::r8, as_->frame(at_.left_now));
  if (rows > 1) a.mov(x86::r9, as_->frame(at_.left_row));
  if (rows > 3) a.lea(x86::r10, x86::ptr(x86::r9, x86::r9, 1));
  if (rows > 5) a.lea(x86::r11, x86::ptr(x86::r9, x86::r9, 2));
  if (rows > 7) a.lea(x86::rbx, x86::ptr(x86::r10, x86::r9, 2));
  if (rows > 8) a.lea(x86::rbp, x86::ptr(x86::r8, x86::r9, 3));
  a.mov(x86::r12, as_->frame(at_.right));
  a.mov(x86::r13, as_->frame(at_.right_step));
  a.lea(x86::r14, x86::ptr(x86::r13, x86::r13, 1));
  // Few columns take registers of half the width, of which a processor may do two at once.
  if (vecs == 1 && rows > 1 && masked && as_->avx512()) {
    const Label whole = a.newLabel(), done = a.newLabel();
    x86::Mem columns = as_->frame(full_.count);
    columns.setSize(4);
    a.cmp(columns, lanes_ / 2);
    a.jg(whole);
    multiply_steps(rows, vecs, masked, lanes_ * element / 2);
    a.jmp(done);
    a.bind(whole);
    multiply_steps(rows, vecs, masked, lanes_ * element);
    a.bind(done);
    return;
  }
  multiply_steps(rows, vecs, masked, lanes_ * element);
}

/// Writes all steps, in registers of `width` bytes, from where the pointers are.
void ContractionWriter::multiply_steps(int rows, int vecs, bool masked, int width) {
  x86::Assembler& a = as_->a;
  const int unroll = rows * vecs >= 16 ? 4 : 2, element = as_->bytes_of(contract_type()) / lanes_;
  const Label loop = a.newLabel(), rest = a.newLabel(), single = a.newLabel(), done = a.newLabel();
  const auto steps = [&](int n) {
    for (int s = 0; s < n; ++s) multiply_step(rows, vecs, masked, width, s);
    a.add(x86::r8, n * element);
    if (rows > 8) a.add(x86::rbp, n * element);
    if (n == 1) a.add(x86::r12, x86::r13);
    else a.lea(x86::r12, x86::ptr(x86::r12, x86::r13, n == 4 ? 2 : 1));
  };
  a.sub(x86::rax, unroll);
  a.jl(rest);
  a.align(asmjit::AlignMode::kCode, 32);
  a.bind(loop);
  steps(unroll);
  a.sub(x86::rax, unroll);
  a.jge(loop);
  a.bind(rest);
  a.add(x86::rax, unroll);
  a.jz(done);
  a.bind(single);
  steps(1);
  a.dec(x86::rax);
  a.jnz(single);
  a.bind(done);
}

/// Writes one step of the sequential axis, `step` after the one that the pointers are at.
void ContractionWriter::multiply_step(int rows, int vecs, bool masked, int bytes, int step) {
  x86::Assembler& a = as_->a;
  const int element = as_->bytes_of(contract_type()) / lanes_;
  const bool wide = element == 8;
  const auto right_at = [&](int v) {
    x86::Mem m = step == 0   ? x86::ptr(x86::r12, v * bytes)
                 : step == 3 ? x86::ptr(x86::r12, x86::r14, 0, v * bytes)
                             : x86::ptr(x86::r12, x86::r13, static_cast<uint32_t>(step - 1), v * bytes);
    return m;
  };
  const auto left_at = [&](int row) {
    const x86::Gp base = row < 8 ? x86::r8 : x86::rbp;
    const int d = step * element;
    switch (row & 7) {
      case 0: return x86::ptr(base, d);
      case 1: return x86::ptr(base, x86::r9, 0, d);
      case 2: return x86::ptr(base, x86::r9, 1, d);
      case 3: return x86::ptr(base, x86::r10, 0, d);
      case 4: return x86::ptr(base, x86::r9, 2, d);
      case 5: return x86::ptr(base, x86::r11, 0, d);
      case 6: return x86::ptr(base, x86::r10, 1, d);
      default: return x86::ptr(base, x86::rbx, 0, d);
    }
  };
  const auto load = [&](int v) {
    const x86::Vec r = as_->vec(v, bytes);
    if (masked && v == vecs - 1 && as_->avx512())
      a.k(x86::k1).z().emit(wide ? Id::kIdVmovupd : Id::kIdVmovups, r, right_at(v));
    else a.vmovups(r, right_at(v));
  };
  const int spare = rows > 1 ? vecs : 1;  // register after those of the right side
  if (rows > 1)
    for (int v = 0; v < vecs; ++v) load(v);
  const bool floats =
      contraction_->lane == ContractionLane::f32 || contraction_->lane == ContractionLane::f64;
  for (int row = 0; row < rows; ++row) {
    if (rows > 1 && vecs == 1 && floats && as_->avx512()) {  // each left element is needed once
      const x86::Mem left = Assembly::broadcast(left_at(row), bytes / element);
      multiply_add(as_->vec(tile_accumulator(row).id(), bytes), as_->vec(0, bytes), left);
      continue;
    }
    const x86::Vec left = as_->vec(spare + (registers() > 16 ? row % 2 : 0), bytes);
    if (wide) a.emit(bytes == 16 ? Id::kIdVmovddup : Id::kIdVbroadcastsd, left, left_at(row));
    else a.vbroadcastss(left, left_at(row));
    for (int v = 0; v < vecs; ++v) {
      const x86::Vec acc = as_->vec(tile_accumulator(row * vecs + v).id(), bytes);
      if (rows > 1) {
        multiply_add(acc, left, as_->vec(v, bytes));
      } else if (masked && v == vecs - 1 && as_->avx512()) {
        const x86::Vec r = as_->vec(0, bytes);
        a.k(x86::k1).z().emit(wide ? Id::kIdVmovupd : Id::kIdVmovups, r, right_at(v));
        multiply_add(acc, left, r);
      } else {
        multiply_add(acc, left, right_at(v));
      }
    }
  }
}

void ContractionWriter::multiply_add(const x86::Vec& acc, const x86::Vec& left,
                                     const asmjit::Operand_& right) {
  x86::Assembler& a = as_->a;
  // An integer product goes after the right side's and the left side's registers.
  const auto product = [&] { return as_->vec(registers() > 16 ? 6 : 3, static_cast<int>(acc.size())); };
  switch (contraction_->lane) {
    case ContractionLane::f32: a.emit(Id::kIdVfmadd231ps, acc, left, right); return;
    case ContractionLane::f64: a.emit(Id::kIdVfmadd231pd, acc, left, right); return;
    case ContractionLane::i32: a.emit(Id::kIdVpmulld, product(), left, right); break;
    case ContractionLane::quads: a.emit(Id::kIdVpdpbusd, acc, left, right); return;
    case ContractionLane::halves: a.emit(Id::kIdVdpbf16ps, acc, left, right); return;
    case ContractionLane::pairs:
      if (as_->avx512() && has_vnni()) {
        a.emit(Id::kIdVpdpwssd, acc, left, right);
        return;
      }
      a.emit(Id::kIdVpmaddwd, product(), left, right);
      break;
  }
  a.emit(Id::kIdVpaddd, acc, acc, product());
}

}  // namespace lazy::cpu_backend
