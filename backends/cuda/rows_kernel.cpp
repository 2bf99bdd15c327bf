#include "backends/cuda/rows_kernel.hpp"

#include "backends/cuda/code.hpp"
#include "backends/cuda/emitter/attention_module.hpp"
#include "backends/cuda/emitter/rows_module.hpp"
#include "backends/cuda/gpu.hpp"
#include "backends/cuda/side_by_side.hpp"
#include "support/archive.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::loop::ArgLayout;
using jit::loop::FusedRows;

/// Runs kernels scheduled as rows or as an attention; each function is a separate module.
template <class Scheduled>
class RowsKernel final : public jit::Kernel {
 public:
  static constexpr bool kAttention = std::is_same_v<Scheduled, AttentionSchedule>;
  RowsKernel(const FusedRows& r, Scheduled schedule, std::vector<Cubin> cubins)
      : rows_(r), schedule_(std::move(schedule)) {
    for (size_t f = 0; f < cubins.size(); ++f)
      codes_.push_back(std::make_unique<Code>(std::vector{schedule_.functions[f]}, std::move(cubins[f]),
                                              r.members.back().kernel.at));
  }
  bool takes(const uint64_t* args) const override {
    // An attention adds up in another order than the loop IR says.
    const auto& gpu = *reinterpret_cast<const Gpu*>(args[ArgLayout::kContext]);
    if (kAttention && sums_on(gpu) == config::Sums::ordered) return false;
    return schedule_.takes(args);
  }
  void launch(uint64_t* args) const override {
    auto& gpu = *reinterpret_cast<Gpu*>(args[ArgLayout::kContext]);
    const auto& last = schedule_.members.back();
    if (CudaLaunchCapture* r = CudaLaunchCapture::current(gpu)) r->note_plan(*this, 0);
    Launch l = schedule_.plan(args);
    const Code& code = *codes_[std::exchange(l.function, uint16_t{0})];
    code.launch(gpu, {l}, args, static_cast<size_t>(last.offset + last.args.words()),
                schedule_.args_in_memory);
  }
  size_t code_bytes() const override {
    size_t n = 0;
    for (const auto& c : codes_) n += c->bytes();
    return n;
  }
  std::string schedule() const override {
    std::string s = schedule_.text;
    for (const auto& c : codes_) s += c->use();
    return s;
  }
  const char* listing() const override { return "cu"; }
  std::string disassembly() const override {
    std::string s;
    for (size_t f = 0; f < codes_.size(); ++f)
      s += (f ? "\n// ---- another module ----\n" : "") + emit(rows_, schedule_, f) + codes_[f]->log();
    return s;
  }
  std::string stored() const override {
    std::vector<std::string> all;
    for (const auto& c : codes_) all.push_back(c->stored());
    Saver s;
    s(all);
    return s.take();
  }

 private:
  const FusedRows rows_;
  const Scheduled schedule_;
  std::vector<std::unique_ptr<Code>> codes_;
};

template <class Scheduled>
std::unique_ptr<jit::Kernel> compiled(const FusedRows& r, Scheduled schedule, int architecture,
                                      int driver_major) {
  std::vector<Cubin> cubins(schedule.functions.size());
  side_by_side(static_cast<int64_t>(cubins.size()), [&](int64_t i) {
    const auto f = static_cast<size_t>(i);
    cubins[f] = compile(emit(r, schedule, f), schedule.functions[f], architecture, driver_major);
  });
  return std::make_unique<RowsKernel<Scheduled>>(r, std::move(schedule), std::move(cubins));
}

template <class Scheduled>
std::unique_ptr<jit::Kernel> loaded(const FusedRows& r, Scheduled schedule, std::string_view stored) {
  Loader l(stored);
  std::vector<std::string> all;
  l(all);
  if (!l.done() || all.size() != schedule.functions.size()) return nullptr;
  std::vector<Cubin> cubins(all.size());
  for (size_t f = 0; f < all.size(); ++f)
    if (!Code::from_stored(all[f], cubins[f])) return nullptr;
  return std::make_unique<RowsKernel<Scheduled>>(r, std::move(schedule), std::move(cubins));
}

}  // namespace

std::unique_ptr<jit::Kernel> compile_rows_kernel(const FusedRows& r, int architecture, int driver_major) {
  if (auto attention = AttentionSchedule::of(r, architecture))
    return compiled(r, std::move(*attention), architecture, driver_major);
  return compiled(r, RowsSchedule::of(r), architecture, driver_major);
}

std::unique_ptr<jit::Kernel> load_rows_kernel(const FusedRows& r, std::string_view stored, int architecture) {
  if (auto attention = AttentionSchedule::of(r, architecture))
    return loaded(r, std::move(*attention), stored);
  return loaded(r, RowsSchedule::of(r), stored);
}

}  // namespace lazy::cuda_backend
