// Runs Fourier transforms on the CPU: shares rows among threads.
#include "backends/cpu/calls/fft.hpp"

#include <algorithm>
#include <functional>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/built_in/fft/fft.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace fft {
namespace {

using jit::calls::FftKind;
using jit::calls::FftRun;

constexpr int64_t kPiecesOfThread = 4;  // so that threads end together

/// Calls f for all of a long row, on this thread.
void alone(int64_t count, int64_t bytes, const std::function<void(int64_t, int64_t, void*)>& f) {
  const Scratch scratch(bytes);
  f(0, count, scratch.data());
}

/// Calls f for parts of a long row, on the threads.
void on_threads(int64_t count, int64_t bytes, const std::function<void(int64_t, int64_t, void*)>& f) {
  const int64_t pieces = std::min<int64_t>(count, thread_count() * kPiecesOfThread);
  if (thread_count() == 1 || pieces <= 1) return alone(count, bytes, f);
  for_each(pieces, [&](int64_t i) {
    const Scratch scratch(bytes);
    f(count * i / pieces, count * (i + 1) / pieces, scratch.data());
  });
}

template <class T>
void run_level(const FftRun<T>& run, const Level<T>& level) {
  const int64_t bytes = level.scratch(run) * static_cast<int64_t>(sizeof(T));
  const auto piece = [&](int64_t first, int64_t last, jit::calls::FftShare share) {
    const Scratch scratch(bytes);
    level.rows(run, first, last, reinterpret_cast<T*>(scratch.data()), share);
  };
  const int64_t parts = run.parts(), together = run.kind == FftKind::columns ? 1 : kRowsTogether;
  const int64_t blocks = divide_up(parts, together);
  const bool several = blocks > 1 && worth_threads(jit::calls::fft_nanoseconds(run.rows, run.length));
  const int64_t pieces = several ? std::min(blocks, thread_count() * kPiecesOfThread) : 1;
  if (pieces <= 1) return piece(0, parts, on_threads);
  for_each(pieces, [&](int64_t i) {
    piece(blocks * i / pieces * together, std::min(blocks * (i + 1) / pieces * together, parts), alone);
  });
}

class Transform final : public jit::CallKernel {
 public:
  Transform(FftKind kind, const Vectors& vectors) : kind_(kind), vectors_(vectors) {}
  void run(const jit::CallRun& r) const override {
    if (r.operands[0].dtype == DType::float32) run_level(FftRun<float>(r, kind_), vectors_.floats);
    else run_level(FftRun<double>(r, kind_), vectors_.doubles);
  }
  std::string schedule() const override { return std::string("Fourier transform, ") + vectors_.name; }

 private:
  const FftKind kind_;
  const Vectors& vectors_;
};

}  // namespace
}  // namespace fft

std::unique_ptr<jit::CallKernel> make_fft(const jit::CallDefinition& d, Isa isa) {
  if (isa < Isa::avx2) return nullptr;
  return std::make_unique<fft::Transform>(&d == &jit::calls::kFft          ? jit::calls::FftKind::complex
                                          : &d == &jit::calls::kFftColumns ? jit::calls::FftKind::columns
                                          : &d == &jit::calls::kRealFft    ? jit::calls::FftKind::real
                                                                           : jit::calls::FftKind::inverse,
                                          isa < Isa::avx512 ? fft::kAvx2 : fft::kAvx512);
}

}  // namespace lazy::cpu_backend
