// Computes convolutions of 3 x 3 windows with fewer multiplications (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015): tiles of m x m results are made of (m + 2)^2 products in place of
// 9 m^2. Tiles, weights and products go through small matrices that have few numbers other than 0, 1 and -1.
// Sums are in another order than a convolution promises, so only who allows that gets it. Internal to lazy/.
#pragma once
#include "lazy/nn/functional/conv_problem.hpp"

namespace lazy::detail {

/// Allows the thread's convolutions to be computed so, for a scope.
class WinogradScope {
 public:
  WinogradScope() noexcept : outer_(std::exchange(on_, true)) {}
  WinogradScope(const WinogradScope&) = delete;
  ~WinogradScope() { on_ = outer_; }
  static bool on() noexcept { return on_; }

 private:
  const bool outer_;
  static thread_local constinit bool on_;
};

/// Returns the extent m of tiles by which a convolution of image (N, S..., C) with w (K..., C / groups, O) is
/// computed fastest: 2 or 4; 0 where windows as they are are faster, or the method does not fit.
int winograd_tile(const Problem&, const Handle& image, const Handle& w, const Dims& padding);
/// Returns the convolution, channels last, by tiles of m x m results.
Handle winograd(const Problem&, const Handle& image, const Handle& w, const Dims& padding, int m);

}  // namespace lazy::detail
