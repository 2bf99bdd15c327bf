#include "backends/reference/backend.hpp"

#include <new>

#include "backends/reference/kernel.hpp"

namespace lazy::reference {
namespace {

class ReferenceBackend final : public jit::Backend {
 public:
  const char* name() const override { return "reference"; }
  std::unique_ptr<jit::Kernel> compile(const jit::loop::LoopKernel& k) override {
    return std::make_unique<LoopsKernel>(k);
  }
  void* allocate(size_t bytes) override { return ::operator new(bytes, kAlignment); }
  void deallocate(void* p, size_t) noexcept override { ::operator delete(p, kAlignment); }

 private:
  static constexpr std::align_val_t kAlignment{64};
};

}  // namespace

std::unique_ptr<jit::Backend> make_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace lazy::reference
