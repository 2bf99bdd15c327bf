#include "backends/cuda/kernel.hpp"

#include <algorithm>

#include "backends/cuda/code.hpp"
#include "backends/cuda/converted_kernel.hpp"
#include "backends/cuda/emitter/module.hpp"
#include "backends/cuda/product_kernel.hpp"
#include "backends/cuda/side_by_side.hpp"
#include "support/archive.hpp"
#include "support/error.hpp"
#include "support/per_thread.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::loop::ArgLayout;
using jit::loop::Form;
using jit::loop::LoopKernel;

class GpuKernel final : public jit::Kernel {
 public:
  GpuKernel(const LoopKernel& k, Schedule schedule, Cubin cubin)
      : loop_(k),
        at_(layout_of(k)),
        schedule_(std::move(schedule)),
        code_(schedule_.functions, std::move(cubin), k.at) {}

  void launch(uint64_t* args) const override {
    auto& gpu = *reinterpret_cast<Gpu*>(args[ArgLayout::kContext]);
    part(gpu, args);
  }

  size_t code_bytes() const override { return code_.bytes(); }
  std::string schedule() const override { return schedule_.text + code_.use(); }
  const char* listing() const override { return "cu"; }
  std::string disassembly() const override { return emit(loop_, schedule_) + code_.log(); }
  std::string stored() const override { return code_.stored(); }

 private:
  int64_t extent(const uint64_t* args, int axis) const {
    return static_cast<int64_t>(args[at_.extent(axis)]);
  }

  /// Halves boxes of 2^31 indices and more, so that kernels count in 32 bits.
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
      second[static_cast<size_t>(at_.pointer(o))] +=
          static_cast<uint64_t>(half * at_.stride_bytes(args, loop_.operands, o, longest));
    part(gpu, args);
    part(gpu, second.data());
    args[at_.extent(longest)] = static_cast<uint64_t>(whole);
  }

  void run(Gpu& gpu, uint64_t* args) const {
    std::vector<Launch>& launches = PerThread<std::vector<Launch>>::get();
    launches.clear();
    size_t scratch_bytes = 0;
    const bool any_order = sums_on(gpu) == config::Sums::any && gpu.architecture >= 80;
    schedule_.plan(args, launches, scratch_bytes, any_order ? gpu.multiprocessors : 0);
    if (CudaLaunchCapture* r = CudaLaunchCapture::current(gpu)) r->note_plan(*this, scratch_bytes);
    const Borrowed scratch(gpu, scratch_bytes);
    args[ArgLayout::kScratch] = reinterpret_cast<uint64_t>(scratch.get());
    code_.launch(gpu, launches, args, static_cast<size_t>(at_.words()), schedule_.args_in_memory);
  }

  const LoopKernel loop_;
  const ArgLayout at_;
  const Schedule schedule_;
  const Code code_;
};

std::unique_ptr<jit::Kernel> compile_generated(const LoopKernel& k, int architecture, int driver_major) {
  Schedule schedule = Schedule::of(k);
  Cubin cubin = compile(emit(k, schedule), schedule.functions.front(), architecture, driver_major);
  return std::make_unique<GpuKernel>(k, std::move(schedule), std::move(cubin));
}

std::unique_ptr<jit::Kernel> load_generated(const LoopKernel& k, std::string_view stored) {
  Cubin cubin;
  if (!Code::from_stored(stored, cubin)) return nullptr;
  return std::make_unique<GpuKernel>(k, Schedule::of(k), std::move(cubin));
}

}  // namespace

std::unique_ptr<jit::Kernel> compile_kernel(const LoopKernel& k, int architecture, int driver_major) {
  const auto own_of = [&](const LoopKernel& part) {
    return compile_generated(part, architecture, driver_major);
  };
  if (auto converted = jit::loop::with_converted_sides(k)) {
    std::unique_ptr<jit::Kernel> own, product;
    std::vector<std::unique_ptr<jit::Kernel>> conversions(converted->conversions.size());
    side_by_side(static_cast<int64_t>(conversions.size()) + 2, [&](int64_t i) {
      if (i == 0) product = compile_kernel(converted->product, architecture, driver_major);
      else if (i == 1) own = own_of(k);
      else
        conversions[static_cast<size_t>(i) - 2] =
            own_of(converted->conversions[static_cast<size_t>(i) - 2].kernel);
    });
    return make_converted_kernel(k, std::move(*converted), std::move(own), std::move(product),
                                 std::move(conversions));
  }
  const auto product = jit::loop::product_of(k);
  if (!product || product->plain_output >= 0) {
    auto own = own_of(k);
    return product ? make_product_kernel(k, *product, std::move(own), nullptr) : std::move(own);
  }
  std::unique_ptr<jit::Kernel> own, epilogue;
  side_by_side(2, [&](int64_t i) {
    if (i == 0) own = own_of(k);
    else epilogue = own_of(epilogue_of(k, *product).kernel);
  });
  return make_product_kernel(k, *product, std::move(own), std::move(epilogue));
}

namespace {

std::unique_ptr<jit::Kernel> load_checked(const LoopKernel& k, std::string_view stored);

std::unique_ptr<jit::Kernel> load_converted(const LoopKernel& k, jit::loop::ConvertedProduct converted,
                                            std::string_view stored) {
  Loader l(stored);
  std::string first, second;
  std::vector<std::string> others;
  l(first, second, others);
  if (!l.done() || others.size() != converted.conversions.size()) return nullptr;
  auto own = load_generated(k, first);
  auto product = load_checked(converted.product, second);
  std::vector<std::unique_ptr<jit::Kernel>> conversions;
  for (size_t i = 0; i < others.size(); ++i) {
    conversions.push_back(load_generated(converted.conversions[i].kernel, others[i]));
    if (!conversions.back()) return nullptr;
  }
  if (!own || !product) return nullptr;
  return make_converted_kernel(k, std::move(converted), std::move(own), std::move(product),
                               std::move(conversions));
}

std::unique_ptr<jit::Kernel> load_checked(const LoopKernel& k, std::string_view stored) {
  if (auto converted = jit::loop::with_converted_sides(k))
    return load_converted(k, std::move(*converted), stored);
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

}  // namespace

std::unique_ptr<jit::Kernel> load_kernel(const LoopKernel& k, std::string_view stored) {
  try {
    jit::loop::check(k);  // schedules rely on it
  } catch (const CompileError&) { return nullptr; }
  return load_checked(k, stored);
}

}  // namespace lazy::cuda_backend
