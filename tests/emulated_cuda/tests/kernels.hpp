// Holds kernel texts.
#pragma once

namespace emulated_test {

struct SaxpyArgs {
  alignas(8) float a;
  const float* x;
  float* y;
  long long n;
};
inline constexpr const char* kSaxpy = R"(
struct Args { alignas(8) float a; const float* x; float* y; long long n; };
extern "C" __global__ void __launch_bounds__(128) saxpy(const Args args) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < args.n) args.y[i] = fmaf(args.a, args.x[i], args.y[i]);
}
)";

struct RowArgs {
  const float* x;
  float* y;
  long long n;
};
/// Sums each row of n floats, in a block; pairs fold in halves.
inline constexpr const char* kRowSum = R"(
struct Args { const float* x; float* y; long long n; };
__device__ __forceinline__ float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  return v;
}
extern "C" __global__ void __launch_bounds__(256) row_sum(const Args args) {
  __shared__ float partial[32];
  const float* row = args.x + blockIdx.x * args.n;
  float sum = 0;
  for (long long i = threadIdx.x; i < args.n; i += blockDim.x) sum += row[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) args.y[blockIdx.x] = sum;
  }
}
)";

}  // namespace emulated_test
