// Makes parameters and buffers of new layers. Internal to lazy/.
#pragma once
#include <cmath>

#include "lazy/autograd/parameter.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/random/random.hpp"

namespace lazy::nn::detail {

/// Makes values as a layer's options say.
struct Fresh {
  MaybeDType dtype;
  MaybeDevice device;
  Generator* generator = nullptr;
  Site site;

  /// Takes the fields of these names from options.
  template <class Options>
  Fresh(const Options& o, const Site& s) : dtype(o.dtype), device(o.device), site(s) {
    if constexpr (requires { o.generator; }) generator = o.generator;
  }

  /// Returns numbers from -bound to bound.
  Parameter uniform(const Shape& shape, double bound) const {
    if (init::Skip::active()) return constant(shape, 0);
    return Parameter(lazy::uniform(source(), -bound, bound, shape, dtype, device, site), true, site);
  }
  Parameter normal(const Shape& shape) const {
    if (init::Skip::active()) return constant(shape, 0);
    return Parameter(lazy::randn(source(), shape, dtype, device, site), true, site);
  }
  Tensor filled(const Shape& shape, double value) const {
    return full(shape, value, dtype.or_else(get_default_dtype()), device, site);
  }
  Parameter constant(const Shape& shape, double value) const {
    return Parameter(filled(shape, value), true, site);
  }

 private:
  Generator& source() const { return generator ? *generator : default_generator(); }
};

/// Returns the bound of a layer's first weights and biases, 1 / sqrt(fan): kaiming_uniform_ with slope
/// sqrt(5), as torch's layers have it.
inline double bound_of(int64_t fan) { return fan > 0 ? 1 / std::sqrt(static_cast<double>(fan)) : 0; }

}  // namespace lazy::nn::detail
