// Transforms the rows of a call: complex ones, real ones to half a spectrum, and back. In an unnamed
// namespace, as passes.hpp.
#pragma once
#include "jit/built_in/fft/rows.hpp"

namespace lazy::jit::calls {
namespace {

template <class T, int width>
struct FftTransforms {
  const FftPlan<T>& plan;
  const T *re, *im;  // the source's rows; of real numbers `re`
  T *to_re, *to_im;  // the result's rows; of real numbers `to_re`. Null: nobody reads them
  FftShare share;    // of a long row

  int64_t bins() const { return plan.length / 2 + 1; }
  /// Rows side by side in vectors, for lengths that vectors don't divide.
  static bool takes_lanes(const FftPlan<T>& plan, int64_t rows) {
    return width > 1 && rows >= width && plan.length % 64 != 0 && !plan.inner && plan.length <= 4096;
  }
  /// Returns the numbers of T that a thread needs for its rows.
  static int64_t scratch(const FftPlan<T>& plan) {
    const FftPlan<T>& of = plan.half ? *plan.half : plan;
    const int64_t lanes = plan.inner || plan.half || plan.length > 4096 ? 1 : width;
    return 4 * (plan.length + 1) * lanes + of.scratch(lanes);
  }

  /// Transforms complex rows [first, last).
  void complex_rows(int64_t first, int64_t last, bool lanes, T* scratch) const {
    const int64_t n = plan.length;
    if (!lanes) {
      for (int64_t row = first; row < last; ++row) {
        T *const y_re = to_re ? to_re + row * n : scratch, *const y_im =
                                                               to_im ? to_im + row * n : scratch + n;
        fft_of_row<T, width>(plan, re + row * n, im + row * n, y_re, y_im, scratch + 2 * n, share);
      }
      return;
    }
    const int64_t all = n * width;
    T *const a_re = scratch, *const a_im = a_re + all, *const b_re = a_im + all, *const b_im = b_re + all;
    for (int64_t row = first; row < last; row += width) {
      const int64_t some = std::min<int64_t>(width, last - row);
      for (int64_t l = 0; l < width; ++l) {
        const int64_t from = (row + std::min(l, some - 1)) * n;  // lanes without a row repeat one
        for (int64_t i = 0; i < n; ++i)
          a_re[i * width + l] = re[from + i], a_im[i * width + l] = im[from + i];
      }
      fft_by_passes<T, width>(plan, width, a_re, a_im, width, b_re, b_im, width, b_im + all);
      for (int64_t l = 0; l < some; ++l) {
        if (to_re)
          for (int64_t i = 0; i < n; ++i) to_re[(row + l) * n + i] = b_re[i * width + l];
        if (to_im)
          for (int64_t i = 0; i < n; ++i) to_im[(row + l) * n + i] = b_im[i * width + l];
      }
    }
  }

  /// Transforms real rows to the first half of their spectrum.
  void real_rows(int64_t first, int64_t last, T* scratch) const {
    const int64_t n = plan.length, m = n / 2;
    for (int64_t row = first; row < last; ++row) {
      const T* const x = re + row * n;
      T *const a_re = scratch, *const a_im = a_re + n + 1, *const b_re = a_im + n + 1,
               *const b_im = b_re + n + 1;
      T *const y_re = to_re ? to_re + row * bins() : a_re, *const y_im = to_im ? to_im + row * bins() : a_im;
      if (!plan.half) {
        std::fill(a_im, a_im + n, T{});
        fft_of_row<T, width>(plan, x, a_im, b_re, b_im, b_im + n + 1, share);
        std::copy(b_re, b_re + bins(), y_re);
        std::copy(b_im, b_im + bins(), y_im);
        if (n > 0) y_im[0] = 0;
        continue;
      }
#pragma GCC ivdep
      for (int64_t i = 0; i < m; ++i) a_re[i] = x[2 * i], a_im[i] = x[2 * i + 1];
      fft_of_row<T, width>(*plan.half, a_re, a_im, b_re, b_im, b_im + n + 1, share);
      const T *const w_re = plan.chirp_re.data(), *const w_im = plan.chirp_im.data();
#pragma GCC ivdep
      for (int64_t k = 1; k < m; ++k) {
        const T even_re = b_re[k] + b_re[m - k], even_im = b_im[k] - b_im[m - k];
        const T odd_re = b_im[k] + b_im[m - k], odd_im = b_re[m - k] - b_re[k];
        y_re[k] = (even_re + odd_re * w_re[k] - odd_im * w_im[k]) / 2;
        y_im[k] = (even_im + odd_re * w_im[k] + odd_im * w_re[k]) / 2;
      }
      const T sum = b_re[0] + b_im[0], difference = b_re[0] - b_im[0];
      y_re[0] = sum, y_im[0] = 0;
      y_re[m] = difference, y_im[m] = 0;
    }
  }

  /// Transforms the first half of a spectrum back to real rows, times the length.
  void half_spectra(int64_t first, int64_t last, T* scratch) const {
    const int64_t n = plan.length, m = n / 2;
    for (int64_t row = first; row < last; ++row) {
      const T *const x_re = re + row * bins(), *const x_im = im + row * bins();
      T* const y = to_re + row * n;
      T *const a_re = scratch, *const a_im = a_re + n + 1, *const b_re = a_im + n + 1,
               *const b_im = b_re + n + 1;
      a_re[0] = x_re[0], a_im[0] = 0;
      if (!plan.half) {
        for (int64_t k = 1; k <= m; ++k) {
          a_re[k] = a_re[n - k] = x_re[k];
          a_im[k] = x_im[k], a_im[n - k] = -x_im[k];
        }
        // Back: real and imaginary parts exchanged.
        fft_of_row<T, width>(plan, a_im, a_re, b_im, y, b_im + n + 1, share);
        continue;
      }
      const T *const w_re = plan.chirp_re.data(), *const w_im = plan.chirp_im.data();
      a_re[0] = x_re[0] + x_re[m], a_im[0] = x_re[0] - x_re[m];
#pragma GCC ivdep
      for (int64_t k = 1; k < m; ++k) {
        const T even_re = x_re[k] + x_re[m - k], even_im = x_im[k] - x_im[m - k];
        const T odd_re = x_re[k] - x_re[m - k], odd_im = x_im[k] + x_im[m - k];
        // The odd ones times i exp(2 pi i k / n).
        a_re[k] = even_re - (odd_im * w_re[k] - odd_re * w_im[k]);
        a_im[k] = even_im + (odd_re * w_re[k] + odd_im * w_im[k]);
      }
      fft_of_row<T, width>(*plan.half, a_im, a_re, b_im, b_re, b_im + n + 1, share);
#pragma GCC ivdep
      for (int64_t i = 0; i < m; ++i) y[2 * i] = b_re[i], y[2 * i + 1] = b_im[i];
    }
  }
};

}  // namespace
}  // namespace lazy::jit::calls
