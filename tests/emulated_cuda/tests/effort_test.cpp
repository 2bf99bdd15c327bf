// Tests kernels that are optimised because they run for long.
#include <algorithm>

#include "tests/emulated_cuda/tests/device.hpp"

using namespace emulated_test;

namespace {

struct Args {
  float* y;
};

/// Each thread writes 1 if its code is optimised, and 0 if not.
const char* const kPlain = R"(
struct Args { float* y; };
#ifdef __OPTIMIZE__
__device__ float effort() { return 1; }
#else
__device__ float effort() { return 0; }
#endif
extern "C" __global__ void other(const Args args) {}
extern "C" __global__ void __launch_bounds__(64) f(const Args args) {
  args.y[blockIdx.x * blockDim.x + threadIdx.x] = effort();
}
)";

/// Likewise, by the thread's neighbour.
const char* const kShared = R"(
struct Args { float* y; };
#ifdef __OPTIMIZE__
__device__ float effort() { return 1; }
#else
__device__ float effort() { return 0; }
#endif
extern "C" __global__ void __launch_bounds__(64) f(const Args args) {
  __shared__ float efforts[64];
  efforts[threadIdx.x] = effort() + threadIdx.x * 2;
  __syncthreads();
  const int other = threadIdx.x ^ 1;
  args.y[blockIdx.x * blockDim.x + threadIdx.x] = efforts[other] - other * 2;
}
)";

constexpr unsigned kBlocks = 40, kThreads = 64;

/// Returns what each thread writes, in the order of the threads.
std::vector<float> efforts(const Gpu& gpu, const Program& program) {
  Floats y(gpu, std::vector<float>(kBlocks * kThreads, 7));
  BOOST_CHECK_EQUAL(program.launch("f", kBlocks, kThreads, Args{y.pointer()}, gpu.stream), kSuccess);
  return y.read();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(effort)

#ifdef EMULATED_CUDA_CC1PLUS  // otherwise all are optimised

BOOST_AUTO_TEST_CASE(short_kernels_are_not_optimised) {
  Gpu gpu({{"EMULATED_CUDA_PATIENCE", "1000000"}});
  const std::vector<float> none(kBlocks * kThreads, 0);
  BOOST_TEST(efforts(gpu, Program(kPlain)) == none);
}

BOOST_AUTO_TEST_CASE(a_grid_goes_on_with_optimised_code) {
  Gpu gpu({{"EMULATED_CUDA_PATIENCE", "0"}});
  const Program program(kPlain);
  const std::vector<float> first = efforts(gpu, program);
  BOOST_TEST(std::is_sorted(first.begin(), first.end()));
  BOOST_TEST(first.front() == 0);
  BOOST_TEST(first[kThreads - 1] == 1);  // not only between blocks
  BOOST_TEST(first.back() == 1);
  const std::vector<float> all(kBlocks * kThreads, 1);
  BOOST_TEST(efforts(gpu, program) == all);
}

BOOST_AUTO_TEST_CASE(threads_that_share_memory_run_the_same_code) {
  for (const char* order : {"forward", "shuffled"}) {
    Gpu gpu({{"EMULATED_CUDA_PATIENCE", "0"}, {"EMULATED_CUDA_ORDER", order}});
    const std::vector<float> y = efforts(gpu, Program(kShared));
    for (size_t block = 0; block < kBlocks; ++block) {
      const auto first = y.begin() + static_cast<ptrdiff_t>(block * kThreads);
      BOOST_TEST(std::count(first, first + kThreads, *first) == ptrdiff_t{kThreads});
    }
    const auto optimised = static_cast<size_t>(std::count(y.begin(), y.end(), 1.0f));
    BOOST_TEST(optimised > 0);
    BOOST_TEST(optimised < y.size());
    BOOST_TEST(optimised + static_cast<size_t>(std::count(y.begin(), y.end(), 0.0f)) == y.size());
  }
}

#endif

BOOST_AUTO_TEST_SUITE_END()
