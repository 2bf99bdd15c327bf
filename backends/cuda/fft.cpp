#include "backends/cuda/fft.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/cuda/code.hpp"
#include "backends/cuda/emitter/pairs_module.hpp"
#include "support/error.hpp"
#include "support/log.hpp"

namespace lazy::cuda_backend {
namespace {

/// Plans hold tables in the device's memory, so there are few.
constexpr size_t kMostPlans = 64;

/// Tells whether real numbers lie as cuFFT requires: as if they were pairs.
bool is_aligned(const FftProblem& p, const void* x) {
  return reinterpret_cast<uintptr_t>(x) % (p.f64() ? 16 : 8) == 0;
}

}  // namespace

Fft::Fft(Gpu& gpu) : gpu_(gpu) {}
Fft::~Fft() = default;  // plans end with the process, as the device's context does

bool Fft::is_there() {
  const std::lock_guard hold(lock_);
  if (std::exchange(tried_, true)) return library_ != nullptr;
  try {
    library_ = &api::cufft(gpu_.driver.version / 1000);
  } catch (const DeviceError& e) {
    if (logging::enabled(logging::Channel::device))
      logging::print(logging::Channel::device, "Fourier transforms on the host: %s", e.what());
  }
  return library_ != nullptr;
}

api::Result Fft::try_plan(const FftProblem& p, Plan& plan) const {
  if (const api::Result r = library_->create(&plan.handle)) return r;
  long long length = p.length, from = p.from(), to = p.to();
  api::Result r = library_->set_allocation(plan.handle, 0);
  if (!r)
    r = library_->make_plan(plan.handle, 1, &length, &from, 1, from, &to, 1, to, p.type, p.rows,
                            &plan.work_bytes);
  if (!r) r = library_->set_stream(plan.handle, gpu_.stream);
  if (r) (void)library_->destroy(plan.handle);
  return r;
}

Fft::Plan Fft::make(const FftProblem& p) {
  Plan plan{p.type, p.length, p.rows};
  plan.status = gpu_.with_room([&] { return try_plan(p, plan); });
  if (plan.status == api::kFftNoMemory)
    throw DeviceError("cuda:" + std::to_string(gpu_.ordinal) + " (" + gpu_.name +
                      "): no memory for a plan of cuFFT");
  return plan;
}

const Fft::Plan& Fft::plan_of(const FftProblem& p) {
  const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const Plan& of) {
    return of.type == p.type && of.length == p.length && of.rows == p.rows;
  });
  if (known != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, known);
    return plans_.front();
  }
  Plan made = make(p);
  if (plans_.size() >= kMostPlans) {
    if (const Plan& old = plans_.back(); !old.status) {
      gpu_.check(gpu_.driver.stream_synchronize(gpu_.stream), "cuStreamSynchronize");  // it may be at work
      (void)library_->destroy(old.handle);
    }
    plans_.pop_back();
  }
  return plans_.emplace_front(made);
}

void Fft::turn(const FftProblem& p, bool packs, void* pairs) {
  std::unique_ptr<Code>& code = pairs_[p.f64()];
  if (!code)
    code = std::make_unique<Code>(pairs_functions(),
                                  compile(emit_pairs(p.f64() ? DType::float64 : DType::float32), "pairs",
                                          gpu_.architecture, gpu_.driver.version / 1000),
                                  "");
  const auto address = [](const void* x) { return reinterpret_cast<uint64_t>(x); };
  const bool half = packs ? p.to_real() : p.from_real();
  const auto row = static_cast<uint64_t>(packs ? p.from() : p.to());
  PairsWords words{address(packs ? p.re : p.to_re),
                   address(packs ? p.im : p.to_im),
                   address(pairs),
                   row * static_cast<uint64_t>(p.rows),
                   0,
                   0};
  if (half) {
    words.row = row;
    words.real = p.length % 2 == 0 ? row - 1 : 0;
  }
  Launch launch;
  launch.function = static_cast<uint16_t>(packs ? Pairs::pack : Pairs::unpack);
  launch.threads = kPairsThreads;
  launch.blocks = static_cast<uint32_t>((words.n + kPairsThreads - 1) / kPairsThreads);
  code->launch(gpu_, {launch}, reinterpret_cast<const uint64_t*>(&words), sizeof words / sizeof(uint64_t),
               false);
}

void Fft::copy(void* to, const void* from, size_t bytes) {
  gpu_.check(gpu_.driver.copy(api::device_pointer(to), api::device_pointer(from), bytes, gpu_.stream),
             "cuMemcpyDtoDAsync");
}

void Fft::execute(const FftProblem& p, const Plan& plan, void* from, void* to) {
  const Borrowed work(gpu_, plan.work_bytes);
  const api::FftHandle h = plan.handle;
  api::Result r = plan.work_bytes ? library_->set_work_area(h, work.get()) : api::kSuccess;
  if (!r)
    r = [&] {
      switch (p.type) {
        case api::FftType::c2c: return library_->run_c2c(h, from, to, api::kFftForward);
        case api::FftType::r2c: return library_->run_r2c(h, from, to);
        case api::FftType::c2r: return library_->run_c2r(h, from, to);
        case api::FftType::z2z: return library_->run_z2z(h, from, to, api::kFftForward);
        case api::FftType::d2z: return library_->run_d2z(h, from, to);
        default: return library_->run_z2d(h, from, to);
      }
    }();
  if (r)
    throw DeviceError("cuda:" + std::to_string(gpu_.ordinal) + " (" + gpu_.name +
                      "): cuFFT failed with status " + std::to_string(r));
}

bool Fft::run(const FftProblem& p, api::Result& status) {
  const std::lock_guard hold(lock_);
  if (!library_) library_ = &api::cufft(gpu_.driver.version / 1000);
  gpu_.before_other_work();
  gpu_.enter();
  const Plan& plan = plan_of(p);
  if ((status = plan.status) != api::kSuccess) return false;
  const size_t number = p.f64() ? 8 : 4, rows = static_cast<size_t>(p.rows);
  const size_t from_bytes = number * (p.from_real() ? 1 : 2) * static_cast<size_t>(p.from()) * rows;
  const size_t to_bytes = number * (p.to_real() ? 1 : 2) * static_cast<size_t>(p.to()) * rows;
  const bool copies_from = p.from_real() && !is_aligned(p, p.re);
  const bool copies_to = p.to_real() && !is_aligned(p, p.to_re);
  // A transform back overwrites its source, which is a copy of its own: pairs of planes.
  const Borrowed source(gpu_, !p.from_real() || copies_from ? from_bytes : 0);
  const Borrowed result(gpu_, p.from_real() || copies_to ? to_bytes : 0);
  void* const from = source.get() ? source.get() : const_cast<void*>(p.re);
  void* const to = result.get() ? result.get() : p.to_real() ? p.to_re : from;  // complex ones in place
  if (!p.from_real()) turn(p, true, from);
  else if (copies_from) copy(from, p.re, from_bytes);
  execute(p, plan, from, to);
  if (!p.to_real()) turn(p, false, to);
  else if (copies_to) copy(p.to_re, to, to_bytes);
  return true;
}

}  // namespace lazy::cuda_backend
