#include "backends/cuda/kernel.hpp"

#include <algorithm>
#include <mutex>

#include "backends/cuda/compile.hpp"
#include "backends/cuda/emitter/module.hpp"
#include "backends/cuda/product_kernel.hpp"
#include "support/archive.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::loop::ArgLayout;
using jit::loop::Form;
using jit::loop::LoopKernel;

/// Memory that a launch borrows from the allocator. It is given back at once: what comes later in the stream
/// may have it.
class Borrowed {
 public:
  Borrowed(Gpu& gpu, size_t bytes)
      : gpu_(gpu), bytes_(bytes), p_(bytes ? gpu.allocator.allocate(bytes) : nullptr) {}
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() {
    if (p_) gpu_.allocator.deallocate(p_, bytes_);
  }
  void* get() const { return p_; }

 private:
  Gpu& gpu_;
  const size_t bytes_;
  void* const p_;
};

class GpuKernel final : public jit::Kernel {
 public:
  GpuKernel(const LoopKernel& k, Schedule schedule, Cubin cubin)
      : loop_(k), at_(layout_of(k)), schedule_(std::move(schedule)), cubin_(std::move(cubin)) {}

  void launch(uint64_t* args) const override {
    auto& gpu = *reinterpret_cast<Gpu*>(args[ArgLayout::kContext]);
    load(gpu);
    part(gpu, args);
  }

  size_t code_bytes() const override { return cubin_.bytes.size(); }
  std::string schedule() const override {
    std::string text = schedule_.text;
    for (const FunctionUse& f : functions_in(cubin_.log))
      text += "\n  " + f.name + ": " + std::to_string(f.registers) + " registers, " +
              std::to_string(f.spill_stores) + " bytes spilled, " + std::to_string(f.shared_bytes) +
              " bytes shared";
    return text;
  }
  const char* listing() const override { return "cu"; }
  std::string disassembly() const override {
    std::string text = emit(loop_, schedule_), log;
    for (size_t at = 0; at < cubin_.log.size();) {
      const size_t end = std::min(cubin_.log.find('\n', at), cubin_.log.size());
      log += "// " + cubin_.log.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return text + log;
  }
  std::string stored() const override {
    Saver s;
    s(cubin_.log);
    return s.take() += cubin_.bytes;
  }

 private:
  /// Its functions on whatever GPU asks first: a library serves all contexts.
  void load(Gpu& gpu) const {
    const std::lock_guard hold(loading_);
    if (!functions_.empty()) return;
    gpu.enter();
    api::Library library = nullptr;
    gpu.check(
        gpu.driver.library_load(&library, cubin_.bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData");
    std::vector<api::Function> found;
    for (const std::string& name : schedule_.functions) {
      api::CudaKernel kernel = nullptr;
      gpu.check(gpu.driver.library_kernel(&kernel, library, name.c_str()), "cuLibraryGetKernel");
      found.push_back(reinterpret_cast<api::Function>(kernel));  // as cuLaunchKernel takes it
    }
    library_ = library;
    functions_ = std::move(found);
  }

  int64_t extent(const uint64_t* args, int axis) const {
    return static_cast<int64_t>(args[at_.extent(axis)]);
  }

  /// Boxes of 2^31 indices and more go in halves, so that kernels count in 32 bits.
  void part(Gpu& gpu, uint64_t* args) const {
    double indices = 1;
    int longest = -1;
    for (int a = 0; a < loop_.rank; ++a) {
      if (a == loop_.sequential) continue;
      if (extent(args, a) <= 0) return;
      indices *= static_cast<double>(extent(args, a));
      if (longest < 0 || extent(args, a) > extent(args, longest)) longest = a;
    }
    if (indices < 0x1p31) return run(gpu, args);
    const int64_t whole = extent(args, longest), half = whole / 2;
    std::vector<uint64_t> second(args, args + at_.words());
    args[at_.extent(longest)] = static_cast<uint64_t>(half);
    second[static_cast<size_t>(at_.extent(longest))] = static_cast<uint64_t>(whole - half);
    second[static_cast<size_t>(at_.origin(longest))] += static_cast<uint64_t>(half);
    for (int o = 0; o < static_cast<int>(loop_.operands.size()); ++o)
      second[static_cast<size_t>(at_.pointer(o))] += static_cast<uint64_t>(half * stride(args, o, longest));
    part(gpu, args);
    part(gpu, second.data());
  }

  int64_t stride(const uint64_t* args, int operand, int axis) const {
    const auto& o = loop_.operands[static_cast<size_t>(operand)];
    switch (o.stride[axis]) {
      case jit::loop::Stride::zero: return 0;
      case jit::loop::Stride::unit: return static_cast<int64_t>(size_of(o.dtype));
      case jit::loop::Stride::any: break;
    }
    return static_cast<int64_t>(args[at_.stride(operand, axis)]);
  }

  void run(Gpu& gpu, uint64_t* args) const {
    thread_local std::vector<Launch> launches;
    launches.clear();
    size_t scratch_bytes = 0;
    schedule_.plan(args, launches, scratch_bytes);
    const Borrowed scratch(gpu, scratch_bytes);
    args[ArgLayout::kScratch] = reinterpret_cast<uint64_t>(scratch.get());
    const auto words = static_cast<size_t>(at_.words()) * sizeof(uint64_t);
    const Borrowed memory(gpu, schedule_.args_in_memory ? words : 0);
    std::vector<uint64_t> by_value(args, args + at_.words());
    if (memory.get()) {
      gpu.staging.write(memory.get(), args, words);
      by_value = {reinterpret_cast<uint64_t>(memory.get())};
    }
    try {
      for (const Launch& l : launches)
        gpu.launch({functions_[l.function], l.blocks, l.threads, l.shared_bytes, by_value});
    } catch (const DeviceError& e) {
      throw DeviceError(std::string(e.what()) + ", in " + schedule_.functions.front() +
                        (loop_.at.empty() ? "" : " for " + loop_.at));
    }
  }

  const LoopKernel loop_;
  const ArgLayout at_;
  const Schedule schedule_;
  const Cubin cubin_;
  mutable std::mutex loading_;
  mutable api::Library library_ = nullptr;
  mutable std::vector<api::Function> functions_;
};

std::unique_ptr<jit::Kernel> compile_generated(const LoopKernel& k, int architecture, int driver_major) {
  Schedule schedule = Schedule::of(k);
  Cubin cubin = compile(emit(k, schedule), schedule.functions.front(), architecture, driver_major);
  return std::make_unique<GpuKernel>(k, std::move(schedule), std::move(cubin));
}

std::unique_ptr<jit::Kernel> load_generated(const LoopKernel& k, std::string_view stored) {
  Loader l(stored);
  Cubin cubin;
  l(cubin.log);
  if (!l.ok() || l.left() == 0) return nullptr;
  cubin.bytes = l.raw(l.left());
  return std::make_unique<GpuKernel>(k, Schedule::of(k), std::move(cubin));
}

}  // namespace

std::unique_ptr<jit::Kernel> compile_kernel(const LoopKernel& k, int architecture, int driver_major) {
  auto own = compile_generated(k, architecture, driver_major);
  const auto product = jit::loop::product_of(k);
  if (!product) return own;
  std::unique_ptr<jit::Kernel> epilogue;
  if (product->plain_output < 0)
    epilogue = compile_generated(epilogue_of(k, *product).kernel, architecture, driver_major);
  return make_product_kernel(k, *product, std::move(own), std::move(epilogue));
}

std::unique_ptr<jit::Kernel> load_kernel(const LoopKernel& k, std::string_view stored) {
  const auto product = jit::loop::product_of(k);
  if (!product) return load_generated(k, stored);
  Loader l(stored);
  std::string first, second;
  l(first, second);
  if (!l.done()) return nullptr;
  auto own = load_generated(k, first);
  std::unique_ptr<jit::Kernel> epilogue;
  if (own && product->plain_output < 0) epilogue = load_generated(epilogue_of(k, *product).kernel, second);
  if (!own || (product->plain_output < 0 && !epilogue)) return nullptr;
  return make_product_kernel(k, *product, std::move(own), std::move(epilogue));
}

}  // namespace lazy::cuda_backend
