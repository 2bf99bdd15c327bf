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
  /// True for lengths of which several rows are transformed side by side: the short ones, and those of which
  /// a row alone does not fill vectors.
  static bool fits_lanes(const FftPlan<T>& plan) {
    return width > 1 && plan.by_passes() &&
           (plan.length < 64 || (plan.length % 8 != 0 && plan.length <= 2048));
  }
  /// Returns the numbers of T that a thread needs for its rows.
  static int64_t scratch(const FftPlan<T>& plan) {
    if (plan.half) return 4 * (plan.length + 1) + plan.half->scratch(1);
    const int64_t lanes = fits_lanes(plan) ? width : 1;
    return 4 * (plan.length + 1) * lanes + plan.scratch(lanes);
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
      rows_to_lanes(re + row * n, some, a_re);
      rows_to_lanes(im + row * n, some, a_im);
      fft_by_passes<T, width>(plan, width, a_re, a_im, width, b_re, b_im, width, b_im + all);
      if (to_re) lanes_to_rows(b_re, some, to_re + row * n);
      if (to_im) lanes_to_rows(b_im, some, to_im + row * n);
    }
  }

  /// Puts rows side by side; lanes without a row repeat the last one.
  void rows_to_lanes(const T* rows, int64_t some, T* lanes) const {
    const int64_t n = plan.length;
    int64_t i = 0;
    if (some == width)
      for (; i + width <= n; i += width) transpose(rows + i, n, lanes + i * width, width);
    for (int64_t l = 0; l < width; ++l)
      for (int64_t k = i; k < n; ++k) lanes[k * width + l] = rows[std::min(l, some - 1) * n + k];
  }
  /// Does the opposite.
  void lanes_to_rows(const T* lanes, int64_t some, T* rows) const {
    const int64_t n = plan.length;
    int64_t i = 0;
    if (some == width)
      for (; i + width <= n; i += width) transpose(lanes + i * width, width, rows + i, n);
    for (int64_t l = 0; l < some; ++l)
      for (int64_t k = i; k < n; ++k) rows[l * n + k] = lanes[k * width + l];
  }
  /// Transposes a square of `width` rows that lie so far apart.
  static void transpose(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
    using V = FftLanes<T, width>;
    V v[width];
    each<width>([&](auto k) LAZY_FFT_INLINE { v[k] = load_lanes<V>(from + k * from_stride); });
    put_in_turn<width, width>(v);
    each<width>([&](auto k) LAZY_FFT_INLINE { store_lanes(to + k * to_stride, v[k]); });
  }

  /// Returns the numbers of T that a thread needs for columns.
  static int64_t scratch_of_columns(const FftPlan<T>& plan) {
    if (!plan.by_passes()) return 4 * plan.length + plan.scratch(1);
    return 4 * plan.length * kFftSideBySide<T> + plan.scratch(kFftSideBySide<T>);
  }

  /// Transforms the columns of blocks [first, last): in each matrix `across` lie side by side.
  void columns(int64_t first, int64_t last, int64_t across, T* scratch) const {
    constexpr int64_t W = kFftSideBySide<T>;
    const int64_t n = plan.length, blocks = divide_up(across, W);
    for (int64_t b = first; b < last; ++b) {
      const int64_t from = b / blocks * n * across + b % blocks * W;
      const int64_t some = std::min(W, across - b % blocks * W);
      if (plan.by_passes()) block_of_columns(from, across, some, scratch);
      else
        for (int64_t l = 0; l < some; ++l) one_column(from + l, across, scratch);
    }
  }

  void one_column(int64_t from, int64_t across, T* scratch) const {
    const int64_t n = plan.length;
    T *const a_re = scratch, *const a_im = a_re + n, *const b_re = a_im + n, *const b_im = b_re + n;
    for (int64_t i = 0; i < n; ++i) a_re[i] = re[from + i * across], a_im[i] = im[from + i * across];
    fft_of_row<T, width>(plan, a_re, a_im, b_re, b_im, b_im + n, share);
    for (int64_t i = 0; to_re && i < n; ++i) to_re[from + i * across] = b_re[i];
    for (int64_t i = 0; to_im && i < n; ++i) to_im[from + i * across] = b_im[i];
  }

  void block_of_columns(int64_t from, int64_t across, int64_t some, T* scratch) const {
    constexpr int64_t W = kFftSideBySide<T>;
    const int64_t n = plan.length;
    T *const a_re = scratch, *const a_im = a_re + n * W, *const b_re = a_im + n * W,
             *const b_im = b_re + n * W, *const rest = b_im + n * W;
    if (some == W && to_re && to_im)
      return fft_by_passes<T, width>(plan, W, re + from, im + from, across, to_re + from, to_im + from,
                                     across, rest);
    columns_to_lanes(re + from, across, n, some, a_re);
    columns_to_lanes(im + from, across, n, some, a_im);
    fft_by_passes<T, width>(plan, W, a_re, a_im, W, b_re, b_im, W, rest);
    if (to_re) lanes_to_columns(b_re, n, some, to_re + from, across);
    if (to_im) lanes_to_columns(b_im, n, some, to_im + from, across);
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
