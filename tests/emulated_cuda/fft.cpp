// Implements cuFFT's functions (backends/cuda/api/cufft.def) in float64, by factors; a length with a large
// prime factor as a convolution. Stricter than cuFFT: a transform to real numbers always destroys its source,
// and half a spectrum whose ends are not real gives something else.
#include <algorithm>
#include <complex>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <numbers>
#include <vector>

#include "backends/cuda/api/cufft.hpp"
#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/driver.hpp"

namespace emulated {

extern "C" {
#define LAZY_CUFFT(field, name, ...) __attribute__((visibility("default"))) Result name(__VA_ARGS__);
#include "backends/cuda/api/cufft.def"
}

namespace {

// cufftResult
constexpr Result kInvalidPlan = 1, kInvalidType = 3, kInvalidArgument = 4, kExecFailed = 6, kSetupFailed = 7,
                 kUnaligned = 9, kNoWorkspace = 13, kNotImplemented = 14;
constexpr size_t kWorkspace = 512;  // bytes; not used, but demanded

using C = std::complex<double>;

/// Returns exp(-2 pi i k / n) for each k below n.
std::vector<C> roots_of(size_t n) {
  std::vector<C> w(n);
  for (size_t k = 0; k < n; ++k)
    w[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  return w;
}

void convolve(const C* x, size_t stride, C* y, size_t n);

/// Transforms n numbers of x forward, `step` being the length of `w` by n.
void transform(const C* x, size_t stride, C* y, size_t n, const std::vector<C>& w, size_t step) {
  if (n == 1) {
    y[0] = x[0];
    return;
  }
  size_t p = 2;
  while (n % p != 0) ++p;
  if (p > 64) return convolve(x, stride, y, n);
  const size_t m = n / p;
  for (size_t j = 0; j < p; ++j) transform(x + j * stride, stride * p, y + j * m, m, w, step * p);
  std::vector<C> part(p);
  for (size_t k = 0; k < m; ++k) {
    for (size_t j = 0; j < p; ++j) part[j] = y[j * m + k] * w[j * k * step];
    for (size_t q = 0; q < p; ++q) {
      C sum = part[0];
      for (size_t j = 1; j < p; ++j) sum += part[j] * w[j * q % p * m * step];
      y[k + q * m] = sum;
    }
  }
}

/// Transforms forward: j k is (j^2 + k^2 - (j - k)^2) / 2.
void convolve(const C* x, size_t stride, C* y, size_t n) {
  size_t all = 1;
  while (all < 2 * n) all *= 2;
  const std::vector<C> w = roots_of(all), chirps = roots_of(2 * n);
  const auto chirp = [&](size_t j) { return chirps[j * j % (2 * n)]; };
  std::vector<C> a(all), b(all), fa(all), fb(all);
  for (size_t j = 0; j < n; ++j) {
    a[j] = x[j * stride] * chirp(j);
    b[j] = b[(all - j) % all] = std::conj(chirp(j));
  }
  transform(a.data(), 1, fa.data(), all, w, 1);
  transform(b.data(), 1, fb.data(), all, w, 1);
  for (size_t i = 0; i < all; ++i) a[i] = std::conj(fa[i] * fb[i]);
  transform(a.data(), 1, fa.data(), all, w, 1);
  for (size_t k = 0; k < n; ++k) y[k] = std::conj(fa[k]) / static_cast<double>(all) * chirp(k);
}

struct FftPlan {
  bool made = false, automatic = true;
  FftType type{};
  size_t length = 0, rows = 0;
  StreamStruct* stream = nullptr;
  void* work = nullptr;

  bool f64() const { return type >= FftType::z2z; }
  bool from_real() const { return type == FftType::r2c || type == FftType::d2z; }
  bool to_real() const { return type == FftType::c2r || type == FftType::z2d; }
  size_t from() const { return to_real() ? length / 2 + 1 : length; }
  size_t to() const { return from_real() ? length / 2 + 1 : length; }
  size_t number() const { return f64() ? 8 : 4; }
  size_t from_bytes() const { return rows * from() * number() * (from_real() ? 1 : 2); }
  size_t to_bytes() const { return rows * to() * number() * (to_real() ? 1 : 2); }

  template <class T>
  void run(T* from_memory, T* to_memory, int direction) const {
    const std::vector<C> w = roots_of(length);
    std::vector<C> x(length), y(length);
    for (size_t row = 0; row < rows; ++row) {
      const T* const a = from_memory + row * from() * (from_real() ? 1 : 2);
      T* const b = to_memory + row * to() * (to_real() ? 1 : 2);
      for (size_t i = 0; i < from(); ++i) x[i] = from_real() ? C(a[i]) : C(a[2 * i], a[2 * i + 1]);
      if (to_real()) {
        for (size_t i = 0; i < from(); ++i) {
          if (2 * i % length == 0) x[i] += C(x[i].imag());  // it is undefined then
          else x[length - i] = std::conj(x[i]);
        }
      }
      const bool back = direction == kFftInverse;
      if (back)
        for (C& c : x) c = std::conj(c);
      transform(x.data(), 1, y.data(), length, w, 1);
      if (back)
        for (C& c : y) c = std::conj(c);
      for (size_t i = 0; i < to(); ++i) {
        if (to_real()) b[i] = static_cast<T>(y[i].real());
        else b[2 * i] = static_cast<T>(y[i].real()), b[2 * i + 1] = static_cast<T>(y[i].imag());
      }
    }
    if (to_real()) std::memset(static_cast<void*>(from_memory), 0xa5, from_bytes());
  }
};

std::mutex mutex;
/// Returns the plans that are alive.
std::map<FftHandle, FftPlan>& plans() {
  static auto& all = *new std::map<FftHandle, FftPlan>;
  return all;
}
FftPlan* find_plan(FftHandle handle) {
  const auto found = plans().find(handle);
  return found == plans().end() ? nullptr : &found->second;
}

Result execute(FftHandle handle, FftType type, void* from, void* to, int direction) {
  FftPlan plan;
  {
    const std::lock_guard lock(mutex);
    const FftPlan* const found = find_plan(handle);
    if (!found || !found->made) return kInvalidPlan;
    plan = *found;
  }
  if (plan.type != type) return kInvalidType;
  if (machine() == nullptr || !plan.stream || current_context() != plan.stream->context) return kExecFailed;
  if (direction != kFftForward && direction != kFftInverse) return kInvalidArgument;
  const int device = plan.stream->context->ordinal;
  const auto has = [&](void* memory, size_t bytes) {
    return machine()->memory.device_of(reinterpret_cast<DevicePtr>(memory), bytes) == device;
  };
  if (!plan.automatic && !has(plan.work, kWorkspace)) return kNoWorkspace;
  if (!has(from, plan.from_bytes()) || !has(to, plan.to_bytes())) {
    std::fprintf(stderr, "emulated_cuda: cufftExec: rows are not in the device's memory\n");
    return kInvalidArgument;
  }
  for (void* memory : {from, to})
    if (reinterpret_cast<uintptr_t>(memory) % (2 * plan.number()) != 0) {
      std::fprintf(stderr, "emulated_cuda: cufftExec: rows are less aligned than pairs\n");
      return kUnaligned;
    }
  if (from == to && (plan.from_real() || plan.to_real())) return kNotImplemented;
  plan.stream->queue->submit([=, context = plan.stream->context] {
    if (context->failure != 0) return;
    const Memory::Access access(machine()->memory);
    if (!plan.automatic) std::memset(plan.work, 0xa5, kWorkspace);
    if (plan.f64()) plan.run(static_cast<double*>(from), static_cast<double*>(to), direction);
    else plan.run(static_cast<float*>(from), static_cast<float*>(to), direction);
  });
  return kSuccess;
}

}  // namespace

Result cufftCreate(FftHandle* handle) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (machine() == nullptr || current_context() == nullptr) return kSetupFailed;
  const std::lock_guard lock(mutex);
  static FftHandle last = 0;
  *handle = ++last;
  plans()[last].stream = &current_context()->null_stream;
  return kSuccess;
}

Result cufftDestroy(FftHandle handle) {
  if (const auto injected = count_call(__func__)) return *injected;
  const std::lock_guard lock(mutex);
  return plans().erase(handle) == 1 ? kSuccess : kInvalidPlan;
}

Result cufftSetAutoAllocation(FftHandle handle, int automatic) {
  if (const auto injected = count_call(__func__)) return *injected;
  const std::lock_guard lock(mutex);
  FftPlan* const plan = find_plan(handle);
  if (!plan || plan->made) return kInvalidPlan;
  plan->automatic = automatic != 0;
  return kSuccess;
}

Result cufftMakePlanMany64(FftHandle handle, int rank, long long* lengths, long long* from_extents,
                           long long from_stride, long long from_apart, long long* to_extents,
                           long long to_stride, long long to_apart, FftType type, long long batch,
                           size_t* work_bytes) {
  if (const auto injected = count_call(__func__)) return *injected;
  const std::lock_guard lock(mutex);
  FftPlan* const plan = find_plan(handle);
  if (!plan || plan->made) return kInvalidPlan;
  if (rank != 1 || !work_bytes || batch < 1) return kInvalidArgument;
  if (lengths[0] < 1) return kFftInvalidSize;
  plan->type = type;
  plan->length = static_cast<size_t>(lengths[0]);
  plan->rows = static_cast<size_t>(batch);
  if (!from_extents || !to_extents || from_stride != 1 || to_stride != 1 ||
      from_apart != static_cast<long long>(plan->from()) || to_apart != static_cast<long long>(plan->to()))
    return kNotImplemented;  // rows one behind the other alone
  plan->made = true;
  *work_bytes = kWorkspace;
  return kSuccess;
}

Result cufftSetStream(FftHandle handle, Stream given) {
  if (const auto injected = count_call(__func__)) return *injected;
  StreamStruct* stream = nullptr;
  if (driver::find_stream(given, stream) != kSuccess) return kInvalidArgument;
  const std::lock_guard lock(mutex);
  FftPlan* const plan = find_plan(handle);
  if (!plan) return kInvalidPlan;
  plan->stream = stream;
  return kSuccess;
}

Result cufftSetWorkArea(FftHandle handle, void* work) {
  if (const auto injected = count_call(__func__)) return *injected;
  const std::lock_guard lock(mutex);
  FftPlan* const plan = find_plan(handle);
  if (!plan || !plan->made) return kInvalidPlan;
  plan->work = work;
  return kSuccess;
}

Result cufftExecC2C(FftHandle handle, void* from, void* to, int direction) {
  if (const auto injected = count_call(__func__)) return *injected;
  return execute(handle, FftType::c2c, from, to, direction);
}
Result cufftExecR2C(FftHandle handle, void* from, void* to) {
  if (const auto injected = count_call(__func__)) return *injected;
  return execute(handle, FftType::r2c, from, to, kFftForward);
}
Result cufftExecC2R(FftHandle handle, void* from, void* to) {
  if (const auto injected = count_call(__func__)) return *injected;
  return execute(handle, FftType::c2r, from, to, kFftInverse);
}
Result cufftExecZ2Z(FftHandle handle, void* from, void* to, int direction) {
  if (const auto injected = count_call(__func__)) return *injected;
  return execute(handle, FftType::z2z, from, to, direction);
}
Result cufftExecD2Z(FftHandle handle, void* from, void* to) {
  if (const auto injected = count_call(__func__)) return *injected;
  return execute(handle, FftType::d2z, from, to, kFftForward);
}
Result cufftExecZ2D(FftHandle handle, void* from, void* to) {
  if (const auto injected = count_call(__func__)) return *injected;
  return execute(handle, FftType::z2d, from, to, kFftInverse);
}

}  // namespace emulated
