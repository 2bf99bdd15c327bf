// Tests injected failures and counts.
#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"

using namespace emulated_test;

BOOST_AUTO_TEST_SUITE(calls)

BOOST_AUTO_TEST_CASE(the_nth_call_fails) {
  Gpu gpu({{"EMULATED_CUDA_INJECT", "cuMemAllocAsync:3:2,cuEventCreate:1:1"}});
  DevicePtr a[4] = {};
  for (int i = 0; i < 4; ++i) {
    BOOST_CHECK_EQUAL(api.allocate_async(&a[i], 16, gpu.stream), i == 2 ? kOutOfMemory : kSuccess);
  }
  BOOST_CHECK_EQUAL(emulated_cuda_live_bytes(), 48u);
  Event event = nullptr;
  BOOST_CHECK_EQUAL(api.event_create(&event, 0), kInvalidValue);
  BOOST_CHECK_EQUAL(emulated_cuda_count("cuMemAllocAsync"), 4);
  BOOST_CHECK(emulated_cuda_inject("cuMemFreeAsync", 2, kInvalidValue));
  CHECK_CUDA(free_async(a[0], gpu.stream));
  BOOST_CHECK_EQUAL(api.free_async(a[1], gpu.stream), kInvalidValue);
  CHECK_CUDA(free_async(a[1], gpu.stream));
  CHECK_CUDA(free_async(a[3], gpu.stream));
}

BOOST_AUTO_TEST_CASE(names) {
  BOOST_CHECK(!emulated_cuda_inject("cuNothing", 1, 1));
  BOOST_CHECK(!emulated_cuda_inject("cuInit", 0, 1));
  BOOST_CHECK_EQUAL(emulated_cuda_count("cuNothing"), -1);
  const char* text = nullptr;
  BOOST_CHECK_EQUAL(api.error_name(kLaunchFailed, &text), kSuccess);
  BOOST_CHECK_EQUAL(text, "CUDA_ERROR_LAUNCH_FAILED");
  BOOST_CHECK_EQUAL(api.error_string(12345, &text), kInvalidValue);
}

BOOST_AUTO_TEST_CASE(version) {
  Gpu gpu({{"EMULATED_CUDA_VERSION", "11040"}});
  int version = 0;
  CHECK_CUDA(driver_version(&version));
  BOOST_CHECK_EQUAL(version, 11040);
}

BOOST_AUTO_TEST_CASE(nvrtc_fails_too) {
  Gpu gpu;
  BOOST_CHECK(emulated_cuda_inject("nvrtcCompileProgram", 1, 11));
  BOOST_CHECK_EQUAL(compile(kSaxpy).result, 11);
  BOOST_CHECK_EQUAL(compile(kSaxpy).result, kSuccess);
  BOOST_CHECK_EQUAL(emulated_cuda_count("nvrtcCompileProgram"), 2);
}

BOOST_AUTO_TEST_CASE(a_lost_device_stays_lost) {
  Gpu gpu;
  const Program program(kSaxpy);
  Floats x(gpu, 16);
  BOOST_CHECK(emulated_cuda_inject("cuLaunchKernel", 2, kIllegalAddress));
  const SaxpyArgs args{1, x.pointer(), x.pointer(), 16};
  const int64_t before = emulated_cuda_kernels_run();
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 16, args, gpu.stream), kSuccess);
  const Function function = program.function("saxpy");
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 16, args, gpu.stream), kIllegalAddress);
  int value = 0;
  BOOST_CHECK_EQUAL(api.stream_synchronize(gpu.stream), kIllegalAddress);
  BOOST_CHECK_EQUAL(api.function_attribute(&value, FunctionAttribute::registers, function), kIllegalAddress);
  BOOST_CHECK_EQUAL(emulated_cuda_kernels_run() - before, 1);
  CHECK_CUDA(device_count(&value));
}

BOOST_AUTO_TEST_CASE(the_other_device_is_not) {
  Gpu gpu({{"EMULATED_CUDA_DEVICES", "2"}});
  BOOST_CHECK(emulated_cuda_inject("cuStreamSynchronize", 1, kLaunchFailed));
  BOOST_CHECK_EQUAL(api.stream_synchronize(gpu.stream), kLaunchFailed);
  Context other = nullptr;
  CHECK_CUDA(primary_context_retain(&other, 1));
  CHECK_CUDA(context_set(other));
  Stream stream = nullptr;
  CHECK_CUDA(stream_create(&stream, 0));
  CHECK_CUDA(stream_synchronize(stream));
  BOOST_CHECK_EQUAL(api.stream_synchronize(gpu.stream), kLaunchFailed);
  CHECK_CUDA(stream_destroy(stream));
}

BOOST_AUTO_TEST_SUITE_END()
