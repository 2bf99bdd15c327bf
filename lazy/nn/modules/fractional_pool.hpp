// Layers that take maxima of windows at random places (Graham 2014).
#pragma once
#include <string>
#include <vector>

#include "lazy/nn/functional/pooling.hpp"
#include "lazy/nn/modules/module.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::nn {

/// Holds exactly one of `output_size` and `output_ratio`, one number for each spatial axis or one for all.
struct FractionalPoolOptions {
  Axes output_size = {};                  // spatial extents of the result
  std::vector<double> output_ratio = {};  // these extents as a share of the image's, between 0 and 1
  Tensor random_samples =
      {};  // (N, C, D) in [0, 1): where windows are, instead of drawing. Not part of the state
  Generator* generator = nullptr;
};

namespace detail {

struct FractionalPoolBase : Module {
  Dims kernel_size;
  FractionalPoolOptions options;

 protected:
  FractionalPoolBase(int axes, const Axes& window, const FractionalPoolOptions&, const Site&);
  lazy::MaxPoolResult pool(Arg x, int axes) const;

 private:
  Dims extents(const Shape& image, const Site&) const;
};

}  // namespace detail

/// Returns the largest element of each window of images (N, C, S...), or of a single one (C, S...), D spatial
/// axes. Windows begin at multiples of (S - window) / (R - 1), moved by a number that is drawn for each axis
/// of each channel. ShapeError where windows don't fit.
template <int D>
struct FractionalMaxPoolNd : detail::FractionalPoolBase {
  FractionalMaxPoolNd(Axes window, const FractionalPoolOptions& o, Site s = Site::current())
      : FractionalPoolBase(D, window, o, s) {}
  Tensor operator()(Arg x) const { return pool(std::move(x), D).values; }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  /// Returns where they are, too: the first of equal ones.
  lazy::MaxPoolResult with_indices(Arg x) const { return pool(std::move(x), D); }
  std::string name() const override { return "FractionalMaxPool" + std::to_string(D) + "d"; }
};
using FractionalMaxPool2d = FractionalMaxPoolNd<2>;
using FractionalMaxPool3d = FractionalMaxPoolNd<3>;

}  // namespace lazy::nn
