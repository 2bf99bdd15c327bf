// Compares our declarations of the driver and NVRTC with the toolkit's headers, where those are installed
// (tests/CMakeLists.txt looks for them): every row of the backend's tables and of the tests' own, the
// enumerators and the structs.
#include <boost/test/unit_test.hpp>

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>

#include <tuple>
#include <type_traits>

#include "backends/cuda/api/nvrtc.hpp"
#include "tests/emulated_cuda/driver_types.hpp"

namespace {
namespace api = lazy::cuda_backend::api;

template <class T>
constexpr int kind_of = std::is_pointer_v<T>          ? 1
                        : std::is_floating_point_v<T> ? 2
                                                      : 3;
template <class A, class B>
constexpr bool alike = sizeof(A) == sizeof(B) && kind_of<A> == kind_of<B>;

template <class F>
struct Parameters;
template <class R, class... P>
struct Parameters<R (*)(P...)> {
  using Types = std::tuple<P...>;
};
template <class A, class B, size_t... I>
constexpr bool each_alike(std::index_sequence<I...>) {
  return (alike<std::tuple_element_t<I, A>, std::tuple_element_t<I, B>> && ...);
}
/// True if both have as many parameters, each of the same size and kind.
template <class F, class G>
constexpr bool same_call() {
  using A = typename Parameters<F>::Types;
  using B = typename Parameters<G>::Types;
  if constexpr (std::tuple_size_v<A> != std::tuple_size_v<B>) return false;
  else return each_alike<A, B>(std::make_index_sequence<std::tuple_size_v<A>>{});
}

namespace rows {
using namespace api;
struct Driver {
#define LAZY_DRIVER(field, name, ...) Result (*field)(__VA_ARGS__);
#include "tests/emulated_cuda/driver.def"
};
}  // namespace rows
#define LAZY_DRIVER(field, name, ...) \
  static_assert(same_call<decltype(rows::Driver::field), decltype(&name)>(), #name);
#include "tests/emulated_cuda/driver.def"
#define LAZY_NVRTC(field, name, ...) \
  static_assert(same_call<decltype(api::Nvrtc::field), decltype(&name)>(), #name);
#include "backends/cuda/api/nvrtc.def"

#define LAZY_SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)
LAZY_SAME(api::kSuccess, CUDA_SUCCESS);
LAZY_SAME(api::kSuccess, NVRTC_SUCCESS);
LAZY_SAME(api::kNvrtcInvalidOption, NVRTC_ERROR_INVALID_OPTION);
LAZY_SAME(api::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
LAZY_SAME(api::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
LAZY_SAME(api::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
LAZY_SAME(api::kNoDevice, CUDA_ERROR_NO_DEVICE);
LAZY_SAME(api::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
LAZY_SAME(api::kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
LAZY_SAME(api::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
LAZY_SAME(api::kNotFound, CUDA_ERROR_NOT_FOUND);
LAZY_SAME(api::kNotReady, CUDA_ERROR_NOT_READY);
LAZY_SAME(api::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
LAZY_SAME(api::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
LAZY_SAME(api::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
LAZY_SAME(api::kGraphExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
LAZY_SAME(api::DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
LAZY_SAME(api::DeviceAttribute::max_grid_x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
LAZY_SAME(api::DeviceAttribute::max_shared_memory_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
LAZY_SAME(api::DeviceAttribute::warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
LAZY_SAME(api::DeviceAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
LAZY_SAME(api::DeviceAttribute::l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
LAZY_SAME(api::DeviceAttribute::max_threads_per_multiprocessor,
          CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
LAZY_SAME(api::DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
LAZY_SAME(api::DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
LAZY_SAME(api::DeviceAttribute::max_shared_memory_per_block_optin,
          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
LAZY_SAME(api::DeviceAttribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
LAZY_SAME(api::FunctionAttribute::shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
LAZY_SAME(api::FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
LAZY_SAME(api::FunctionAttribute::max_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
LAZY_SAME(api::MemPoolAttribute::release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
LAZY_SAME(api::MemPoolAttribute::reserved_current, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
LAZY_SAME(api::MemPoolAttribute::used_current, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
LAZY_SAME(api::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
LAZY_SAME(api::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);

#define LAZY_FIELD(ours, theirs)                                                                         \
  static_assert(offsetof(api::KernelNodeParams, ours) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, theirs) && \
                    sizeof(api::KernelNodeParams::ours) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2::theirs),   \
                #theirs)
static_assert(sizeof(api::KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
LAZY_FIELD(function, func);
LAZY_FIELD(grid_x, gridDimX);
LAZY_FIELD(grid_y, gridDimY);
LAZY_FIELD(grid_z, gridDimZ);
LAZY_FIELD(block_x, blockDimX);
LAZY_FIELD(block_y, blockDimY);
LAZY_FIELD(block_z, blockDimZ);
LAZY_FIELD(shared_bytes, sharedMemBytes);
LAZY_FIELD(params, kernelParams);
LAZY_FIELD(extra, extra);
LAZY_FIELD(kernel, kern);
LAZY_FIELD(context, ctx);

#if __has_include(<cublasLt.h>)
}  // namespace
#include <cublasLt.h>

#include "backends/cuda/api/cublaslt.hpp"
namespace {
#define LAZY_CUBLASLT(field, name, ...) \
  static_assert(same_call<decltype(api::CublasLt::field), decltype(&name)>(), #name);
#include "backends/cuda/api/cublaslt.def"
LAZY_SAME(api::kBlasNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
LAZY_SAME(api::BlasCompute::f32, CUBLAS_COMPUTE_32F);
LAZY_SAME(api::BlasCompute::f64, CUBLAS_COMPUTE_64F);
LAZY_SAME(api::BlasType::f32, CUDA_R_32F);
LAZY_SAME(api::BlasType::f64, CUDA_R_64F);
LAZY_SAME(api::BlasType::f16, CUDA_R_16F);
LAZY_SAME(api::BlasType::bf16, CUDA_R_16BF);
LAZY_SAME(api::BlasOperation::none, CUBLAS_OP_N);
LAZY_SAME(api::BlasOperation::transpose, CUBLAS_OP_T);
LAZY_SAME(api::BlasEpilogue::none, CUBLASLT_EPILOGUE_DEFAULT);
LAZY_SAME(api::BlasEpilogue::relu, CUBLASLT_EPILOGUE_RELU);
LAZY_SAME(api::BlasEpilogue::bias, CUBLASLT_EPILOGUE_BIAS);
LAZY_SAME(api::BlasEpilogue::relu_bias, CUBLASLT_EPILOGUE_RELU_BIAS);
LAZY_SAME(api::BlasMatmulAttribute::transpose_a, CUBLASLT_MATMUL_DESC_TRANSA);
LAZY_SAME(api::BlasMatmulAttribute::transpose_b, CUBLASLT_MATMUL_DESC_TRANSB);
LAZY_SAME(api::BlasMatmulAttribute::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
LAZY_SAME(api::BlasMatmulAttribute::bias_pointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
LAZY_SAME(api::BlasMatmulAttribute::bias_type, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
LAZY_SAME(api::BlasLayoutAttribute::batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
LAZY_SAME(api::BlasLayoutAttribute::batch_stride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
LAZY_SAME(api::BlasPreferenceAttribute::workspace_bytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
LAZY_SAME(api::BlasPreferenceAttribute::alignment_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
LAZY_SAME(api::BlasPreferenceAttribute::alignment_b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
LAZY_SAME(api::BlasPreferenceAttribute::alignment_c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
LAZY_SAME(api::BlasPreferenceAttribute::alignment_d, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(api::BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(api::BlasHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(api::BlasHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(api::BlasHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
#endif

#if __has_include(<cufft.h>)
}  // namespace
#include <cufft.h>

#include "backends/cuda/api/cufft.hpp"
namespace {
#define LAZY_CUFFT(field, name, ...) \
  static_assert(same_call<decltype(api::Cufft::field), decltype(&name)>(), #name);
#include "backends/cuda/api/cufft.def"
LAZY_SAME(api::kSuccess, CUFFT_SUCCESS);
LAZY_SAME(api::kFftNoMemory, CUFFT_ALLOC_FAILED);
LAZY_SAME(api::kFftInvalidSize, CUFFT_INVALID_SIZE);
LAZY_SAME(api::kFftForward, CUFFT_FORWARD);
LAZY_SAME(api::kFftInverse, CUFFT_INVERSE);
LAZY_SAME(api::FftType::c2c, CUFFT_C2C);
LAZY_SAME(api::FftType::r2c, CUFFT_R2C);
LAZY_SAME(api::FftType::c2r, CUFFT_C2R);
LAZY_SAME(api::FftType::z2z, CUFFT_Z2Z);
LAZY_SAME(api::FftType::d2z, CUFFT_D2Z);
LAZY_SAME(api::FftType::z2d, CUFFT_Z2D);
#endif

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
}  // namespace
#include <nccl.h>

#include "backends/cuda/api/nccl.hpp"
namespace {
#define LAZY_NCCL(result, field, name, ...) \
  static_assert(same_call<decltype(api::Nccl::field), decltype(&name)>(), #name);
#include "backends/cuda/api/nccl.def"
LAZY_SAME(api::kNcclInProgress, ncclInProgress);
LAZY_SAME(api::NcclType::i8, ncclInt8);
LAZY_SAME(api::NcclType::u8, ncclUint8);
LAZY_SAME(api::NcclType::i32, ncclInt32);
LAZY_SAME(api::NcclType::u32, ncclUint32);
LAZY_SAME(api::NcclType::i64, ncclInt64);
LAZY_SAME(api::NcclType::u64, ncclUint64);
LAZY_SAME(api::NcclType::f16, ncclFloat16);
LAZY_SAME(api::NcclType::f32, ncclFloat32);
LAZY_SAME(api::NcclType::f64, ncclFloat64);
LAZY_SAME(api::NcclType::bf16, ncclBfloat16);
LAZY_SAME(api::NcclReduction::sum, ncclSum);
static_assert(sizeof(api::NcclId) == sizeof(ncclUniqueId));
#define LAZY_CONFIG(field) \
  static_assert(offsetof(api::NcclConfig, field) == offsetof(ncclConfig_t, field), #field)
LAZY_CONFIG(size);
LAZY_CONFIG(magic);
LAZY_CONFIG(version);
LAZY_CONFIG(blocking);
BOOST_AUTO_TEST_CASE(declarations_match_nccls) {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const api::NcclConfig ours;
  BOOST_TEST(ours.magic == theirs.magic);
  BOOST_TEST(ours.version <= theirs.version);
}
#endif

BOOST_AUTO_TEST_CASE(declarations_match_the_toolkits) {
  BOOST_TEST_MESSAGE("compiled against CUDA " << CUDA_VERSION / 1000 << "." << CUDA_VERSION % 1000 / 10);
  BOOST_CHECK_GE(CUDA_VERSION, 12000);
}

}  // namespace
#else
BOOST_AUTO_TEST_CASE(declarations_match_the_toolkits) {
  BOOST_TEST_MESSAGE("skipped: the CUDA toolkit's headers are not installed");
}
#endif
