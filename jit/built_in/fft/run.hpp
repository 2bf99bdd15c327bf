// Reads the arguments of a transform's run, and runs rows of it. What computes is in an unnamed namespace, as
// passes.hpp.
#pragma once
#include "jit/built_in/fft/transforms.hpp"
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

enum class FftKind : uint8_t { complex, columns, real, inverse };

/// Holds a run: its plan, and where its rows are.
template <class T>
struct FftRun {
  FftKind kind;
  int64_t length, rows;
  int64_t across = 1;  // columns that lie side by side
  std::shared_ptr<const FftPlan<T>> plan;
  const T *re, *im;
  T *to_re, *to_im;

  FftRun(const CallRun& r, FftKind k) : kind(k) {
    const Shape& spectrum = r.operands[0].shape;
    length = k == FftKind::inverse ? r.operands[2].shape[0] : spectrum.back();
    rows = spectrum.back() == 0 ? 0 : numel(spectrum) / spectrum.back();
    if (k == FftKind::columns) {
      across = spectrum.back();
      length = spectrum[spectrum.size() - 2];
      rows = length == 0 ? 0 : numel(spectrum) / length;
    }
    re = reinterpret_cast<const T*>(r.in[0]);
    im = k == FftKind::real ? nullptr : reinterpret_cast<const T*>(r.in[1]);
    to_re = reinterpret_cast<T*>(r.out[0]);
    to_im = k == FftKind::inverse ? nullptr : reinterpret_cast<T*>(r.out[1]);
    if (!to_re && !to_im) rows = 0;
    if (rows > 0) plan = fft_plan<T>(length, k == FftKind::real || k == FftKind::inverse);
  }
  /// Returns how many parts there are to share among threads: rows, or blocks of columns.
  int64_t parts() const {
    constexpr int64_t W = kFftSideBySide<T>;
    return kind != FftKind::columns || rows == 0 ? rows : rows / across * divide_up(across, W);
  }
};

/// Calls f with a zero of the C++ type of the operands.
template <class F>
void each_fft_type(const CallRun& r, F&& f) {
  if (r.operands[0].dtype == DType::float32) f(float{});
  else f(double{});
}

namespace {

/// Returns the numbers of T that a thread needs.
template <class T, int width>
int64_t fft_scratch(const FftRun<T>& run) {
  if (run.rows == 0) return 0;
  return run.kind == FftKind::columns ? FftTransforms<T, width>::scratch_of_columns(*run.plan)
                                      : FftTransforms<T, width>::scratch(*run.plan);
}

/// Transforms parts [first, last). Which rows are done together goes by the shape alone: `first` is a
/// multiple of `width`.
template <class T, int width>
void fft_rows(const FftRun<T>& run, int64_t first, int64_t last, T* scratch, FftShare share) {
  if (first >= last) return;
  const FftTransforms<T, width> t{*run.plan, run.re, run.im, run.to_re, run.to_im, share};
  switch (run.kind) {
    case FftKind::complex:
      return t.complex_rows(first, last, run.rows >= width && t.fits_lanes(*run.plan), scratch);
    case FftKind::columns: return t.columns(first, last, run.across, scratch);
    case FftKind::real: return t.real_rows(first, last, scratch);
    case FftKind::inverse: return t.half_spectra(first, last, scratch);
  }
}

}  // namespace
}  // namespace lazy::jit::calls
