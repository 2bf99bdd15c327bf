// Tests that behaviour which CUDA leaves undefined is diagnosed, or shows in another order of threads.
#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/stderr.hpp"

using namespace emulated_test;

namespace {

struct Args {
  float* y;
};

std::string kernel(const std::string& body, const std::string& bounds = "") {
  return "struct Args { float* y; };\nextern \"C\" __global__ void " + bounds + " f(const Args args) {\n" +
         body + "\n}\n";
}

/// Returns the diagnosis of a kernel on two blocks, and checks that its device is lost.
std::string diagnosis(const std::string& body, unsigned threads = 64, const char* order = "forward") {
  Gpu gpu({{"EMULATED_CUDA_ORDER", order}});
  const Program program(kernel(body));
  Floats y(gpu, 64);
  Result synchronised = 0;
  const std::string text = stderr_of([&] {
    BOOST_CHECK_EQUAL(program.launch("f", 2, threads, Args{y.pointer()}, gpu.stream), kSuccess);
    synchronised = api.stream_synchronize(gpu.stream);
  });
  BOOST_CHECK_EQUAL(synchronised, kLaunchFailed);
  BOOST_CHECK_EQUAL(api.stream_synchronize(gpu.stream), kLaunchFailed);
  DevicePtr none = 0;
  BOOST_CHECK_EQUAL(api.allocate_async(&none, 16, gpu.stream), kLaunchFailed);
  return text;
}

void check_says(const std::string& text, const std::string& part) {
  BOOST_CHECK_MESSAGE(text.find(part) != std::string::npos, "no '" << part << "' in: " << text);
}

/// Returns y[0..64) of a kernel that shifts the numbers of threads by one through shared memory.
std::vector<float> shifted(const char* barrier, const char* order) {
  Gpu gpu({{"EMULATED_CUDA_ORDER", order}});
  const Program program(kernel(std::string("__shared__ float s[64]; s[threadIdx.x] = threadIdx.x;") +
                               barrier + "args.y[threadIdx.x] = s[(threadIdx.x + 63) % 64];"));
  Floats y(gpu, 64);
  BOOST_CHECK_EQUAL(program.launch("f", 1, 64, Args{y.pointer()}, gpu.stream), kSuccess);
  return y.read();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(divergence)

BOOST_AUTO_TEST_CASE(a_missing_barrier_shows_in_another_order) {
  for (const char* order : {"forward", "reverse", "shuffled:3"}) {
    const auto right = shifted("__syncthreads();", order), wrong = shifted("", order);
    int bad = 0;
    for (size_t i = 0; i < 64; ++i) {
      BOOST_CHECK_EQUAL(right[i], static_cast<float>((i + 63) % 64));
      bad += wrong[i] != right[i];
    }
    BOOST_TEST_CONTEXT(order) { BOOST_CHECK(order == std::string("forward") ? bad == 1 : bad > 10); }
  }
}

BOOST_AUTO_TEST_CASE(barrier_in_a_branch) {
  for (const char* order : {"forward", "reverse", "shuffled"}) {
    const std::string text = diagnosis("if (threadIdx.x < 40)\n__syncthreads();", 64, order);
    check_says(text, "kernel 'f', block ");
    check_says(text, "thread 0 and 39 others at __syncthreads (line 4); thread 40 and 23 others returned");
  }
}

BOOST_AUTO_TEST_CASE(two_barriers) {
  check_says(diagnosis("if (threadIdx.x == 5) {\n__syncthreads(); } else {\n__syncthreads(); }"),
             "different barriers: thread 0 and 62 others at __syncthreads (line 5); thread 5 at "
             "__syncthreads (line 4)");
}

BOOST_AUTO_TEST_CASE(lanes_that_do_not_come) {
  check_says(
      diagnosis("if (threadIdx.x % 32 != 7) args.y[0] = __shfl_sync(0xffffffffu, 1.0f, 0);"),
      "thread 0 and 61 others at __shfl_sync (line 3, mask 0xffffffff); thread 7 and 1 others returned");
  check_says(
      diagnosis("if (threadIdx.x % 32 < 16) args.y[0] = __any_sync(0xffffffffu, 1); else __syncthreads();"),
      "thread 0 and 31 others at __any_sync (line 3, mask 0xffffffff); thread 16 and 31 others at "
      "__syncthreads");
}

BOOST_AUTO_TEST_CASE(masks) {
  check_says(diagnosis("args.y[0] = __shfl_sync(0x0000ffffu, 1.0f, 0);"),
             "thread 16 is not in the mask that it gives, at __shfl_sync (line 3)");
  check_says(diagnosis("__syncwarp();", 48),
             "thread 32 names lanes in its mask that the block does not have");
  check_says(diagnosis("if (threadIdx.x % 2) __any_sync(0xffffffffu, 1); else __all_sync(0xffffffffu, 1);"),
             "lanes of a mask differ");
  check_says(diagnosis("args.y[0] = __shfl_xor_sync(0xffffffffu, 1.0f, 1, 12);"), "no power of two");
}

BOOST_AUTO_TEST_CASE(the_next_device_is_not_lost) {
  diagnosis("if (threadIdx.x == 0) __syncthreads();");
  for (int i = 0; i < 3; ++i) shifted("__syncthreads();", "forward");
}

BOOST_AUTO_TEST_CASE(shared_memory_starts_as_garbage) {
  Gpu gpu;
  const Program program(kernel("__shared__ float s[64]; args.y[blockIdx.x] = s[3]; s[3] = 1;"));
  Floats y(gpu, 4);
  BOOST_CHECK_EQUAL(program.launch("f", 4, 1, Args{y.pointer()}, gpu.stream), kSuccess);
  for (const float v : y.read()) BOOST_CHECK(v != 1 && v != 0);
}

BOOST_AUTO_TEST_SUITE_END()
