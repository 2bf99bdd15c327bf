// Plans a Fourier transform of one length: the factors that it is split by, and the roots of unity that their
// passes multiply by. A length with a large prime factor is a convolution of a composite length (Bluestein).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace lazy::jit::calls {

template <class T>
struct FftPlan {
  static constexpr int kLargestFactor = 31;  // of passes; larger primes make a convolution

  /// `of_real`: for real numbers, which half as many complex ones stand for if their number is even.
  explicit FftPlan(int64_t length, bool of_real = false);

  struct Pass {
    int radix;
    int64_t groups;  // length of what is transformed in this pass, over the radix
    size_t roots;    // of this pass, in `re` and `im`: for k = 1 ... radix - 1 one for each group
  };
  int64_t length;
  std::vector<Pass> passes;  // none of a convolution
  std::vector<T> re, im;

  // A convolution has exp(-i pi k^2 / length), and the transform, over `inner->length`, of its conjugate
  // around 0.
  std::unique_ptr<const FftPlan> inner;
  std::vector<T> chirp_re, chirp_im, kernel_re, kernel_im;
  // An even number of real ones has the transform of half the length, and the roots exp(-2 pi i k / length),
  // k = 0 ... length / 2, in chirp_re and chirp_im.
  std::unique_ptr<const FftPlan> half;

  /// Returns the numbers of T that a transform of `lanes` rows side by side needs beside its source and
  /// result.
  int64_t scratch(int64_t lanes) const {
    return inner               ? 4 * inner->length * lanes + inner->scratch(lanes)
           : passes.size() > 2 ? 4 * length * lanes
                               : 2 * length * lanes;
  }
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
