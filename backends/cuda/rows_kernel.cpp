#include "backends/cuda/rows_kernel.hpp"

#include "backends/cuda/code.hpp"
#include "backends/cuda/emitter/attention_module.hpp"
#include "backends/cuda/emitter/rows_module.hpp"
#include "support/config.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::loop::ArgLayout;
using jit::loop::FusedRows;

/// Scheduled as rows or as an attention.
template <class Scheduled>
class RowsKernel final : public jit::Kernel {
 public:
  static constexpr bool kAttention = std::is_same_v<Scheduled, AttentionSchedule>;
  RowsKernel(const FusedRows& r, Scheduled schedule, Cubin cubin)
      : rows_(r),
        schedule_(std::move(schedule)),
        code_(schedule_.functions, std::move(cubin), r.members.back().kernel.at) {}
  bool takes(const uint64_t* args) const override {
    // An attention adds up in an order of its own.
    if (kAttention && config::get().cuda_sums.get() == config::Sums::ordered) return false;
    return schedule_.takes(args);
  }
  void launch(uint64_t* args) const override {
    auto& gpu = *reinterpret_cast<Gpu*>(args[ArgLayout::kContext]);
    const auto& last = schedule_.members.back();
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
  const Scheduled schedule_;
  const Code code_;
};

template <class Scheduled>
std::unique_ptr<jit::Kernel> compiled(const FusedRows& r, Scheduled schedule, int architecture,
                                      int driver_major) {
  Cubin cubin = compile(emit(r, schedule), schedule.functions.front(), architecture, driver_major);
  return std::make_unique<RowsKernel<Scheduled>>(r, std::move(schedule), std::move(cubin));
}

}  // namespace

std::unique_ptr<jit::Kernel> compile_rows_kernel(const FusedRows& r, int architecture, int driver_major) {
  if (auto attention = AttentionSchedule::of(r, architecture))
    return compiled(r, std::move(*attention), architecture, driver_major);
  return compiled(r, RowsSchedule::of(r), architecture, driver_major);
}

std::unique_ptr<jit::Kernel> load_rows_kernel(const FusedRows& r, std::string_view stored, int architecture) {
  Cubin cubin;
  if (!Code::from_stored(stored, cubin)) return nullptr;
  if (auto attention = AttentionSchedule::of(r, architecture))
    return std::make_unique<RowsKernel<AttentionSchedule>>(r, std::move(*attention), std::move(cubin));
  return std::make_unique<RowsKernel<RowsSchedule>>(r, RowsSchedule::of(r), std::move(cubin));
}

}  // namespace lazy::cuda_backend
