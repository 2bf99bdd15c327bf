#include "tests/backends/cuda/direct.hpp"

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "backends/cuda/api/driver.hpp"
#include "backends/cuda/api/library.hpp"
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

// The backend needs a compiler that is no newer than the driver; any may be the real one. Each stays loaded
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

/// Opens the emulated device, with a context made current and one stream.
struct Emulated {
  const api::Driver& driver = [&]() -> const api::Driver& {
    setenv("EMULATED_CUDA_ASYNC", "0", 0);
    setenv("EMULATED_CUDA_HOST_POINTERS", "1", 0);  // the trials' memory is host memory
    return api::driver();                           // from LAZY_CUDA_PATH
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

/// Unloads a library, by the tests' own rows: the backend never unloads.
Result unload(api::Library library) {
  using Unload = Result (*)(api::Library);
  static const Unload f = [] {
    using Get = Result (*)(const char*, void**, int, unsigned long long, int*);
    Get get = nullptr;
    api::SharedLibrary("CUDA driver", {"libcuda.so.1"}).bind(get, "cuGetProcAddress_v2");
    void* found = nullptr;
    require(get("cuLibraryUnload", &found, 12000, 0, nullptr), "cuGetProcAddress_v2");
    return reinterpret_cast<Unload>(found);
  }();
  return f(library);
}

/// Holds a loaded module.
class Module {
 public:
  explicit Module(const std::string& text) : driver_(emulated().driver) {
    const Compiled c = compiled(text, 90, kEmulated);
    if (!c.ok) throw std::runtime_error("does not compile: " + c.log + "\n" + text);
    require(
        emulated().driver.library_load(&library_, c.image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData");
  }
  Module(const Module&) = delete;
  ~Module() { unload(library_); }
  void launch(const char* function, unsigned blocks, unsigned threads, unsigned shared_bytes,
              void* args) const {
    api::CudaKernel kernel = nullptr;
    require(driver_.library_kernel(&kernel, library_, function), "cuLibraryGetKernel");
    const auto f = reinterpret_cast<api::Function>(kernel);  // the handle that cuLaunchKernel takes
    void* params[] = {args};
    require(driver_.launch(f, blocks, 1, 1, threads, 1, 1, shared_bytes, emulated().stream, params, nullptr),
            "cuLaunchKernel");
    require(driver_.stream_synchronize(emulated().stream), "cuStreamSynchronize");
  }

 private:
  const api::Driver& driver_;
  api::Library library_ = nullptr;
};

/// Returns a schedule that has only some of its functions.
cuda_backend::Schedule schedule_of(const jit::loop::LoopKernel& k, size_t functions) {
  cuda_backend::Schedule s = cuda_backend::Schedule::of(k);
  if (s.functions.size() > functions) s.functions.resize(functions);
  return s;
}

class DirectKernel final : public jit::Kernel {
 public:
  DirectKernel(const jit::loop::LoopKernel& k, size_t functions, int tensor_cores)
      : tensor_cores_(tensor_cores),
        schedule_(schedule_of(k, functions)),
        module_(cuda_backend::emit(k, schedule_)) {}

  void launch(uint64_t* args) const override {
    std::vector<cuda_backend::Launch> launches;
    size_t scratch = 0;
    schedule_.plan(args, launches, scratch, tensor_cores_);
    // Scratch memory has garbage: nothing may rely on its contents.
    std::vector<uint64_t> memory(scratch / 8, 0xa5a5a5a5a5a5a5a5u);
    args[jit::loop::ArgLayout::kScratch] = reinterpret_cast<uint64_t>(memory.data());
    for (const cuda_backend::Launch& l : launches)
      module_.launch(schedule_.functions[l.function].c_str(), l.blocks, l.threads, l.shared_bytes,
                     schedule_.args_in_memory ? static_cast<void*>(&args) : args);
  }

 private:
  const int tensor_cores_;
  const cuda_backend::Schedule schedule_;
  const Module module_;
};

}  // namespace

std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel& k) {
  return on_emulated_device(k, ~size_t{0});
}
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel& k, size_t functions) {
  return std::make_unique<DirectKernel>(k, functions, 0);
}
std::unique_ptr<jit::Kernel> with_tensor_cores(const jit::loop::LoopKernel& k, int multiprocessors) {
  return std::make_unique<DirectKernel>(k, ~size_t{0}, multiprocessors);
}

void run_on_emulated_device(const std::string& text, const char* function, unsigned blocks, unsigned threads,
                            void* args) {
  Module(text).launch(function, blocks, threads, 0, args);
}

}  // namespace lazy::test
