// Layers that drop elements or channels in training.
#pragma once
#include <string>

#include "lazy/nn/modules/module.hpp"
#include "lazy/random/generator.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

namespace detail {

struct DropoutBase : Module {
  double p;              // the probability
  Generator* generator;  // where draws come from; null: default_generator()
  std::string extra_repr() const override;

 protected:
  /// Error unless 0 <= p <= 1.
  DropoutBase(const char* layer, double p, Generator*, const Site&);
  Generator& source() const { return generator ? *generator : default_generator(); }
  Tensor drop_channels(Arg x, int axes) const;
};

}  // namespace detail

/// Replaces elements by 0 with probability p and divides the others by 1 - p.
struct Dropout : detail::DropoutBase {
  explicit Dropout(double p = 0.5, Generator* g = nullptr, Site s = Site::current())
      : DropoutBase("Dropout", p, g, s) {}
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
};

/// Does that to whole channels of (N, C, S...), D spatial axes. As in torch, Dropout1d and Dropout3d take
/// single images (C, S...) too.
template <int D>
struct DropoutNd : detail::DropoutBase {
  explicit DropoutNd(double p = 0.5, Generator* g = nullptr, Site s = Site::current())
      : DropoutBase("Dropout", p, g, s) {}
  Tensor operator()(Arg x) const { return drop_channels(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "Dropout" + std::to_string(D) + "d"; }
};
using Dropout1d = DropoutNd<1>;
using Dropout2d = DropoutNd<2>;
using Dropout3d = DropoutNd<3>;

/// Drops so that mean and variance stay, for SELU.
struct AlphaDropout : detail::DropoutBase {
  explicit AlphaDropout(double p = 0.5, Generator* g = nullptr, Site s = Site::current())
      : DropoutBase("AlphaDropout", p, g, s) {}
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
};
struct FeatureAlphaDropout : detail::DropoutBase {
  explicit FeatureAlphaDropout(double p = 0.5, Generator* g = nullptr, Site s = Site::current())
      : DropoutBase("FeatureAlphaDropout", p, g, s) {}
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
};

LAZY_SHADOWING_END
}  // namespace lazy::nn
