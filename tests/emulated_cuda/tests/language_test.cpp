// Compares the builtins that a kernel's text may use with CUDA's documentation.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/emulated_cuda/tests/device.hpp"

using namespace emulated_test;

namespace {

struct Args {
  const double* x;  // 32 numbers
  double* y;        // result of each lane of one warp
};

double input(int lane) { return lane * 1.25 - 7.125; }

/// Returns y of each lane, where the kernel computes it from `x`, a double, and `lane`.
std::vector<double> lanes(const std::string& expression) {
  Gpu gpu;
  const Program program(
      "struct Args { const double* x; double* y; };\nextern \"C\" __global__ void f(const Args args) {\n"
      "const int lane = threadIdx.x; const double x = args.x[lane];\nargs.y[lane] = (double)(" +
      expression + ");\n}\n");
  DevicePtr x = 0, y = 0;
  std::vector<double> host(32);
  for (int i = 0; i < 32; ++i) host[static_cast<size_t>(i)] = input(i);
  CHECK_CUDA(allocate_async(&x, 256, gpu.stream));
  CHECK_CUDA(allocate_async(&y, 256, gpu.stream));
  CHECK_CUDA(copy_to_device(x, host.data(), 256, gpu.stream));
  const Args args{reinterpret_cast<double*>(x), reinterpret_cast<double*>(y)};
  BOOST_CHECK_EQUAL(program.launch("f", 1, 32, args, gpu.stream), kSuccess);
  CHECK_CUDA(copy_to_host(host.data(), y, 256, gpu.stream));
  CHECK_CUDA(free_async(x, gpu.stream));
  CHECK_CUDA(free_async(y, gpu.stream));
  CHECK_CUDA(stream_synchronize(gpu.stream));
  return host;
}

void check(const char* expression, const std::function<double(int lane, double x)>& expected) {
  const auto got = lanes(expression);
  for (int i = 0; i < 32; ++i) {
    const double want = expected(i, input(i)), is = got[static_cast<size_t>(i)];
    BOOST_CHECK_MESSAGE(std::bit_cast<uint64_t>(is) == std::bit_cast<uint64_t>(want),
                        expression << ", lane " << i << ": " << is << ", not " << want);
  }
}

float f(double x) { return static_cast<float>(x); }

}  // namespace

BOOST_AUTO_TEST_SUITE(language)

BOOST_AUTO_TEST_CASE(shuffles) {
  check("__shfl_sync(0xffffffffu, x, lane + 3)", [](int lane, double) { return input((lane + 3) % 32); });
  check("__shfl_sync(0xffffffffu, x, lane + 3, 8)",
        [](int lane, double) { return input(lane / 8 * 8 + (lane + 3) % 8); });
  check("__shfl_up_sync(0xffffffffu, (float)x, 5)",
        [](int lane, double) { return f(input(lane < 5 ? lane : lane - 5)); });
  check("__shfl_down_sync(0xffffffffu, (int)lane, 16)",
        [](int lane, double) { return lane < 16 ? lane + 16 : lane; });
  check("__shfl_down_sync(0xffffffffu, (unsigned)lane, 2, 4)",
        [](int lane, double) { return lane % 4 < 2 ? lane + 2 : lane; });
  check("__shfl_xor_sync(0xffffffffu, (long long)lane - 40, 9)",
        [](int lane, double) { return (lane ^ 9) - 40; });
  check("__shfl_xor_sync(0xffffffffu, lane, 5, 4)",
        [](int lane, double) { return lane / 4 % 2 == 1 ? lane ^ 5 : lane; });
  check("__shfl_sync(0xffffffffu, 1ull << lane, 31)", [](int, double) { return 2147483648.0; });
  check("lane < 8 ? __shfl_sync(0xffu, lane, 2) : __shfl_sync(0xffffff00u, lane, 9)",
        [](int lane, double) { return lane < 8 ? 2 : 9; });
}

BOOST_AUTO_TEST_CASE(votes) {
  check("__ballot_sync(0xffffffffu, lane % 3 == 0)", [](int, double) { return double{0x49249249}; });
  check("__any_sync(0xffffffffu, lane == 9)", [](int, double) { return 1; });
  check("__any_sync(0xffffffffu, 0)", [](int, double) { return 0; });
  check("__all_sync(0xffffffffu, lane >= 0)", [](int, double) { return 1; });
  check("lane < 4 ? __all_sync(0xfu, lane < 3) : __all_sync(0xfffffff0u, lane > 3)",
        [](int lane, double) { return lane < 4 ? 0 : 1; });
  check("__syncwarp(), __syncwarp(0xffffffffu), lane", [](int lane, double) { return lane; });
}

BOOST_AUTO_TEST_CASE(bits) {
  check("__float_as_int((float)x)", [](int, double x) { return std::bit_cast<int>(f(x)); });
  check("__int_as_float(__float_as_int((float)x) + 1)",
        [](int, double x) { return std::bit_cast<float>(std::bit_cast<int>(f(x)) + 1); });
  check("__float_as_uint((float)x)", [](int, double x) { return std::bit_cast<unsigned>(f(x)); });
  check("__uint_as_float(0x40490fdbu + lane)",
        [](int lane, double) { return std::bit_cast<float>(0x40490fdb + lane); });
  check("__longlong_as_double(__double_as_longlong(x) ^ 1)",
        [](int, double x) { return std::bit_cast<double>(std::bit_cast<int64_t>(x) ^ 1); });
  check("__umulhi(0x80000001u, 6u * lane)",
        [](int lane, double) { return (0x80000001ull * 6 * static_cast<unsigned>(lane)) >> 32; });
  check("__clz(lane)", [](int lane, double) { return std::countl_zero(static_cast<unsigned>(lane)); });
  check("__ffs(lane)",
        [](int lane, double) { return lane == 0 ? 0 : std::countr_zero(static_cast<unsigned>(lane)) + 1; });
  check("__popc(lane)", [](int lane, double) { return std::popcount(static_cast<unsigned>(lane)); });
}

BOOST_AUTO_TEST_CASE(mathematics) {
  check("fma(x, x, -x)", [](int, double x) { return std::fma(x, x, -x); });
  check("fma(x * x, 1e-16, x)", [](int, double x) { return std::fma(x * x, 1e-16, x); });
  check("x * x + 1e-17", [](int, double x) {
    const volatile double square = x * x;  // two roundings
    return square + 1e-17;
  });
  check("fmaf((float)x, 3.1f, 1e-7f)", [](int, double x) { return std::fma(f(x), 3.1f, 1e-7f); });
  check("fma((float)x, 3.1f, 1e-7f)", [](int, double x) { return std::fma(f(x), 3.1f, 1e-7f); });
  check("sqrt(x * x + 2)", [](int, double x) { return std::sqrt(x * x + 2); });
  check("sqrtf(lane)", [](int lane, double) { return std::sqrt(static_cast<float>(lane)); });
  check("floor(x)", [](int, double x) { return std::floor(x); });
  check("ceilf((float)x)", [](int, double x) { return std::ceil(f(x)); });
  check("trunc(x)", [](int, double x) { return std::trunc(x); });
  check("rint(x * 2)", [](int, double x) { return std::rint(x * 2); });
  check("rintf((float)x)", [](int, double x) { return std::rint(f(x)); });
  check("fmod(x, 2.5)", [](int, double x) { return std::fmod(x, 2.5); });
  check("fmodf((float)x, 0.3f)", [](int, double x) { return std::fmod(f(x), 0.3f); });
  check("fabs((float)x)", [](int, double x) { return std::fabs(f(x)); });
  check("copysign(3.0, x)", [](int, double x) { return std::copysign(3.0, x); });
  check("sin(x)", [](int, double x) { return std::sin(x); });
  check("cos(x)", [](int, double x) { return std::cos(x); });
  check("tan(x)", [](int, double x) { return std::tan(x); });
}

BOOST_AUTO_TEST_CASE(constants_and_alignment) {
  Gpu gpu;
  const Program program(R"(
struct Args { const double* x; double* y; };
__constant__ double table[2] = {3, 4};
static __device__ __noinline__ double pick(const double* __restrict__ from, int i) { return from[i]; }
namespace inner { constexpr int kWidth = 16; }
extern "C" __global__ void __launch_bounds__(inner::kWidth) f(const Args args) {
  __shared__ __align__(64) char bytes[64];
  bytes[threadIdx.x] = 1;
  __syncthreads();
  args.y[0] = pick(table, 1) + (unsigned long long)bytes % 64 + bytes[0];
})");
  DevicePtr y = 0;
  double result = 0;
  CHECK_CUDA(allocate_async(&y, 8, gpu.stream));
  BOOST_CHECK_EQUAL(program.launch("f", 1, 16, Args{nullptr, reinterpret_cast<double*>(y)}, gpu.stream),
                    kSuccess);
  BOOST_CHECK_EQUAL(program.launch("f", 1, 17, Args{nullptr, reinterpret_cast<double*>(y)}, gpu.stream),
                    kLaunchOutOfResources);
  CHECK_CUDA(copy_to_host(&result, y, 8, gpu.stream));
  CHECK_CUDA(free_async(y, gpu.stream));
  CHECK_CUDA(stream_synchronize(gpu.stream));
  BOOST_CHECK_EQUAL(result, 5);
}

BOOST_AUTO_TEST_SUITE_END()
