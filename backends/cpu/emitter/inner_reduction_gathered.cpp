// Writes reductions along the vector axis whose epilogue is long: results of rows wait on the frame until
// there are as many as a vector has lanes. An epilogue of one lane would cost what that of all of them does.
#include "backends/cpu/emitter/inner_reduction_writer.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr size_t kLongEpilogue = 16;  // vector instructions

}  // namespace

/// True if rows have one result each, in a register, that the epilogue can take side by side, and the
/// epilogue is long.
bool InnerReductionWriter::suits_gathering() const {
  return inner_ && as_->avx512() && !outer_.empty() && red_->acc.size() == 1 && red_->unroll > 0 &&
         as_->variables[red_->acc[0].folded[0]].reg >= 0 && epilogue_.code.size() > kLongEpilogue &&
         suits_one_epilogue();
}

/// Writes a jump to `to` where too few rows are left to fill a vector, and none waits.
void InnerReductionWriter::jump_unless_gathering(const Label& to) {
  x86::Assembler& a = as_->a;
  const int axis = outer_.back();
  const Label gathering = a.newLabel();
  a.cmp(qword(as_->frame(waiting_)), 0);
  a.jne(gathering);
  a.mov(x86::rcx, as_->arg(as_->args.extent(axis)));
  a.sub(x86::rcx, as_->frame(counters_[static_cast<size_t>(axis)]));
  a.cmp(x86::rcx, lanes_);
  a.jl(to);
  a.bind(gathering);
}

/// Puts the results of one row or of kRows behind those that wait: they all move down, so that the first is
/// in the first lane once there are as many as lanes. What waits is stored and loaded as a whole, which the
/// processor forwards.
void InnerReductionWriter::gather(int rows) {
  x86::Assembler& a = as_->a;
  const AccumulatorPlaces& p = red_->acc[0];
  const x86::Vec all = as_->vec(static_cast<uint32_t>(as_->variables[p.folded[0]].reg), 64);
  a.emit(vir::is64(p.info.type) ? x86::Inst::kIdValignq : x86::Inst::kIdValignd, all, all,
         as_->frame(gathered_), rows);
  a.vmovups(as_->frame(gathered_), all);
  a.add(qword(as_->frame(waiting_)), rows);
}

/// Writes the epilogue of all rows that wait, once they fill a vector; the index is that of the last one.
void InnerReductionWriter::gathered_epilogue() {
  x86::Assembler& a = as_->a;
  const Label more = a.newLabel();
  a.cmp(qword(as_->frame(waiting_)), lanes_);
  a.jl(more);
  a.mov(qword(as_->frame(waiting_)), 0);
  skip_indices(1 - lanes_);
  one_epilogue(lanes_);
  a.bind(more);
}

}  // namespace lazy::cpu_backend
