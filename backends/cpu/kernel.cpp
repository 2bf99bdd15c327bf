#include "backends/cpu/kernel.hpp"

#include <optional>

#include "backends/cpu/code_memory.hpp"
#include "backends/cpu/contract.hpp"
#include "backends/cpu/disassemble.hpp"
#include "backends/cpu/emitter/helpers.hpp"
#include "backends/cpu/emitter/kernel_writer.hpp"
#include "backends/cpu/parallel.hpp"

namespace lazy::cpu {
namespace {

std::string describe(const Schedule& s, const Partition& p) {
  std::string r = std::string(name_of(s.isa)) + ", " + std::to_string(s.lanes) + " lanes, " +
                  std::to_string(s.vectors) + " vectors";
  if (s.rows > 1) r += " x " + std::to_string(s.rows) + " rows";
  if (s.steps > 1) r += ", " + std::to_string(s.steps) + " steps";
  r += ", " + std::to_string(s.instructions) + " vector instructions, " + std::to_string(s.spills) +
       " spills, frame " + std::to_string(s.frame_bytes) + " B";
  return r + ", " + p.describe();
}

class CpuKernel final : public jit::Kernel {
 public:
  CpuKernel(const jit::loop::LoopKernel& k, Isa isa) : partition_(k) {
    KernelWriter writer(k, isa);
    writer.write();
    schedule_ = writer.schedule();
    partition_.set_cost(schedule_.instructions, schedule_.lanes);
    if (writer.contraction()) contraction_.emplace(k, *writer.contraction());
    code_ = publish(writer, k.name);
  }
  void launch(uint64_t* args) const override {
    args[jit::loop::ArgLayout::kContext] = reinterpret_cast<uint64_t>(kHelpers);
    args[jit::loop::ArgLayout::kScratch] = 0;
    if (contraction_) return contraction_->run(partition_, code_.entry(), args, thread_count());
    const bool here = partition_.runs_inline(args);
    if (schedule_.streams && partition_.streams(args)) args[jit::loop::ArgLayout::kScratch] = kStream;
    if (here) return code_.entry()(args);
    partition_.run(code_.entry(), args);
  }
  void launch_here(uint64_t* args) const override {
    args[jit::loop::ArgLayout::kContext] = reinterpret_cast<uint64_t>(kHelpers);
    args[jit::loop::ArgLayout::kScratch] = 0;
    if (contraction_) return contraction_->run(partition_, code_.entry(), args, 1);
    if (schedule_.streams) args[jit::loop::ArgLayout::kScratch] = args[jit::loop::ArgLayout::kPlanned];
    code_.entry()(args);
  }
  void plan_parts(uint64_t* args) const override {
    if (schedule_.streams && partition_.streams(args)) args[jit::loop::ArgLayout::kPlanned] = kStreamUnfenced;
  }
  double nanoseconds() const override { return partition_.nanoseconds(); }
  size_t code_bytes() const override { return code_.size(); }
  std::string schedule() const override { return describe(schedule_, partition_); }
  std::string disassembly() const override {
    return disassemble(reinterpret_cast<const void*>(code_.entry()), code_.size());
  }

 private:
  Schedule schedule_;
  Partition partition_;
  std::optional<Contraction> contraction_;
  Code code_;
};

}  // namespace

std::unique_ptr<jit::Kernel> compile_kernel(const jit::loop::LoopKernel& k, Isa isa) {
  return std::make_unique<CpuKernel>(k, isa);
}

}  // namespace lazy::cpu
