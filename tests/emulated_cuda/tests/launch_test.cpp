// Tests limits of launches, shared memory, handles.
#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"
#include "tests/emulated_cuda/tests/stderr.hpp"

using namespace emulated_test;

namespace {

const char* const kShared = R"(
struct Args { float* y; };
__device__ float twice(float v) {
  __shared__ float both[2];
  both[threadIdx.x % 2] = v;
  __syncthreads();
  return both[0] * 2;
}
extern "C" __global__ void small(const Args args) {
  __shared__ float s[100];
  s[threadIdx.x] = 1;
  __syncthreads();
  args.y[0] = twice(s[threadIdx.x]);
}
extern "C" __global__ void large(const Args args) {  // __global__ void not_me(
  __shared__ double s[5000];
  s[threadIdx.x] = 1;
  __syncthreads();
  args.y[0] = s[threadIdx.x];
}
/* __global__ void nor_me( */
extern "C" __global__ void __launch_bounds__(8 * 8, 2) dynamic(const Args args) {
  float* s = (float*)EMULATED_DYNAMIC_SHARED;
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  args.y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
)";

struct Args {
  float* y;
};

int attribute(Function function, FunctionAttribute which) {
  int value = -1;
  CHECK_CUDA(function_attribute(&value, which, function));
  return value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(launch)

BOOST_AUTO_TEST_CASE(limits) {
  Gpu gpu;
  const Program program(kSaxpy);
  Floats x(gpu, 16);
  const SaxpyArgs args{1, x.pointer(), x.pointer(), 0};
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 128, args, gpu.stream), kSuccess);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 129, args, gpu.stream), kLaunchOutOfResources);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 1025, args, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 0, 128, args, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 0, args, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1u << 31, 1, args, gpu.stream), kInvalidValue);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 1, args, gpu.stream, (48 << 10) + 1), kInvalidValue);
  BOOST_CHECK_EQUAL(api.launch(program.function("saxpy"), 1, 1, 1, 1, 1, 1, 0, gpu.stream, nullptr, nullptr),
                    kInvalidValue);
  stderr_of([&] {
    void* params[] = {const_cast<SaxpyArgs*>(&args)};
    BOOST_CHECK_EQUAL(api.launch(program.function("saxpy"), 1, 2, 1, 1, 1, 1, 0, gpu.stream, params, nullptr),
                      kInvalidValue);
  });
  BOOST_CHECK_EQUAL(emulated_cuda_kernels_run() > 0, true);
  CHECK_CUDA(stream_synchronize(gpu.stream));
}

BOOST_AUTO_TEST_CASE(shared_memory_is_counted) {
  Gpu gpu;
  const Program program(kShared);
  const Function small = program.function("small"), large = program.function("large"),
                 dynamic = program.function("dynamic");
  BOOST_CHECK_EQUAL(attribute(small, FunctionAttribute::shared_bytes), 408);
  BOOST_CHECK_EQUAL(attribute(large, FunctionAttribute::shared_bytes), 40008);
  BOOST_CHECK_EQUAL(attribute(large, FunctionAttribute::max_dynamic_shared_bytes), (48 << 10) - 40008);
  Floats y(gpu, 64);
  BOOST_CHECK_EQUAL(program.launch("large", 1, 1, Args{y.pointer()}, gpu.stream, 9144), kSuccess);
  BOOST_CHECK_EQUAL(program.launch("large", 1, 1, Args{y.pointer()}, gpu.stream, 9145), kInvalidValue);
  BOOST_CHECK_EQUAL(program.launch("dynamic", 1, 64, Args{y.pointer()}, gpu.stream, 64 * 4), kSuccess);
  BOOST_CHECK_EQUAL(y.read()[3], 60);
  BOOST_CHECK_EQUAL(program.launch("dynamic", 1, 65, Args{y.pointer()}, gpu.stream, 65 * 4),
                    kLaunchOutOfResources);
  BOOST_CHECK_EQUAL(
      api.function_set_attribute(dynamic, FunctionAttribute::max_dynamic_shared_bytes, 228 << 10),
      kInvalidValue);
  CHECK_CUDA(function_set_attribute(dynamic, FunctionAttribute::max_dynamic_shared_bytes, 200 << 10));
  BOOST_CHECK_EQUAL(program.launch("dynamic", 1, 64, Args{y.pointer()}, gpu.stream, 200 << 10), kSuccess);
  CHECK_CUDA(stream_synchronize(gpu.stream));
}

BOOST_AUTO_TEST_CASE(arguments_are_copied_and_not_written) {
  Gpu gpu;
  const Program program(R"(struct Args { float* y; };
    extern "C" __global__ void f(Args args) { args.y[blockIdx.x * 2 + threadIdx.x] = 1; args.y = 0; })");
  Floats y(gpu, 4);
  BOOST_CHECK_EQUAL(program.launch("f", 2, 2, Args{y.pointer()}, gpu.stream), kSuccess);
  BOOST_CHECK(y.read() == std::vector<float>(4, 1));
}

BOOST_AUTO_TEST_CASE(pointers_are_to_the_device) {
  struct Three {
    void* nobody;
    const float* x;
    float *y, *z;
  };
  const char* text = R"(struct Three { void* nobody; const float* __restrict__ x; float *y, *const z; };
    extern "C" __global__ void f(const __grid_constant__ Three args) { *args.y = *args.x; })";
  float host = 1;
  int stack = 0;
  for (const char* wrong : {"", "x", "y", "z", "freed"}) {
    Gpu gpu;
    const Program program(text);
    Floats x(gpu, {4}), y(gpu, 1);
    const std::string is = wrong;
    Three args{&stack, is == "x" ? &host : x.pointer(), is == "y" ? &host : y.pointer(),
               is == "z" ? &host : nullptr};
    if (is == "freed") {
      const Floats gone(gpu, 1);
      args.z = gone.pointer();
    }
    const std::string said =
        stderr_of([&] { BOOST_CHECK_EQUAL(program.launch("f", 1, 1, args, gpu.stream), kSuccess); });
    BOOST_CHECK_EQUAL(said.empty(), is.empty());
    BOOST_CHECK_EQUAL(api.stream_synchronize(gpu.stream), is.empty() ? kSuccess : kIllegalAddress);
  }
  Gpu gpu({{"EMULATED_CUDA_HOST_POINTERS", "1"}});
  const Program program(text);
  BOOST_CHECK_EQUAL(program.launch("f", 1, 1, Three{nullptr, &host, &host, nullptr}, gpu.stream), kSuccess);
  CHECK_CUDA(stream_synchronize(gpu.stream));
}

BOOST_AUTO_TEST_CASE(modules_do_not_share) {
  Gpu gpu;
  const char* text = R"(struct Args { float* y; };
    __device__ float counter;
    template <int n> __device__ float& once() { static float v; return v; }
    extern "C" __global__ void f(const Args args) { args.y[0] = ++counter; args.y[1] = ++once<3>(); })";
  const Program a(text), b(text);
  Floats y(gpu, 2);
  for (const Program* program : {&a, &a, &b}) {
    BOOST_CHECK_EQUAL(program->launch("f", 1, 1, Args{y.pointer()}, gpu.stream), kSuccess);
  }
  BOOST_CHECK(y.read() == std::vector<float>(2, 1));
}

BOOST_AUTO_TEST_CASE(handles_are_checked) {
  Gpu gpu;
  const Program program(kSaxpy);
  Stream stream = nullptr;
  CHECK_CUDA(stream_create(&stream, kStreamNonBlocking));
  CHECK_CUDA(stream_destroy(stream));
  BOOST_CHECK_EQUAL(api.stream_destroy(stream), kInvalidHandle);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 1, 1, SaxpyArgs{}, stream), kInvalidHandle);
  BOOST_CHECK_EQUAL(api.event_query(reinterpret_cast<Event>(gpu.stream)), kInvalidHandle);
  Event event = nullptr;
  CHECK_CUDA(event_create(&event, kEventDisableTiming));
  CHECK_CUDA(event_destroy(event));
  BOOST_CHECK_EQUAL(api.event_record(event, gpu.stream), kInvalidHandle);
  CHECK_CUDA(context_set(nullptr));
  BOOST_CHECK_EQUAL(api.event_create(&event, 0), 201);
  CHECK_CUDA(context_set(gpu.context));
}

BOOST_AUTO_TEST_CASE(functions_by_name) {
  void* function = nullptr;
  int status = 0;
  BOOST_CHECK_EQUAL(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status), kNotFound);
  BOOST_CHECK_EQUAL(status, 1);
  BOOST_CHECK(function == nullptr);
  BOOST_CHECK_EQUAL(cuGetProcAddress_v2("cuLaunchKernel", &function, 12000, 0, &status), kSuccess);
  BOOST_CHECK(function == reinterpret_cast<void*>(api.launch));
#define LAZY_DRIVER(field, name, ...) BOOST_CHECK_MESSAGE(api.field != nullptr, #name);
#include "tests/emulated_cuda/driver.def"
}

BOOST_AUTO_TEST_CASE(before_init) {
  emulated_cuda_reset();
  int count = 0;
  BOOST_CHECK_EQUAL(api.device_count(&count), kNotInitialized);
  setenv("EMULATED_CUDA_DEVICES", "0", 1);
  emulated_cuda_reset();
  BOOST_CHECK_EQUAL(api.init(0), kNoDevice);
  unsetenv("EMULATED_CUDA_DEVICES");
  emulated_cuda_reset();
}

BOOST_AUTO_TEST_CASE(attributes) {
  Gpu gpu({{"EMULATED_CUDA_ARCH", "sm_86"}, {"EMULATED_CUDA_MULTIPROCESSORS", "3"}});
  const auto of = [](DeviceAttribute which) {
    int value = -1;
    CHECK_CUDA(device_attribute(&value, which, 0));
    return value;
  };
  BOOST_CHECK_EQUAL(of(DeviceAttribute::compute_capability_major), 8);
  BOOST_CHECK_EQUAL(of(DeviceAttribute::compute_capability_minor), 6);
  BOOST_CHECK_EQUAL(of(DeviceAttribute::multiprocessors), 3);
  BOOST_CHECK_EQUAL(of(DeviceAttribute::max_shared_memory_per_block_optin), 99 << 10);
  int value = 0;
  BOOST_CHECK_EQUAL(api.device_attribute(&value, DeviceAttribute::warp_size, 1), kInvalidDevice);
}

BOOST_AUTO_TEST_SUITE_END()
