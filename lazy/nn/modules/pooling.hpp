// Layers that pool images (N, C, S...), or a single one (C, S...), as lazy/nn/functional/pooling.hpp says;
// the options are those of the functions, channels_first.
//
//   nn::MaxPool2d pool{3, {.stride = 2, .padding = 1}};
#pragma once
#include <string>

#include "lazy/nn/functional/pooling.hpp"
#include "lazy/nn/modules/module.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

namespace detail {

struct PoolBase : Module {
  Axes kernel_size;
  PoolOptions options;

 protected:
  /// ShapeError where there are neither one number nor D for the window, the stride, ...
  PoolBase(const char* layer, int axes, Axes window, const PoolOptions&, const Site&);
  const Axes& stride() const { return options.stride.empty() ? kernel_size : options.stride; }
  Tensor max(Arg x, int axes) const;
  lazy::MaxPoolResult max_with_indices(Arg x, int axes) const;
  Tensor mean(Arg x, int axes) const;
  Tensor norm(Arg x, double p, int axes) const;
  Tensor unpool(Arg x, Arg indices, const Axes& extents, int axes) const;
  /// Writes one number for all axes as it was given, or once for each.
  std::string window_repr(int axes = 0) const;
  std::string max_repr() const;
  std::string norm_repr(double p) const;
};

struct AdaptivePoolBase : Module {
  Axes output_size;
  std::string extra_repr() const override;

 protected:
  AdaptivePoolBase(const char* layer, int axes, Axes size, const Site&);
  Tensor max(Arg x, int axes) const;
  lazy::MaxPoolResult max_with_indices(Arg x, int axes) const;
  Tensor mean(Arg x, int axes) const;
};

}  // namespace detail

template <int D>
struct MaxPoolNd : detail::PoolBase {
  explicit MaxPoolNd(Axes window, const PoolOptions& o = {}, Site s = Site::current())
      : PoolBase("MaxPool", D, window, o, s) {}
  Tensor operator()(Arg x) const { return max(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  /// Returns the values and where they were, for MaxUnpool.
  lazy::MaxPoolResult with_indices(Arg x) const { return max_with_indices(std::move(x), D); }
  std::string name() const override { return "MaxPool" + std::to_string(D) + "d"; }
  std::string extra_repr() const override { return max_repr(); }
};
using MaxPool1d = MaxPoolNd<1>;
using MaxPool2d = MaxPoolNd<2>;
using MaxPool3d = MaxPoolNd<3>;

template <int D>
struct AvgPoolNd : detail::PoolBase {
  explicit AvgPoolNd(Axes window, const PoolOptions& o = {}, Site s = Site::current())
      : PoolBase("AvgPool", D, window, o, s) {}
  Tensor operator()(Arg x) const { return mean(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "AvgPool" + std::to_string(D) + "d"; }
  std::string extra_repr() const override { return window_repr(D == 1 ? 1 : 0); }
};
using AvgPool1d = AvgPoolNd<1>;
using AvgPool2d = AvgPoolNd<2>;
using AvgPool3d = AvgPoolNd<3>;

template <int D>
struct LPPoolNd : detail::PoolBase {
  double norm_type;
  LPPoolNd(double norm_type, Axes window, const PoolOptions& o = {}, Site s = Site::current())
      : PoolBase("LPPool", D, window, o, s), norm_type(norm_type) {}
  Tensor operator()(Arg x) const { return norm(std::move(x), norm_type, D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "LPPool" + std::to_string(D) + "d"; }
  std::string extra_repr() const override { return norm_repr(norm_type); }
};
using LPPool1d = LPPoolNd<1>;
using LPPool2d = LPPoolNd<2>;
using LPPool3d = LPPoolNd<3>;

/// Puts values where with_indices() found them, among zeros.
template <int D>
struct MaxUnpoolNd : detail::PoolBase {
  explicit MaxUnpoolNd(Axes window, const PoolOptions& o = {}, Site s = Site::current())
      : PoolBase("MaxUnpool", D, window, o, s) {}
  /// `output_size`: the spatial extents, if they are not those that follow from the options.
  Tensor operator()(Arg x, Arg indices, Axes output_size = {}) const {
    return unpool(std::move(x), std::move(indices), output_size, D);
  }
  std::string name() const override { return "MaxUnpool" + std::to_string(D) + "d"; }
  std::string extra_repr() const override { return window_repr(D); }
};
using MaxUnpool1d = MaxUnpoolNd<1>;
using MaxUnpool2d = MaxUnpoolNd<2>;
using MaxUnpool3d = MaxUnpoolNd<3>;

template <int D>
struct AdaptiveAvgPoolNd : detail::AdaptivePoolBase {
  explicit AdaptiveAvgPoolNd(Axes output_size, Site s = Site::current())
      : AdaptivePoolBase("AdaptiveAvgPool", D, output_size, s) {}
  Tensor operator()(Arg x) const { return mean(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "AdaptiveAvgPool" + std::to_string(D) + "d"; }
};
using AdaptiveAvgPool1d = AdaptiveAvgPoolNd<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPoolNd<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPoolNd<3>;

template <int D>
struct AdaptiveMaxPoolNd : detail::AdaptivePoolBase {
  explicit AdaptiveMaxPoolNd(Axes output_size, Site s = Site::current())
      : AdaptivePoolBase("AdaptiveMaxPool", D, output_size, s) {}
  Tensor operator()(Arg x) const { return max(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  lazy::MaxPoolResult with_indices(Arg x) const { return max_with_indices(std::move(x), D); }
  std::string name() const override { return "AdaptiveMaxPool" + std::to_string(D) + "d"; }
};
using AdaptiveMaxPool1d = AdaptiveMaxPoolNd<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPoolNd<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPoolNd<3>;

LAZY_SHADOWING_END
}  // namespace lazy::nn
