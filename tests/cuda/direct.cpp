#include "tests/cuda/direct.hpp"

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "backends/cuda/api/driver.hpp"
#include "backends/cuda/api/nvrtc.hpp"
#include "backends/cuda/compile.hpp"
#include "backends/cuda/emitter/module.hpp"
#include "support/config.hpp"
#include "support/error.hpp"

namespace lazy::test {
namespace api = cuda_backend::api;
using api::kSuccess;
using api::Result;

namespace {

// The backend asks for a compiler that is no newer than the driver; any may be the real one. Each is kept
// from then on.
constexpr int kEmulated = 13, kReal = 0;

Compiled compiled(const std::string& text, int architecture, int which) {
  try {
    cuda_backend::Cubin c = cuda_backend::compile(text, "kernel", architecture, which);
    return {true, std::move(c.bytes), std::move(c.log)};
  } catch (const CompileError& e) { return {false, {}, e.what()}; }
}

}  // namespace

const std::string& no_real_nvrtc() {
  static const std::string why = [] {
    const char* const before = std::getenv("LAZY_CUDA_PATH");
    const std::string kept = before ? before : "";
    unsetenv("LAZY_CUDA_PATH");
    config::reload_environment();
    std::string text;
    try {
      (void)api::nvrtc(kReal);
    } catch (const DeviceError& e) { text = e.what(); }
    if (before) setenv("LAZY_CUDA_PATH", kept.c_str(), 1);
    config::reload_environment();
    return text;
  }();
  return why;
}
Compiled with_real_nvrtc(const std::string& text, int architecture) {
  return compiled(text, architecture, kReal);
}

namespace {

void require(Result r, const char* what) {
  if (r != kSuccess) throw std::runtime_error(std::string(what) + " gives " + std::to_string(r));
}

/// The emulated device, with a context made current and one stream.
struct Emulated {
  const api::Driver& driver = [&]() -> const api::Driver& {
    setenv("EMULATED_CUDA_ASYNC", "0", 0);
    setenv("EMULATED_CUDA_HOST_POINTERS", "1", 0);  // the trials' memory is the host's
    return api::driver();                           // of LAZY_CUDA_PATH
  }();
  api::Stream stream = nullptr;

  Emulated() {
    api::Context context = nullptr;
    require(driver.primary_context_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    require(driver.context_set(context), "cuCtxSetCurrent");
    require(driver.stream_create(&stream, api::kStreamNonBlocking), "cuStreamCreate");
  }
};
Emulated& emulated() {
  static Emulated& e = *new Emulated;
  return e;
}

class DirectKernel final : public jit::Kernel {
 public:
  DirectKernel(const jit::loop::LoopKernel& k, size_t functions) : schedule_(cuda_backend::Schedule::of(k)) {
    if (schedule_.functions.size() > functions) schedule_.functions.resize(functions);
    const std::string text = cuda_backend::emit(k, schedule_);
    Emulated& e = emulated();
    const Compiled c = compiled(text, 90, kEmulated);
    if (!c.ok) throw std::runtime_error("does not compile: " + c.log + "\n" + text);
    require(e.driver.library_load(&library_, c.image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "cuLibraryLoadData");
    kernels_.resize(schedule_.functions.size());
    for (size_t i = 0; i < kernels_.size(); ++i)
      require(e.driver.library_kernel(&kernels_[i], library_, schedule_.functions[i].c_str()),
              "cuLibraryGetKernel");
  }
  ~DirectKernel() override { emulated().driver.library_unload(library_); }

  void launch(uint64_t* args) const override {
    Emulated& e = emulated();
    std::vector<cuda_backend::Launch> launches;
    size_t scratch = 0;
    schedule_.plan(args, launches, scratch);
    // Garbage: nothing may rely on what it holds.
    std::vector<uint64_t> memory(scratch / 8, 0xa5a5a5a5a5a5a5a5u);
    args[jit::loop::ArgLayout::kScratch] = reinterpret_cast<uint64_t>(memory.data());
    for (const cuda_backend::Launch& l : launches) {
      void* params[] = {args};
      if (schedule_.args_in_memory) params[0] = &args;
      api::Function f = nullptr;
      require(e.driver.kernel_function(&f, kernels_[l.function]), "cuKernelGetFunction");
      require(e.driver.launch(f, l.blocks, 1, 1, l.threads, 1, 1, l.shared_bytes, e.stream, params, nullptr),
              "cuLaunchKernel");
    }
    require(e.driver.stream_synchronize(e.stream), "cuStreamSynchronize");
  }

 private:
  cuda_backend::Schedule schedule_;
  api::Library library_ = nullptr;
  std::vector<api::CudaKernel> kernels_;
};

}  // namespace

std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel& k) {
  return on_emulated_device(k, ~size_t{0});
}
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel& k, size_t functions) {
  return std::make_unique<DirectKernel>(k, functions);
}

}  // namespace lazy::test
