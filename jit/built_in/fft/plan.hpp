// Plans a Fourier transform of one length: the factors that it is split by, and the roots of unity that their
// passes multiply by. A length with a large prime factor is a convolution of a composite length (Bluestein);
// a long one is a matrix, whose columns and rows are transformed (Bailey 1990).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "support/arithmetic.hpp"

namespace lazy::jit::calls {

/// Says how many numbers fill a line of a cache: so many rows or columns are transformed side by side.
template <class T>
inline constexpr int64_t kFftSideBySide = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
struct FftSplit;

template <class T>
struct FftPlan {
  static constexpr int64_t kBlock = 16;  // groups whose roots lie together

  /// `of_real`: for real numbers, which half as many complex ones stand for if their number is even. `whole`:
  /// never as a matrix.
  explicit FftPlan(int64_t length, bool of_real = false, bool whole = false);
  ~FftPlan();

  struct Pass {
    int radix;
    int64_t groups;  // length of what is transformed in this pass, over the radix
    size_t roots;    // where those of this pass begin
  };
  int64_t length;
  std::vector<Pass> passes;  // none of a convolution, nor of a matrix
  bool by_passes() const { return !inner && !split; }
  // For each kBlock groups of a pass, for k = 1 ... radix - 1, their real parts, then their imaginary parts.
  std::vector<T> roots;
  /// Returns where the roots of a group are: the real part of number k is of_root(k) further, its imaginary
  /// part kBlock behind that.
  const T* roots_of(const Pass& pass, int64_t group) const {
    return roots.data() + pass.roots + group / kBlock * (pass.radix - 1) * 2 * kBlock + group % kBlock;
  }
  static constexpr int64_t of_root(int k) { return (k - 1) * 2 * kBlock; }

  std::unique_ptr<const FftSplit<T>> split;  // a long one

  // A convolution has exp(-i pi k^2 / length), and the transform, over `inner->length`, of its conjugate
  // around 0.
  std::unique_ptr<const FftPlan> inner;
  std::vector<T> chirp_re, chirp_im, kernel_re, kernel_im;
  // An even number of real ones has the transform of half the length, and the roots exp(-2 pi i k / length),
  // k = 0 ... length / 2, in chirp_re and chirp_im.
  std::unique_ptr<const FftPlan> half;

  /// Returns the numbers of T that a transform of `lanes` rows side by side needs beside its source and
  /// result.
  int64_t scratch(int64_t lanes) const;
  /// Returns by how many numbers planes in scratch memory lie apart: not by a multiple of a page, so that
  /// they share no places in caches.
  static int64_t apart(int64_t numbers) { return round_up(numbers, 16) + 48; }
};

/// Plans a long transform as one of a matrix of n = n1 n2 numbers, x[j1 n2 + j2]: of the columns, whose
/// results y[k1][j2] are multiplied by exp(-2 pi i k1 j2 / n), then of the rows, to X[k1 + n1 k2].
template <class T>
struct FftSplit {
  FftPlan<T> columns, rows;  // of lengths n1 and n2
  // The roots exp(-2 pi i k1 l / n), l below kFftSideBySide, for each k1 up to a multiple of that.
  std::vector<T> near_re, near_im;
  // Those of the other factor, which has a multiple of kFftSideBySide in place of l: exp(-2 pi i t / n) is
  // fine[t % size] times coarse[t / size].
  std::vector<T> fine_re, fine_im, coarse_re, coarse_im;
  int64_t fine;

  FftSplit(int64_t n1, int64_t n2);
  /// Returns the numbers of a plane between columns and rows: blocks of columns one after the other.
  int64_t plane() const;
  /// Returns the numbers of T that one who transforms blocks of columns, or of rows, needs.
  int64_t scratch_of_blocks() const;
};

/// Returns the plan, which is kept for the next transforms. Any thread.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t length, bool of_real = false);

/// Returns cos and sin of 2 pi k / n, each right to within a unit of its last place.
struct Root {
  double re, im;
};
Root root_of_unity(int64_t k, int64_t n);

}  // namespace lazy::jit::calls
