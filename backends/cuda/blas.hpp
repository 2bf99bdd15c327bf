// Computes matrix products by cuBLASLt, on one GPU.
#pragma once
#include <mutex>
#include <string>
#include <unordered_map>

#include "backends/cuda/api/cublaslt.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend {

class Gpu;

/// Describes out[b](m, n) = sum over k of left[b](m, k) * right[b](k, n). Strides are in elements. Of each
/// matrix one of the two strides is 1.
struct BlasProblem {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  struct Matrix {
    const void* data = nullptr;
    api::BlasType type{};
    int64_t row = 0, column = 0, batch = 0;  // in elements
  } left, right, out;
  const void* bias = nullptr;  // n elements of out's type, side by side, added to each row
  bool f64 = false;            // adds up in float64, otherwise in float32
};

class Blas {
 public:
  explicit Blas(Gpu& gpu) : gpu_(gpu) {}
  /// Puts the product into the stream. Returns false if there is no cuBLASLt (logged once) or it can't do
  /// this.
  bool multiply(const BlasProblem&);

 private:
  struct Plan {  // what cuBLASLt proposed for one kind of problem
    api::BlasMatmul matmul = nullptr;
    api::BlasLayout a = nullptr, b = nullptr, d = nullptr;
    api::BlasAlgorithm algorithm{};
    size_t workspace_bytes = 0;
    bool usable = false;
  };
  bool start();
  const Plan& plan_of(const BlasProblem&);
  Plan make(const BlasProblem&) const;

  Gpu& gpu_;
  Mutex lock_;
  bool tried_ = false;
  const api::CublasLt* lt_ = nullptr;
  api::BlasHandle handle_ = nullptr;
  std::unordered_map<std::string, Plan> plans_;
};

}  // namespace lazy::cuda_backend
