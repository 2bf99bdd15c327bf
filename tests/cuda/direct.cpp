#include "tests/cuda/direct.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "backends/cuda/api/driver.hpp"
#include "backends/cuda/api/nvrtc.hpp"
#include "backends/cuda/emitter/module.hpp"
#include "tests/cuda/emulated.hpp"

namespace lazy::test {
namespace api = cuda_backend::api;
using api::kSuccess;
using api::Result;

struct Nvrtc::Functions : api::Nvrtc {};

std::unique_ptr<Nvrtc> Nvrtc::open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  auto f = std::make_shared<Functions>();
  bool all = true;
  const auto find = [&](auto& field, const char* symbol) {
    field = reinterpret_cast<std::decay_t<decltype(field)>>(dlsym(library, symbol));
    all = all && field;
  };
#define LAZY_NVRTC(field, symbol, ...) find(f->field, #symbol);
#include "backends/cuda/api/nvrtc.def"
  if (!all) return nullptr;
  auto n = std::make_unique<Nvrtc>();
  n->f_ = f;
  return n;
}

Compiled Nvrtc::compile(const std::string& text, const std::string& arch) const {
  Compiled c;
  api::NvrtcProgram program = nullptr;
  if (f_->create(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != kSuccess) return c;
  const std::string arch_option = "-arch=" + arch;
  const char* options[] = {arch_option.c_str(), "--minimal",   "--modify-stack-limit=false",
                           "-Xptxas=-v",        "-fmad=false", "--std=c++17",
                           "-default-device"};
  c.ok = f_->compile(program, static_cast<int>(std::size(options)), options) == kSuccess;
  size_t bytes = 0;
  if (f_->log_size(program, &bytes) == kSuccess && bytes > 1) {
    c.log.resize(bytes);
    f_->log(program, c.log.data());
    c.log.resize(bytes - 1);
  }
  if (c.ok && f_->cubin_size(program, &bytes) == kSuccess) {
    c.image.resize(bytes);
    f_->cubin(program, c.image.data());
  }
  f_->destroy(&program);
  return c;
}

const Nvrtc* real_nvrtc() {
  static const std::unique_ptr<Nvrtc> nvrtc = [] {
    std::vector<std::string> places = {"libnvrtc.so.13", "libnvrtc.so.12",
                                       "/usr/local/cuda/lib64/libnvrtc.so"};
    if (const char* path = std::getenv("LAZY_TEST_NVRTC")) places = {path};
    std::unique_ptr<Nvrtc> n;
    for (const std::string& p : places)
      if (!n) n = Nvrtc::open(p);
    return n;
  }();
  return nvrtc.get();
}

namespace {

void require(Result r, const char* what) {
  if (r != kSuccess) throw std::runtime_error(std::string(what) + " gives " + std::to_string(r));
}

/// The emulated device's driver, with a context made current and one stream.
struct Emulated {
  api::Driver driver;
  std::unique_ptr<Nvrtc> nvrtc;
  api::Stream stream = nullptr;

  Emulated() {
    setenv("EMULATED_CUDA_ASYNC", "0", 0);
    setenv("EMULATED_CUDA_HOST_POINTERS", "1", 0);  // the trials' memory is the host's
    void* library = dlopen(emulated_cuda_path(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    using Find = Result (*)(const char*, void**, int version, uint64_t flags, int* status);
    const auto find = reinterpret_cast<Find>(dlsym(library, "cuGetProcAddress_v2"));
    void* f = nullptr;
#define LAZY_DRIVER(field, symbol, ...)                   \
  require(find(#symbol, &f, 12000, 0, nullptr), #symbol); \
  driver.field = reinterpret_cast<decltype(driver.field)>(f);
#include "backends/cuda/api/driver.def"
    nvrtc = Nvrtc::open(emulated_cuda_path());
    require(driver.init(0), "cuInit");
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
    const Compiled c = e.nvrtc->compile(text, "sm_90");
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
