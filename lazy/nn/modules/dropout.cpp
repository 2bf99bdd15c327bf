#include "lazy/nn/modules/dropout.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/functional/dropout.hpp"
#include "lazy/nn/modules/spatial.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/random/random.hpp"

namespace lazy::nn {

namespace detail {

DropoutBase::DropoutBase(const char* layer, double share, Generator* g, const Site& s)
    : p(share), generator(g) {
  if (!(p >= 0 && p <= 1)) lazy::detail::fail<Error>(layer, "p is a probability, not " + text(p), s);
}

std::string DropoutBase::extra_repr() const { return Repr().add("p", p).add("inplace", false).str(); }

Tensor DropoutBase::drop_channels(Arg x, int axes) const {
  const auto drop = [&](Arg images) { return feature_dropout(source(), std::move(images), p, training()); };
  return axes == 2 ? drop(std::move(x)) : batched(std::move(x), axes, drop);
}

}  // namespace detail

Tensor Dropout::operator()(Arg x) const { return dropout(source(), std::move(x), p, training()); }
Tensor AlphaDropout::operator()(Arg x) const { return alpha_dropout(source(), std::move(x), p, training()); }
Tensor FeatureAlphaDropout::operator()(Arg x) const {
  return feature_alpha_dropout(source(), std::move(x), p, training());
}

}  // namespace lazy::nn
