#include "backends/cuda/fft_call.hpp"

#include <string>

#include "jit/backend/registry.hpp"
#include "jit/built_in/fft/fft.hpp"
#include "jit/calls/on_host.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::CallRun;
using jit::CallSpec;

class FftCall final : public jit::CallKernel {
 public:
  explicit FftCall(const CallSpec& spec)
      : spec_(spec), on_host_(jit::call_kernel_for(spec, *jit::backends().main)) {}

  void run(const CallRun& r) const override {
    FftProblem p = problem(r);
    if (p.rows == 0 || p.length == 0 || (!p.to_re && !p.to_im)) return;
    auto& gpu = *reinterpret_cast<Gpu*>(r.backend.context());
    if (sums_on(gpu) == config::Sums::ordered)
      return jit::run_on_host(r, *on_host_, "LAZY_CUDA_SUMS=ordered asks for the CPU's sums");
    api::Result status = api::kSuccess;
    if (!gpu.fft.run(p, status))
      jit::run_on_host(r, *on_host_, "cuFFT makes no plan for it (status " + std::to_string(status) + ")");
  }
  std::string schedule() const override { return "cuFFT, or " + on_host_->schedule() + " on the host"; }

 private:
  FftProblem problem(const CallRun& r) const {
    const jit::CallDefinition* const d = &spec_.definition();
    const bool f64 = r.operands[0].dtype == DType::float64;
    const Shape& shape = r.operands[0].shape;
    FftProblem p;
    p.length = shape.back();
    p.rows = shape.back() == 0 ? 0 : numel(shape) / shape.back();
    p.re = r.in[0];
    p.to_re = r.out[0];
    if (d == &jit::calls::kFft) {
      p.type = f64 ? api::FftType::z2z : api::FftType::c2c;
      p.im = r.in[1], p.to_im = r.out[1];
    } else if (d == &jit::calls::kRealFft) {
      p.type = f64 ? api::FftType::d2z : api::FftType::r2c;
      p.to_im = r.out[1];
    } else {
      p.type = f64 ? api::FftType::z2d : api::FftType::c2r;
      p.im = r.in[1];
      p.length = r.operands[2].shape[0];
    }
    return p;
  }

  const CallSpec& spec_;
  const std::shared_ptr<const jit::CallKernel> on_host_;
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_fft_call(const CallSpec& spec, Gpu& gpu) {
  const jit::CallDefinition* const d = &spec.definition();
  if (d != &jit::calls::kFft && d != &jit::calls::kRealFft && d != &jit::calls::kInverseRealFft)
    return nullptr;
  return gpu.fft.is_there() ? std::make_unique<FftCall>(spec) : nullptr;
}

}  // namespace lazy::cuda_backend
