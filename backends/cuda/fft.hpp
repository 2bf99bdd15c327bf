// Computes Fourier transforms by cuFFT, on one GPU.
#pragma once
#include <list>
#include <memory>
#include <mutex>

#include "backends/cuda/api/cufft.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend {

class Code;
class Gpu;

/// Describes rows to transform, each by itself and without a factor, as jit/built_in/fft/fft.hpp says:
/// forward of complex numbers. Rows lie one behind the other.
struct FftProblem {
  api::FftType type{};
  int64_t length = 0, rows = 0;
  const void *re = nullptr, *im = nullptr;  // of real numbers `re`
  void *to_re = nullptr,
       *to_im = nullptr;  // of real numbers `to_re`. One of two may be null: nobody reads it

  bool f64() const { return type >= api::FftType::z2z; }
  bool from_real() const { return type == api::FftType::r2c || type == api::FftType::d2z; }
  bool to_real() const { return type == api::FftType::c2r || type == api::FftType::z2d; }
  /// Return the numbers of a row, before and after.
  int64_t from() const { return to_real() ? length / 2 + 1 : length; }
  int64_t to() const { return from_real() ? length / 2 + 1 : length; }
};

class Fft {
 public:
  explicit Fft(Gpu&);
  ~Fft();
  /// Tells whether there is a cuFFT; logs once why not.
  bool is_there();
  /// Puts the transforms into the stream. Returns false if cuFFT makes no plan for them: then nothing is
  /// done, and `status` says why. Throws DeviceError if there is no cuFFT.
  bool run(const FftProblem&, api::Result& status);

 private:
  struct Plan {
    api::FftType type{};
    int64_t length = 0, rows = 0;
    api::FftHandle handle = 0;
    size_t work_bytes = 0;
    api::Result status = api::kSuccess;  // otherwise there is none
  };
  const Plan& plan_of(const FftProblem&);
  Plan make(const FftProblem&);
  api::Result try_plan(const FftProblem&, Plan&) const;
  /// Makes pairs of planes, or planes of pairs.
  void turn(const FftProblem&, bool packs, void* pairs);
  void execute(const FftProblem&, const Plan&, void* from, void* to);
  void copy(void* to, const void* from, size_t bytes);

  Gpu& gpu_;
  Mutex lock_;
  bool tried_ = false;
  const api::Cufft* library_ = nullptr;
  std::list<Plan> plans_;           // those used last first
  std::unique_ptr<Code> pairs_[2];  // of float32, of float64
};

}  // namespace lazy::cuda_backend
