// Runs Fourier transforms on the CPU: shares rows among threads.
#include "backends/cpu/calls/fft.hpp"

#include <algorithm>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/built_in/fft/fft.hpp"

namespace lazy::cpu_backend {
namespace fft {
namespace {

using jit::calls::FftKind;
using jit::calls::FftRun;

constexpr int64_t kPiecesOfThread = 4;  // so that threads end together

template <class T>
void run_level(const FftRun<T>& run, const Level<T>& level) {
  const int64_t bytes = level.scratch(run) * static_cast<int64_t>(sizeof(T));
  const auto piece = [&](int64_t first, int64_t last) {
    const Scratch scratch(bytes);
    level.rows(run, first, last, reinterpret_cast<T*>(scratch.data()));
  };
  const int64_t blocks = (run.rows + kRowsTogether - 1) / kRowsTogether;
  const bool several = blocks > 1 && worth_threads(jit::calls::fft_nanoseconds(run.rows, run.length));
  const int64_t pieces = several ? std::min(blocks, thread_count() * kPiecesOfThread) : 1;
  if (pieces <= 1) return piece(0, run.rows);
  for_each(pieces, [&](int64_t i) {
    piece(blocks * i / pieces * kRowsTogether, std::min(blocks * (i + 1) / pieces * kRowsTogether, run.rows));
  });
}

class Transform final : public jit::CallKernel {
 public:
  explicit Transform(FftKind kind) : kind_(kind) {}
  void run(const jit::CallRun& r) const override {
    if (r.operands[0].dtype == DType::float32) run_level(FftRun<float>(r, kind_), kFloats);
    else run_level(FftRun<double>(r, kind_), kDoubles);
  }
  std::string schedule() const override { return "Fourier transform, avx2"; }

 private:
  const FftKind kind_;
};

}  // namespace
}  // namespace fft

std::unique_ptr<jit::CallKernel> make_fft(const jit::CallDefinition& d, Isa isa) {
  if (isa < Isa::avx2) return nullptr;
  return std::make_unique<fft::Transform>(&d == &jit::calls::kFft       ? jit::calls::FftKind::complex
                                          : &d == &jit::calls::kRealFft ? jit::calls::FftKind::real
                                                                        : jit::calls::FftKind::inverse);
}

}  // namespace lazy::cpu_backend
