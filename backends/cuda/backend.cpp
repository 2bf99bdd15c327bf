#include "backends/cuda/backend.hpp"

#include <mutex>

#include "backends/cuda/compile.hpp"
#include "backends/cuda/fft_call.hpp"
#include "backends/cuda/kernel.hpp"
#include "backends/cuda/nccl_carrier.hpp"
#include "backends/cuda/rows_kernel.hpp"
#include "backends/cuda/side_by_side.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"

namespace lazy::cuda_backend {
namespace {

/// Compiles for an architecture, whether a GPU is there or not.
class CrossCompiler : public jit::Backend {
 public:
  CrossCompiler(int architecture, int driver_major)
      : architecture_(architecture),
        driver_major_(driver_major),
        name_("cuda-sm_" + std::to_string(architecture)) {}
  const char* name() const override { return name_.c_str(); }
  Device device() const override { return {DeviceKind::cuda, 0}; }
  uint32_t code_class() const override { return static_cast<uint32_t>(architecture_); }
  std::unique_ptr<jit::Kernel> compile(const jit::loop::LoopKernel& k) override {
    return compile_kernel(k, architecture_, driver_major_);
  }
  bool fuses_rows() const override { return true; }
  std::unique_ptr<jit::Kernel> compile_rows(const jit::loop::FusedRows& r) override {
    return compile_rows_kernel(r, architecture_, driver_major_);
  }
  std::unique_ptr<jit::Kernel> load_rows(const jit::loop::FusedRows& r, std::string_view stored) override {
    return load_rows_kernel(r, stored, architecture_);
  }
  // Code for an architecture runs under any driver that knows it.
  std::string target() const override { return name_; }
  std::unique_ptr<jit::Kernel> load(const jit::loop::LoopKernel& k, std::string_view stored) override {
    return load_kernel(k, stored);
  }
  void* allocate(size_t) override { nothing_runs(); }
  void deallocate(void*, size_t) noexcept override {}
  void write(void*, const void*, size_t) override { nothing_runs(); }
  void read(void*, const void*, size_t) override { nothing_runs(); }
  void copy(void*, const void*, size_t) override { nothing_runs(); }
  // Blocks that stay in most of a second-level cache, and fill a large device.
  jit::Workers workers() const override { return {0, 0, size_t{32} << 20, true}; }
  bool compiles_slowly() const override { return true; }
  void for_each(int64_t pieces, const std::function<void(int64_t)>& task) override {
    side_by_side(pieces, task);
  }

 private:
  [[noreturn]] void nothing_runs() const {
    throw DeviceError(name_ + " is compiled for, but there is no such GPU");
  }
  const int architecture_, driver_major_;
  const std::string name_;
};

class GpuBackend final : public CrossCompiler {
 public:
  explicit GpuBackend(std::unique_ptr<Gpu> gpu)
      : CrossCompiler(gpu->architecture, gpu->driver.version / 1000), gpu_(std::move(gpu)) {}
  Device device() const override { return {DeviceKind::cuda, static_cast<uint8_t>(gpu_->ordinal)}; }
  uint64_t context() const override { return reinterpret_cast<uint64_t>(gpu_.get()); }
  std::unique_ptr<jit::CallKernel> make_call(const jit::CallSpec& spec) override {
    return make_fft_call(spec, *gpu_);
  }
  void* allocate(size_t bytes) override { return gpu_->allocator.allocate(bytes); }
  void deallocate(void* p, size_t bytes) noexcept override { gpu_->allocator.deallocate(p, bytes); }
  size_t release_memory() override {
    if (gpu_->generation != forks::generation()) return 0;  // a forked child has no claim to it
    return gpu_->allocator.release_kept() + gpu_->staging.release();
  }
  void write(void* to, const void* from, size_t bytes) override { gpu_->staging.write(to, from, bytes); }
  void read(void* to, const void* from, size_t bytes) override { gpu_->staging.read(to, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    gpu_->before_other_work();
    gpu_->enter();
    gpu_->check(gpu_->driver.copy(api::device_pointer(to), api::device_pointer(from), bytes, gpu_->stream),
                "cuMemcpyDtoDAsync");
  }
  /// The two streams wait for each other by events: the copy sees what was written before, and the source's
  /// memory is not written again before it was read.
  void copy_from(jit::Backend& source, void* to, const void* from, size_t bytes) override {
    Gpu& other = *reinterpret_cast<Gpu*>(source.context());
    if (bytes == 0) return;
    gpu_->before_other_work();
    other.before_other_work();
    const auto order = [](Gpu& first, Gpu& then) {
      api::Event event = nullptr;
      first.enter();
      first.check(first.driver.event_create(&event, api::kEventDisableTiming), "cuEventCreate");
      const api::Result recorded = first.driver.event_record(event, first.stream);
      then.enter();
      const api::Result waited = recorded ? recorded : then.driver.stream_wait_event(then.stream, event, 0);
      first.enter();
      first.check(first.driver.event_destroy(event), "cuEventDestroy");  // once it has happened
      then.check(waited, "cuStreamWaitEvent");
    };
    order(other, *gpu_);
    gpu_->enter();
    gpu_->check(gpu_->driver.copy_peer(api::device_pointer(to), gpu_->context, api::device_pointer(from),
                                       other.context, bytes, gpu_->stream),
                "cuMemcpyPeerAsync");
    order(*gpu_, other);
  }
  void synchronize() override { gpu_->synchronize(); }
  std::unique_ptr<jit::LaunchCapture> begin_capture(uint64_t program,
                                                    std::unique_ptr<jit::LaunchGraph>& kept) override {
    if (!config::get().cuda_graphs || CudaLaunchCapture::current(*gpu_)) return nullptr;
    if (!kept) kept = std::make_unique<CudaLaunchGraph>();
    return std::make_unique<CudaLaunchCapture>(*gpu_, program, static_cast<CudaLaunchGraph&>(*kept));
  }
  std::unique_ptr<jit::Carrier> make_carrier() override { return make_nccl_carrier(*gpu_); }
  std::string describe() const override {
    return gpu_->name + ", sm_" + std::to_string(gpu_->architecture) + ", " +
           std::to_string(gpu_->multiprocessors) + " multiprocessors, " + std::to_string(gpu_->memory >> 20) +
           " MiB";
  }

 private:
  const std::unique_ptr<Gpu> gpu_;
};

class CudaDevices final : public jit::Devices {
 public:
  int count() override { return api::driver().devices; }
  jit::Backend& at(int index) override {
    if (generation_ != forks::generation()) fail_in_child();
    const std::lock_guard hold(lock_);
    const auto i = static_cast<size_t>(index);
    if (made_.size() <= i) made_.resize(i + 1);
    if (!made_[i]) {
      auto backend = std::make_unique<GpuBackend>(std::make_unique<Gpu>(index));
      made_[i] = std::move(backend);
    }
    return *made_[i];
  }
  std::vector<jit::Backend*> in_use() override {
    const std::lock_guard hold(lock_);
    std::vector<jit::Backend*> all;
    for (const auto& b : made_)
      if (b) all.push_back(b.get());
    return all;
  }
  const std::vector<jit::Backend*>& cross_compilers() override {
    static const auto& all = *new auto([] {  // there until the process ends
      std::vector<jit::Backend*> v;
      try {
        for (int a : architectures_in(config::get().cuda_archs))
          v.push_back(make_cross_compiler(a).release());
      } catch (const Error& e) { logging::warning(e.what()); }
      return v;
    }());
    return all;
  }

 private:
  const uint32_t generation_ = forks::generation();
  Mutex lock_;
  std::vector<std::unique_ptr<jit::Backend>> made_;
};

}  // namespace

std::unique_ptr<jit::Devices> make_devices() { return std::make_unique<CudaDevices>(); }
std::unique_ptr<jit::Backend> make_cross_compiler(int architecture) {
  return std::make_unique<CrossCompiler>(architecture, 0);
}

}  // namespace lazy::cuda_backend
