#include "backends/cpu/backend.hpp"

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/debug/disassemble.hpp"
#include "backends/cpu/kernel.hpp"
#include "backends/cpu/memory/allocator.hpp"
#include "backends/cpu/threads/machine.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "backends/reference/backend.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/profile.hpp"

namespace lazy::cpu_backend {
namespace {

class CpuBackend final : public jit::Backend {
 public:
  explicit CpuBackend(Isa isa) : isa_(isa) {
    if (isa > best_isa()) throw DeviceError(std::string("this machine has no ") + name_of(isa));
    if (isa == Isa::reference) reference_ = reference::make_backend();
  }
  const char* name() const override {  // the level is part of a kernel's identity
    constexpr const char* names[] = {"cpu-reference", "cpu-avx2", "cpu-avx512", "cpu-avx512_bf16", "cpu-amx"};
    return names[static_cast<int>(isa_)];
  }
  std::unique_ptr<jit::Kernel> compile(const jit::loop::LoopKernel& k) override {
    if (reference_) return reference_->compile(k);
    return compile_kernel(k, isa_);
  }
  std::string target() const override {
    if (reference_) return {};
    return std::string(name()) + (has_vnni() ? "+vnni" : "") + "+l2=" + std::to_string(caches().l2 >> 10) +
           "K";
  }
  std::unique_ptr<jit::Kernel> load(const jit::loop::LoopKernel& k, std::string_view stored) override {
    return reference_ ? nullptr : load_kernel(k, isa_, stored);
  }
  std::unique_ptr<jit::CallKernel> make_call(const jit::CallSpec& spec) override {
    return reference_ ? nullptr : cpu_backend::make_call(spec, isa_);
  }
  void* allocate(size_t bytes) override { return cpu_backend::allocate(bytes); }
  void deallocate(void* p, size_t bytes) noexcept override { cpu_backend::deallocate(p, bytes); }
  size_t release_memory() override { return release_kept_memory(); }
  jit::Workers workers() const override {
    return {thread_count(), caches().l1d, caches().l2, false, usable_processors()};
  }
  double least_ns(double bytes, double flops, uint32_t parts) const override {
    return least_time(bytes, flops, std::clamp(static_cast<int>(parts), 1, thread_count()));
  }
  void for_each(int64_t pieces, const std::function<void(int64_t)>& task) override {
    cpu_backend::for_each(pieces, task);
  }

 private:
  const Isa isa_;
  std::unique_ptr<jit::Backend> reference_;
};

}  // namespace

std::unique_ptr<jit::Backend> make_backend(Isa isa) { return std::make_unique<CpuBackend>(isa); }

std::unique_ptr<jit::Backend> make_backend() {
  profile::at_start(record_machine);
  switch (config::get().cpu_isa.get()) {
    case config::CpuIsa::amx: return make_backend(isa_from("amx"));
    case config::CpuIsa::avx512: return make_backend(isa_from("avx512"));
    case config::CpuIsa::avx2: return make_backend(isa_from("avx2"));
    case config::CpuIsa::reference: return make_backend(Isa::reference);
    default: return make_backend(best_isa());
  }
}

}  // namespace lazy::cpu_backend
