// Declares cuBLASLt as a table of functions. It is opened when the first product is large enough for it: it
// takes a while, and 150 MB.
#pragma once
#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend::api {

using BlasHandle = struct BlasHandleStruct*;
using BlasMatmul = struct BlasMatmulStruct*;
using BlasLayout = struct BlasLayoutStruct*;
using BlasPreference = struct BlasPreferenceStruct*;
inline constexpr Result kBlasNotSupported = 15;

enum class BlasCompute : int { f32 = 68, f64 = 70 };                            // cublasComputeType_t
enum class BlasType : int { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 };             // cudaDataType
enum class BlasOperation : int { none = 0, transpose = 1 };                     // cublasOperation_t
enum class BlasEpilogue : int { none = 1, relu = 2, bias = 4, relu_bias = 6 };  // cublasLtEpilogue_t
enum class BlasMatmulAttribute : int {
  transpose_a = 3,
  transpose_b = 4,
  epilogue = 7,
  bias_pointer = 8,
  bias_type = 26
};
enum class BlasLayoutAttribute : int { batch_count = 5, batch_stride = 6 };
enum class BlasPreferenceAttribute : int {
  workspace_bytes = 1,
  alignment_a = 5,
  alignment_b = 6,
  alignment_c = 7,
  alignment_d = 8,
};
/// Declares cublasLtMatmulAlgo_t.
struct BlasAlgorithm {
  uint64_t data[8];
};
/// Declares cublasLtMatmulHeuristicResult_t.
struct BlasHeuristic {
  BlasAlgorithm algorithm;
  size_t workspace_bytes;
  Result state;
  float waves;
  int reserved[4];
};

struct CublasLt {
#define LAZY_CUBLASLT(field, name, ...) Result (*field)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/cublaslt.def"
};

/// Throws DeviceError if there is none, at each call again.
const CublasLt& cublaslt();

}  // namespace lazy::cuda_backend::api
