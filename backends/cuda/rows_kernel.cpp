#include "backends/cuda/rows_kernel.hpp"

#include "backends/cuda/code.hpp"
#include "backends/cuda/emitter/rows_module.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::loop::ArgLayout;
using jit::loop::FusedRows;

class RowsKernel final : public jit::Kernel {
 public:
  RowsKernel(const FusedRows& r, RowsSchedule schedule, Cubin cubin)
      : rows_(r),
        schedule_(std::move(schedule)),
        code_({schedule_.function}, std::move(cubin), r.members.back().kernel.at) {}
  bool takes(const uint64_t* args) const override { return schedule_.takes(args); }
  void launch(uint64_t* args) const override {
    auto& gpu = *reinterpret_cast<Gpu*>(args[ArgLayout::kContext]);
    const RowsSchedule::Member& last = schedule_.members.back();
    if (Recording* r = Recording::current(gpu)) r->note_plan(*this, 0);
    code_.launch(gpu, {schedule_.plan(args)}, args, static_cast<size_t>(last.offset + last.args.words()),
                 schedule_.args_in_memory);
  }
  size_t code_bytes() const override { return code_.bytes(); }
  std::string schedule() const override { return schedule_.text + code_.use(); }
  const char* listing() const override { return "cu"; }
  std::string disassembly() const override { return emit(rows_, schedule_) + code_.log(); }
  std::string stored() const override { return code_.stored(); }

 private:
  const FusedRows rows_;
  const RowsSchedule schedule_;
  const Code code_;
};

}  // namespace

std::unique_ptr<jit::Kernel> compile_rows_kernel(const FusedRows& r, int architecture, int driver_major) {
  RowsSchedule schedule = RowsSchedule::of(r);
  Cubin cubin = compile(emit(r, schedule), schedule.function, architecture, driver_major);
  return std::make_unique<RowsKernel>(r, std::move(schedule), std::move(cubin));
}

std::unique_ptr<jit::Kernel> load_rows_kernel(const FusedRows& r, std::string_view stored) {
  Cubin cubin;
  if (!Code::from_stored(stored, cubin)) return nullptr;
  return std::make_unique<RowsKernel>(r, RowsSchedule::of(r), std::move(cubin));
}

}  // namespace lazy::cuda_backend
