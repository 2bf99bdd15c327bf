// Describes one GPU: its primary context, our stream on it, and its memory. All work of ours on a GPU is in
// one stream, so it happens in the order of the calls, from whichever thread; but for what it exchanges with
// GPUs of other processes (nccl_carrier.cpp).
#pragma once
#include <string>

#include "backends/cuda/allocator.hpp"
#include "backends/cuda/api/driver.hpp"
#include "backends/cuda/blas.hpp"
#include "backends/cuda/fft.hpp"
#include "backends/cuda/launch_graph.hpp"
#include "backends/cuda/staging.hpp"
#include "support/forks.hpp"

namespace lazy::cuda_backend {

/// Throws DeviceError: CUDA works in no process that was forked after its first use.
[[noreturn]] void fail_in_child();

class Gpu {
 public:
  explicit Gpu(int ordinal);
  Gpu(const Gpu&) = delete;

  /// Makes its context the calling thread's.
  void enter() const {
    if (generation != forks::generation()) [[unlikely]]
      fail_in_child();
    check(driver.context_set(context), "cuCtxSetCurrent");
  }
  /// Throws DeviceError, naming the GPU and what was done, unless `r` is success.
  void check(api::Result r, const char* what) const {
    if (r != api::kSuccess) [[unlikely]]
      fail(r, what);
  }
  [[noreturn]] void fail(api::Result, const char* what) const;
  /// Returns the call's result; where that is that there is no memory, it calls once more after cached blocks
  /// were released.
  template <class Call>
  api::Result with_room(Call&& call) {
    const api::Result r = call();
    return r == api::kOutOfMemory && allocator.release_kept() > 0 ? call() : r;
  }
  void synchronize() const;
  /// Puts a launch into the stream, or into the calling thread's capture.
  void launch(const Launched& l) {
    if (CudaLaunchCapture* r = CudaLaunchCapture::current(*this)) return r->add(l);
    enter();
    launch_now(l);
  }
  void launch_now(const Launched&) const;
  /// Runs captured launches first. Has to be called before something other than a launch goes into the
  /// stream.
  void before_other_work() const {
    if (CudaLaunchCapture* r = CudaLaunchCapture::current(*this)) r->interrupt();
  }

  const api::Driver& driver;
  const int ordinal;
  const uint32_t generation = forks::generation();
  api::Device handle = 0;
  api::Context context = nullptr;
  api::Stream stream = nullptr;
  std::string name;      // "NVIDIA H200"
  int architecture = 0;  // 90 for sm_90
  size_t memory = 0;     // bytes
  int multiprocessors = 0;
  Allocator allocator;
  Staging staging;
  LaunchGraphs graphs;
  Blas blas;
  Fft fft;

 private:
  int attribute(api::DeviceAttribute) const;
};

}  // namespace lazy::cuda_backend
