// Offers all instruction sets of this machine in one process: a backend that passes kernels to the chosen
// one.
#pragma once
#include "backends/cpu/backend.hpp"
#include "backends/cpu/machine/features.hpp"
#include "jit/backend/registry.hpp"
#include "lazy/insight/insight.hpp"

class Isas final : public lazy::jit::Backend {
 public:
  /// Installs it as the process's main backend at the first call, for good: memory refers to the backend it
  /// came from.
  static Isas& instance() {
    static Isas* const all = [] {
      auto owned = std::make_unique<Isas>();
      Isas* p = owned.get();
      lazy::jit::backends().main.swap(p->first_);
      lazy::jit::backends().main = std::move(owned);
      return p;
    }();
    return *all;
  }
  Isas() {
    for (const auto isa :
         {lazy::cpu_backend::Isa::reference, lazy::cpu_backend::Isa::avx2, lazy::cpu_backend::Isa::avx512})
      if (isa <= lazy::cpu_backend::best_isa()) all_.push_back(lazy::cpu_backend::make_backend(isa));
  }
  /// Returns the number of instruction sets; 0 is the reference.
  int count() const { return static_cast<int>(all_.size()); }
  void use(int which) {
    if (which == current_) return;
    current_ = which;
    lazy::cache::clear();  // programs in memory have kernels of the set before
  }

  const char* name() const override { return now().name(); }
  std::unique_ptr<lazy::jit::Kernel> compile(const lazy::jit::loop::LoopKernel& k) override {
    return now().compile(k);
  }
  std::string target() const override { return now().target(); }
  std::unique_ptr<lazy::jit::Kernel> load(const lazy::jit::loop::LoopKernel& k,
                                          std::string_view stored) override {
    return now().load(k, stored);
  }
  void* allocate(size_t bytes) override { return all_[0]->allocate(bytes); }
  void deallocate(void* p, size_t bytes) noexcept override { all_[0]->deallocate(p, bytes); }
  lazy::jit::Workers workers() const override { return all_[1 % all_.size()]->workers(); }
  void for_each(int64_t pieces, const std::function<void(int64_t)>& task) override {
    all_[1 % all_.size()]->for_each(pieces, task);
  }

 private:
  lazy::jit::Backend& now() const { return *all_[static_cast<size_t>(current_)]; }
  std::vector<std::unique_ptr<lazy::jit::Backend>> all_;
  std::unique_ptr<lazy::jit::Backend> first_;
  int current_ = 0;
};
