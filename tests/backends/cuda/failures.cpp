// Tests what users see when a kernel does not compile, and when a device is lost; and that the rest goes on.
#include <functional>

#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

BOOST_FIXTURE_TEST_SUITE(failures, OnGpu, *boost::unit_test::precondition(is_emulated))

BOOST_AUTO_TEST_CASE(a_kernel_that_does_not_compile) {
  const Tensor x = varied({10}).to(cuda);
  const Tensor y = tanh(x) * 3 + x;
  const std::string at = "failures.cpp:" + std::to_string(__LINE__ - 1);
  constexpr int kCompilation = 6;
  BOOST_TEST(Emulated::inject("nvrtcCompileProgram", 1, kCompilation));
  const std::string said = thrown<CompileError>([&] { y.eval(); });
  const std::string line = std::to_string(__LINE__ - 1);
  BOOST_TEST(contains(said, " does not compile for sm_"), said);
  BOOST_TEST(contains(said, "NVRTC error 6"), said);
  BOOST_TEST(contains(said, "__global__"), said);  // the kernel's text
  BOOST_TEST(contains(said, at), said);            // the line of the kernel
  BOOST_TEST(said.ends_with("(failures.cpp:" + line + ")"), said);
  const OnCpu host;
  BOOST_TEST((bits(y) == bits(tanh(varied({10})) * 3 + varied({10}))));  // compiled this time
}

BOOST_AUTO_TEST_CASE(a_cubin_that_does_not_load) {
  const Tensor x = varied({10}).to(cuda);
  const Tensor y = cos(x) * 3 + x;
  constexpr int kNoBinary = 209;
  for (const char* call : {"cuLibraryLoadData", "cuLibraryGetKernel"}) {
    BOOST_TEST(Emulated::inject(call, 1, kNoBinary));
    const std::string said = thrown<DeviceError>([&] { y.eval(); });
    BOOST_TEST(contains(said, std::string(call) + ": CUDA_ERROR_NO_BINARY_FOR_GPU"), said);
  }
  BOOST_TEST(y(0).item<double>() == (cos(x) * 3 + x)(0).item<double>());
}

BOOST_AUTO_TEST_CASE(a_launch_that_fails_says_which) {
  const Tensor x = varied({10}).to(cuda);
  const Tensor y = sqrt(x) * 3 + x;
  const std::string at = "failures.cpp:" + std::to_string(__LINE__ - 1);
  constexpr int kInvalidValue = 1;
  BOOST_TEST(Emulated::inject("cuLaunchKernel", 1, kInvalidValue));
  const std::string said = thrown<DeviceError>([&] { y.eval(); });
  BOOST_TEST(contains(said, "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"), said);
  BOOST_TEST(contains(said, ", in "), said);
  BOOST_TEST(contains(said, at), said);
  BOOST_CHECK_NO_THROW(y.eval());
}

BOOST_AUTO_TEST_CASE(a_copy_that_fails) {
  constexpr int kInvalidValue = 1;
  const Tensor h = varied({10}), x = h.to(cuda);
  BOOST_TEST(Emulated::inject("cuMemcpyHtoDAsync", 1, kInvalidValue));
  const std::string there = thrown<DeviceError>([&] { (void)h.to(cuda); });
  BOOST_TEST(contains(there, "cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE"), there);
  BOOST_TEST(there.ends_with("(failures.cpp:" + std::to_string(__LINE__ - 2) + ")"), there);
  BOOST_TEST(Emulated::inject("cuMemcpyDtoHAsync", 1, kInvalidValue));
  const std::string back = thrown<DeviceError>([&] { (void)x.to_vector<float>(); });
  BOOST_TEST(contains(back, "cuMemcpyDtoHAsync: CUDA_ERROR_INVALID_VALUE"), back);
  BOOST_TEST(back.ends_with("(failures.cpp:" + std::to_string(__LINE__ - 2) + ")"), back);
  BOOST_TEST((bits(x) == bits(h)));
}

BOOST_AUTO_TEST_SUITE_END()

// Runs in a separate process: nothing runs on the device afterwards.
BOOST_FIXTURE_TEST_SUITE(lost, OnGpu, *boost::unit_test::disabled())

BOOST_AUTO_TEST_CASE(a_device_that_is_lost) {
  const Tensor h = varied({1000}), x = h.to(cuda);
  const Tensor before = (x + 1).eval();
  constexpr int kIllegalAddress = 700;
  BOOST_TEST(Emulated::inject("cuLaunchKernel", 1, kIllegalAddress));
  const Tensor y = x * 2;
  const std::string first = thrown<DeviceError>([&] { y.eval(); });
  BOOST_TEST(contains(first, "CUDA_ERROR_ILLEGAL_ADDRESS"), first);
  BOOST_TEST(contains(first, "earlier work on the device failed, and it takes no more"), first);
  for (const auto& [what, use] : std::vector<std::pair<const char*, std::function<void()>>>{
           {"read", [&] { (void)before.to_vector<float>(); }},
           {"again", [&] { y.eval(); }},
           {"move", [&] { (void)before.to(cpu); }},
           {"synchronize", [&] { synchronize(cuda); }},
           {"all", [&] { synchronize(); }},
           {"new", [&] { (void)h.to(cuda); }}}) {
    const std::string said = thrown<DeviceError>(use);
    BOOST_TEST(contains(said, "it takes no more"), what << ": " << said);
    BOOST_TEST(contains(said, "(failures.cpp:"), what << ": " << said);
  }
  const OnCpu host;
  BOOST_TEST((h * 2)(0).item<float>() == h(0).item<float>() * 2);  // the CPU goes on
  BOOST_TEST(sum(ones({100})).item<float>() == 100);
}

BOOST_AUTO_TEST_SUITE_END()
