#include <cmath>
#include <complex>
#include <numbers>

#include "backends/cuda/api/cufft.hpp"
#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/stderr.hpp"

using namespace emulated_test;

extern "C" {
#define LAZY_CUFFT(field, name, ...) Result name(__VA_ARGS__);
#include "backends/cuda/api/cufft.def"
}

namespace {

#define CHECK_FFT(call) BOOST_REQUIRE_EQUAL(call, kSuccess)
using C = std::complex<double>;

/// Holds a plan whose work area is the caller's.
struct Plan {
  FftHandle handle = 0;
  size_t work_bytes = 0;
  DevicePtr work = 0;
  const Gpu& gpu;

  Plan(const Gpu& g, FftType type, long long n, long long rows) : gpu(g) {
    long long from = type == FftType::c2r ? n / 2 + 1 : n, to = type == FftType::r2c ? n / 2 + 1 : n;
    CHECK_FFT(cufftCreate(&handle));
    CHECK_FFT(cufftSetAutoAllocation(handle, 0));
    CHECK_FFT(cufftMakePlanMany64(handle, 1, &n, &from, 1, from, &to, 1, to, type, rows, &work_bytes));
    CHECK_FFT(cufftSetStream(handle, gpu.stream));
    CHECK_CUDA(allocate_async(&work, work_bytes, gpu.stream));
    CHECK_FFT(cufftSetWorkArea(handle, reinterpret_cast<void*>(work)));
  }
  ~Plan() {
    CHECK_CUDA(free_async(work, gpu.stream));
    BOOST_CHECK_EQUAL(cufftDestroy(handle), kSuccess);
  }
};

std::vector<float> noise(size_t n) {
  std::vector<float> v(n);
  uint32_t seed = 7;
  for (float& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / 8388608.f - 1;
  }
  return v;
}

/// Returns row `row` of n numbers, a pair each, transformed by the definition.
std::vector<C> by_definition(const std::vector<float>& pairs, size_t n, size_t row) {
  std::vector<C> y(n);
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j) {
      const double turn = -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      const size_t at = 2 * (row * n + j);
      y[k] += C(pairs[at], pairs[at + 1]) * std::polar(1.0, turn);
    }
  return y;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fft)

// Lengths have small factors, and primes that are too large for a pass.
BOOST_AUTO_TEST_CASE(rows) {
  for (const char* async : {"0", "1"})
    for (const size_t n : {1, 2, 12, 64, 67, 134}) {
      Gpu gpu({{"EMULATED_CUDA_ASYNC", async}});
      const std::vector<float> x = noise(2 * 3 * n);
      const Floats at(gpu, x);
      const Plan plan(gpu, FftType::c2c, static_cast<long long>(n), 3);
      CHECK_FFT(cufftExecC2C(plan.handle, at.pointer(), at.pointer(), kFftForward));
      const std::vector<float> y = at.read();
      for (size_t row = 0; row < 3; ++row) {
        const std::vector<C> wanted = by_definition(x, n, row);
        for (size_t k = 0; k < n; ++k)
          BOOST_CHECK_SMALL(std::abs(C(y[2 * (row * n + k)], y[2 * (row * n + k) + 1]) - wanted[k]), 1e-4);
      }
      CHECK_FFT(cufftExecC2C(plan.handle, at.pointer(), at.pointer(), kFftInverse));
      const std::vector<float> back = at.read();
      for (size_t i = 0; i < x.size(); ++i) BOOST_CHECK_SMALL(back[i] / static_cast<float>(n) - x[i], 1e-5f);
    }
}

BOOST_AUTO_TEST_CASE(real_rows_and_back) {
  Gpu gpu;
  for (const size_t n : {1, 6, 7}) {
    const std::vector<float> x = noise(2 * n);
    const size_t half = n / 2 + 1;
    const Floats from(gpu, x), spectrum(gpu, 2 * 2 * half), to(gpu, 2 * n);
    const Plan there(gpu, FftType::r2c, static_cast<long long>(n), 2),
        back(gpu, FftType::c2r, static_cast<long long>(n), 2);
    CHECK_FFT(cufftExecR2C(there.handle, from.pointer(), spectrum.pointer()));
    BOOST_CHECK(from.read() == x);
    const std::vector<float> bins = spectrum.read();
    float sum = 0;
    for (size_t i = 0; i < n; ++i) sum += x[n + i];
    BOOST_CHECK_SMALL(bins[2 * half] - sum, 1e-5f);
    CHECK_FFT(cufftExecC2R(back.handle, spectrum.pointer(), to.pointer()));
    BOOST_CHECK(spectrum.read() != bins);  // it destroys its source
    const std::vector<float> y = to.read();
    for (size_t i = 0; i < x.size(); ++i) BOOST_CHECK_SMALL(y[i] / static_cast<float>(n) - x[i], 1e-5f);
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_found) {
  constexpr Result kInvalidPlan = 1, kInvalidType = 3, kInvalidValue = 4, kUnaligned = 9, kNoWorkspace = 13;
  Gpu gpu;
  const Floats x(gpu, 16), y(gpu, 16);
  const Plan plan(gpu, FftType::c2c, 4, 2);
  const std::string text = stderr_of([&] {
    BOOST_CHECK_EQUAL(cufftExecC2C(plan.handle, x.pointer() + 1, y.pointer(), kFftForward), kInvalidValue);
    const Plan shorter(gpu, FftType::c2c, 4, 1);
    BOOST_CHECK_EQUAL(cufftExecC2C(shorter.handle, x.pointer() + 1, y.pointer(), kFftForward), kUnaligned);
  });
  BOOST_CHECK(text.find("not in the device's memory") != std::string::npos);
  BOOST_CHECK(text.find("less aligned than pairs") != std::string::npos);
  BOOST_CHECK_EQUAL(cufftExecR2C(plan.handle, x.pointer(), y.pointer()), kInvalidType);
  BOOST_CHECK_EQUAL(cufftExecC2C(plan.handle + 100, x.pointer(), y.pointer(), kFftForward), kInvalidPlan);
  CHECK_FFT(cufftSetWorkArea(plan.handle, nullptr));
  BOOST_CHECK_EQUAL(cufftExecC2C(plan.handle, x.pointer(), y.pointer(), kFftForward), kNoWorkspace);
  BOOST_CHECK(emulated_cuda_inject("cufftCreate", 1, kFftNoMemory));
  FftHandle none = 0;
  BOOST_CHECK_EQUAL(cufftCreate(&none), kFftNoMemory);
}

BOOST_AUTO_TEST_SUITE_END()
