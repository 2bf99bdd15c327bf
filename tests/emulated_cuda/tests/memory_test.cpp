#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tests/common/child.hpp"
#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"
#include "tests/emulated_cuda/tests/stderr.hpp"

using namespace emulated_test;

namespace {

uint64_t pool_number(MemPool pool, MemPoolAttribute attribute) {
  uint64_t number = 0;
  CHECK_CUDA(pool_get(pool, attribute, &number));
  return number;
}

#ifdef __SANITIZE_ADDRESS__
/// Returns AddressSanitizer's report about f(), run in a separate process.
template <class F>
std::string report_of(F f) {
  int status = 0;
  const std::string text = stderr_of([&] {
    const pid_t child = lazy::test::fork_child();
    if (child == 0) {
      f();
      _exit(0);
    }
    waitpid(child, &status, 0);
  });
  BOOST_CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
  return text;
}
#endif

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(fresh_memory_is_garbage_and_copies_copy) {
  Gpu gpu;
  Floats x(gpu, 3), y(gpu, std::vector<float>{1, 2, 3});
  float garbage = 0;
  std::memset(&garbage, 0xa5, sizeof garbage);
  BOOST_CHECK(x.read() == std::vector<float>(3, garbage));
  CHECK_CUDA(copy(x.address() + 4, y.address(), 8, gpu.stream));
  BOOST_CHECK(x.read() == (std::vector<float>{garbage, 1, 2}));
  BOOST_CHECK_EQUAL(x.address() % 256, 0u);
}

BOOST_AUTO_TEST_CASE(pointers_are_checked) {
  Gpu gpu;
  Floats x(gpu, 4), y(gpu, 4);
  std::vector<float> host(4);
  BOOST_CHECK_EQUAL(api.copy_to_device(x.address(), host.data(), 17, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.copy_to_device(x.address() + 4, host.data(), 16, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.copy_to_host(host.data(), x.address() - 4, 4, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.copy_to_host(x.pointer(), y.address(), 16, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.copy_to_host(host.data(), 0, 16, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.free_async(x.address() + 4, gpu.stream), kInvalidValue);
  DevicePtr gone = 0;
  CHECK_CUDA(allocate_async(&gone, 16, gpu.stream));
  CHECK_CUDA(free_async(gone, gpu.stream));
  BOOST_CHECK_EQUAL(api.free_async(gone, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.copy(x.address(), gone, 16, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.allocate_async(&gone, 0, gpu.stream), kInvalidValue);
  const std::string text = stderr_of(
      [&] { BOOST_CHECK_EQUAL(api.copy(x.address() + 4, x.address(), 8, gpu.stream), kInvalidValue); });
  BOOST_CHECK(text.find("overlap") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(memory_ends) {
  Gpu gpu({{"EMULATED_CUDA_MEMORY", "1M"}});
  DevicePtr a = 0, b = 0;
  size_t free = 0, total = 0;
  CHECK_CUDA(allocate_async(&a, 600 << 10, gpu.stream));
  BOOST_CHECK_EQUAL(api.allocate_async(&b, 600 << 10, gpu.stream), kOutOfMemory);
  CHECK_CUDA(memory_info(&free, &total));
  BOOST_CHECK_EQUAL(total, 1u << 20);
  BOOST_CHECK_EQUAL(free, 424u << 10);
  BOOST_CHECK_EQUAL(emulated_cuda_live_bytes(), 600u << 10);
  CHECK_CUDA(free_async(a, gpu.stream));
  CHECK_CUDA(allocate_async(&b, 1 << 20, gpu.stream));
  CHECK_CUDA(free_async(b, gpu.stream));
  BOOST_CHECK_EQUAL(emulated_cuda_live_bytes(), 0u);
}

BOOST_AUTO_TEST_CASE(a_pool_keeps_what_it_may) {
  Gpu gpu;
  MemPool pool = nullptr;
  CHECK_CUDA(default_pool(&pool, 0));
  uint64_t threshold = 3000;
  CHECK_CUDA(pool_set(pool, MemPoolAttribute::release_threshold, &threshold));
  DevicePtr a = 0;
  CHECK_CUDA(allocate_async(&a, 5000, gpu.stream));
  BOOST_CHECK_EQUAL(pool_number(pool, MemPoolAttribute::used_current), 5000u);
  CHECK_CUDA(free_async(a, gpu.stream));
  BOOST_CHECK_EQUAL(pool_number(pool, MemPoolAttribute::used_current), 0u);
  BOOST_CHECK_EQUAL(pool_number(pool, MemPoolAttribute::reserved_current), 5000u);
  CHECK_CUDA(stream_synchronize(gpu.stream));
  BOOST_CHECK_EQUAL(pool_number(pool, MemPoolAttribute::reserved_current), 3000u);
  CHECK_CUDA(pool_trim(pool, 1000));
  BOOST_CHECK_EQUAL(pool_number(pool, MemPoolAttribute::reserved_current), 1000u);
}

BOOST_AUTO_TEST_CASE(pinned_memory) {
  Gpu gpu;
  void* memory = nullptr;
  CHECK_CUDA(allocate_host(&memory, 64));
  BOOST_CHECK_EQUAL(api.free_host(static_cast<char*>(memory) + 8), kInvalidValue);
  CHECK_CUDA(free_host(memory));
  BOOST_CHECK_EQUAL(api.free_host(memory), kInvalidValue);
}

BOOST_AUTO_TEST_CASE(devices_have_their_own) {
  Gpu gpu({{"EMULATED_CUDA_DEVICES", "2"}});
  Context other = nullptr;
  CHECK_CUDA(primary_context_retain(&other, 1));
  Floats x(gpu, std::vector<float>{1, 2});
  CHECK_CUDA(context_set(other));
  Stream stream = nullptr;
  CHECK_CUDA(stream_create(&stream, kStreamNonBlocking));
  DevicePtr y = 0;
  CHECK_CUDA(allocate_async(&y, 8, stream));
  float host[2] = {};
  BOOST_CHECK_EQUAL(api.copy(y, x.address(), 8, stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.copy_to_host(host, x.address(), 8, stream), kInvalidValue);
  BOOST_CHECK_EQUAL(api.copy_peer(y, gpu.context, x.address(), other, 8, stream), kInvalidValue);
  CHECK_CUDA(copy_peer(y, other, x.address(), gpu.context, 8, stream));
  CHECK_CUDA(copy_to_host(host, y, 8, stream));
  CHECK_CUDA(stream_synchronize(stream));
  BOOST_CHECK_EQUAL(host[1], 2);
  const Program program(kSaxpy);
  const SaxpyArgs args{1, x.pointer(), x.pointer(), 2};
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 32, args, gpu.stream),
                    kInvalidHandle);  // a function of the other device
  CHECK_CUDA(free_async(y, stream));
  CHECK_CUDA(stream_destroy(stream));
  CHECK_CUDA(context_set(gpu.context));
}

BOOST_AUTO_TEST_CASE(writes_out_of_bounds) {
  Gpu gpu;
  const Program program(kSaxpy);
  const Floats x(gpu, std::vector<float>(128, 1e38f));
  DevicePtr y = 0;
  CHECK_CUDA(allocate_async(&y, 127 * 4, gpu.stream));
  const SaxpyArgs args{1, x.pointer(), reinterpret_cast<float*>(y), 128};
#ifdef __SANITIZE_ADDRESS__
  const std::string report = report_of([&] { program.launch("saxpy", 1, 128, args, gpu.stream); });
  BOOST_CHECK(report.find("heap-buffer-overflow") != std::string::npos);
  BOOST_CHECK_MESSAGE(report.find("kernel.cu:5") != std::string::npos, report);
  CHECK_CUDA(free_async(y, gpu.stream));
#else
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 128, args, gpu.stream), kSuccess);
  const std::string text = stderr_of([&] { CHECK_CUDA(free_async(y, gpu.stream)); });
  BOOST_CHECK(text.find("next to an allocation") != std::string::npos);
  BOOST_CHECK_EQUAL(api.stream_synchronize(gpu.stream), kIllegalAddress);
#endif
}

#ifndef __SANITIZE_ADDRESS__
BOOST_AUTO_TEST_CASE(the_host_cannot_touch_it) {
  for (const char* protect : {"0", "1"}) {
    Gpu gpu({{"EMULATED_CUDA_PROTECT", protect}});
    const Program program(kSaxpy);
    const Floats x(gpu, std::vector<float>(5000, 3)), y(gpu, std::vector<float>(5000, 4));
    CHECK_CUDA(copy(x.address() + 4, y.address(), 4, gpu.stream));
    BOOST_CHECK_EQUAL(
        program.launch("saxpy", 40, 128, SaxpyArgs{2, x.pointer(), y.pointer(), 5000}, gpu.stream), 0);
    BOOST_CHECK_EQUAL(y.read()[1], 12);
    const pid_t child = lazy::test::fork_child();
    if (child == 0) {
      std::signal(SIGSEGV, SIG_DFL);
      _exit(*static_cast<volatile float*>(x.pointer()) == 3 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_CHECK_EQUAL(WIFSIGNALED(status), *protect == '1');
  }
}
#endif

#ifdef __SANITIZE_ADDRESS__
BOOST_AUTO_TEST_CASE(shared_memory_out_of_bounds) {
  Gpu gpu;
  const Program program(R"(struct Args { float* y; };
extern "C" __global__ void f(const Args args) {
  __shared__ float s[33];
  s[threadIdx.x + 2] = 1;
  __syncthreads();
  args.y[threadIdx.x] = s[threadIdx.x];
})");
  struct Args {
    float* y;
  };
  const Floats y(gpu, 32);
  const std::string report = report_of([&] { program.launch("f", 1, 32, Args{y.pointer()}, gpu.stream); });
  BOOST_CHECK(report.find("global-buffer-overflow") != std::string::npos);
  BOOST_CHECK_MESSAGE(report.find("kernel.cu:4") != std::string::npos, report);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
