#include "lazy/nn/functional/norms.hpp"

#include <cmath>

#include "lazy/ops/roots.hpp"
#include "support/float_mode.hpp"

namespace lazy::detail {

Term norm(const Term& x, double p, const Dims& axes, KeepDims keep) {
  if (p == 1) return sum(abs(x), axes, keep);
  if (p == 0) return sum((x != 0.0).as(x.handle()->dtype), axes, keep);
  if (std::isinf(p)) {
    if (count_along(x.shape(), axes) == 0) return sum(x, axes, keep);
    return p > 0 ? max(abs(x), axes, keep) : -max(-abs(x), axes, keep);
  }
  if (p > 0) return x.formula().term(power_norm(x.formula(), x.handle(), p, axes, keep));
  return power(sum(power(abs(x), p), axes, keep), in_default_mode([&] { return 1 / p; }));
}

}  // namespace lazy::detail
