#include "backends/cpu/kernel.hpp"

#include <optional>

#include "backends/cpu/code_memory.hpp"
#include "backends/cpu/debug/disassemble.hpp"
#include "backends/cpu/emitter/call_table.hpp"
#include "backends/cpu/emitter/kernel_writer.hpp"
#include "backends/cpu/emitter/split.hpp"
#include "backends/cpu/memory/spare.hpp"
#include "backends/cpu/products/contract.hpp"
#include "backends/cpu/scatter/scatter.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "support/archive.hpp"

namespace lazy::cpu_backend {

template <class A>
void fields(A& a, Schedule& s) {
  a(s.isa, s.lanes, s.vectors, s.rows, s.steps, s.spills, s.frame_bytes, s.instructions, s.epilogue,
    s.epilogue_rows, s.streams);
}
template <class A>
void fields(A& a, ContractionSide& s) {
  a(s.operand, s.from);
}
template <class A>
void fields(A& a, ContractionForm& f) {
  a(f.left, f.right, f.lane, f.row_axis, f.lanes, f.vectors, f.rows, f.narrow, f.masks, f.tiles);
}

namespace {

std::string describe(const Schedule& s, const Partition& p) {
  std::string r = std::string(name_of(s.isa)) + ", " + std::to_string(s.lanes) + " lanes, " +
                  std::to_string(s.vectors) + " vectors";
  if (s.rows > 1) r += " x " + std::to_string(s.rows) + " rows";
  if (s.steps > 1) r += ", " + std::to_string(s.steps) + " steps";
  if (s.epilogue_rows > 1) r += ", an epilogue for " + std::to_string(s.epilogue_rows) + " rows";
  r += ", " + std::to_string(s.instructions + s.epilogue) + " vector instructions, " +
       std::to_string(s.spills) + " spills, frame " + std::to_string(s.frame_bytes) + " B";
  return r + ", " + p.describe();
}

/// Holds what a kernel is besides its loop IR: the generated code, and what launches must know about it.
struct Built {
  Schedule schedule;
  std::optional<ContractionForm> contraction;
  Code code;
};

std::optional<Scatter> scatter_of(const jit::loop::LoopKernel& k) {
  if (k.form != jit::loop::Form::scatter) return {};
  return std::optional<Scatter>(std::in_place, k);
}

Built build(const jit::loop::LoopKernel& kernel, Isa isa) {
  const std::optional<Scatter> scatter = scatter_of(kernel);
  const jit::loop::LoopKernel& k = scatter ? scatter->parts() : kernel;
  const std::unique_ptr<KernelWriter> writer = KernelWriter::of(k, isa);
  writer->write();
  return {writer->schedule(), writer->contraction(), publish(*writer, k.name, k.at)};
}

bool sound(const Schedule& s, Isa isa) { return s.isa == isa && s.lanes > 0 && s.lanes <= 64; }

bool sound(const ContractionForm& f, const jit::loop::LoopKernel& k) {
  const auto operand = [&](int o) { return o >= 0 && o < static_cast<int>(k.operands.size()); };
  return operand(f.left.operand) && operand(f.right.operand) && static_cast<int>(f.left.from) < kDTypeCount &&
         static_cast<int>(f.right.from) < kDTypeCount && f.lane <= ContractionLane::halves &&
         f.row_axis >= -1 && f.row_axis < k.rank && k.sequential >= 0;
}

class CpuKernel final : public jit::Kernel {
 public:
  CpuKernel(const jit::loop::LoopKernel& k, Built built)
      : schedule_(built.schedule),
        form_(built.contraction),
        scatter_(scatter_of(k)),
        partition_(k),
        code_(std::move(built.code)) {
    spare::reserve();
    partition_.set_cost(schedule_.instructions, schedule_.epilogue, schedule_.lanes);
    if (form_) contraction_.emplace(k, *form_);
  }
  void launch(uint64_t* args) const override {
    args[jit::loop::ArgLayout::kContext] = reinterpret_cast<uint64_t>(kCalls);
    args[jit::loop::ArgLayout::kScratch] = args[jit::loop::ArgLayout::kScratch + 1] = 0;
    if (contraction_) return contraction_->run(partition_, code_.entry(), args, thread_count());
    const bool here = partition_.runs_inline(args);
    if (scatter_) return scatter_->run(partition_, code_.entry(), args, here ? 1 : thread_count());
    if (schedule_.streams && partition_.streams(args)) args[jit::loop::ArgLayout::kScratch] = kStream;
    if (here) return partition_.run_here(code_.entry(), args);
    partition_.run(code_.entry(), args);
  }
  void launch_here(uint64_t* args) const override {
    args[jit::loop::ArgLayout::kContext] = reinterpret_cast<uint64_t>(kCalls);
    args[jit::loop::ArgLayout::kScratch] = 0;
    args[jit::loop::ArgLayout::kScratch + 1] = kBlockOfMany;
    if (contraction_) return contraction_->run(partition_, code_.entry(), args, 1);
    if (scatter_) return scatter_->run(partition_, code_.entry(), args, 1);
    if (schedule_.streams) args[jit::loop::ArgLayout::kScratch] = args[jit::loop::ArgLayout::kPlanned];
    code_.entry()(args);
  }
  std::unique_ptr<jit::FoldedOperand> fold(const uint64_t* args, const jit::FoldedCopy& f) const override {
    const auto* const copy = dynamic_cast<const CpuKernel*>(f.copy);
    if (!contraction_ || !copy) return nullptr;
    return contraction_->fold(partition_, args, f.operand, copy->partition_, f.args);
  }
  void launch_folded(uint64_t* args, std::span<const std::unique_ptr<jit::FoldedOperand>> folded,
                     bool here) const override {
    args[jit::loop::ArgLayout::kContext] = reinterpret_cast<uint64_t>(kCalls);
    args[jit::loop::ArgLayout::kScratch] = args[jit::loop::ArgLayout::kScratch + 1] = 0;
    contraction_->run(partition_, code_.entry(), args, here ? 1 : thread_count(), folded);
  }
  int packs() const override { return contraction_ ? form_->right.operand : -1; }
  size_t packing(const uint64_t* args, std::vector<uint64_t>& form) const override {
    return contraction_->packing(partition_, args, form);
  }
  void pack(const uint64_t* args, void* to) const override {
    contraction_->pack(partition_, args, static_cast<char*>(to), thread_count());
  }
  void plan_parts(uint64_t* args) const override {
    if (!contraction_ && schedule_.streams && partition_.streams(args))
      args[jit::loop::ArgLayout::kPlanned] = kStreamUnfenced;
  }
  double nanoseconds() const override { return partition_.nanoseconds(); }
  size_t code_bytes() const override { return code_.size(); }
  void add_lines(Lines& lines) const override {
    lines.add(this, sizeof *this);
    lines.add(reinterpret_cast<const void*>(code_.entry()), std::min(code_.size(), kFirstCode));
  }
  std::string stored() const override {
    Saver s;
    s(schedule_, form_.has_value());
    if (form_) s(*form_);
    return s.take() += code_.bytes();
  }
  std::string schedule() const override { return describe(schedule_, partition_); }
  std::string disassembly() const override {
    return disassemble(reinterpret_cast<const void*>(code_.entry()), code_.size());
  }

 private:
  static constexpr size_t kFirstCode = 1024;  // bytes
  Schedule schedule_;
  std::optional<ContractionForm> form_;
  std::optional<Scatter> scatter_;
  Partition partition_;
  std::optional<Contraction> contraction_;
  Code code_;
};

}  // namespace

namespace {
/// Returns the level that a kernel is compiled for. A scan of a single line has work for one lane, and each
/// step waits for the one before: narrower vectors take fewer cycles. Functions keep the machine's level,
/// whose last bits they have, and so do 64-bit integers, for which AVX2 lacks instructions.
Isa level_for(const jit::loop::LoopKernel& k, Isa isa) {
  if (isa < Isa::avx512 || k.form != jit::loop::Form::scan) return isa;
  for (const jit::loop::Operand& o : k.operands)
    if (o.stride[k.rank - 1] != jit::loop::Stride::zero) return isa;
  for (const jit::loop::Instr& i : k.body)
    if (i.code == jit::loop::Code::op && jit::row_of(i.op).exactness != jit::Exactness::exact) return isa;
  for (const jit::loop::Reduction& r : k.reductions) {
    const bool adds = r.op == jit::Op::cumsum || (r.op == jit::Op::cumprod && is_float(r.type));
    if (size_of(r.type) == 8 && !adds) return isa;
  }
  return Isa::avx2;
}
}  // namespace

std::unique_ptr<jit::Kernel> compile_kernel(const jit::loop::LoopKernel& k, Isa isa) {
  isa = level_for(k, isa);
  return std::make_unique<CpuKernel>(k, build(k, isa));
}

std::unique_ptr<jit::Kernel> load_kernel(const jit::loop::LoopKernel& k, Isa isa, std::string_view stored) {
  isa = level_for(k, isa);
  Loader l(stored);
  Built built;
  bool contracts = false;
  l(built.schedule, contracts);
  if (contracts) l(built.contraction.emplace());
  if (!l.ok() || l.left() == 0 || !sound(built.schedule, isa) || (contracts && !sound(*built.contraction, k)))
    return nullptr;
  built.code = publish(l.raw(l.left()), k.name, k.at);
  return std::make_unique<CpuKernel>(k, std::move(built));
}

}  // namespace lazy::cpu_backend
