#include "lazy/nn/modules/spatial.hpp"

#include "lazy/core/build.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn::detail {

Dims for_each_axis(const char* layer, const char* what, const Dims& given, int axes, const Site& s) {
  if (given.size() == axes) return given;
  if (given.size() != 1)
    lazy::detail::fail<ShapeError>(layer,
                                   std::string(what) + " has " + std::to_string(given.size()) +
                                       " numbers for " + std::to_string(axes) + " axes",
                                   s);
  return Dims(axes, given[0]);
}

Tensor with_batch(Arg& x, int axes, bool& added) {
  const Site site = x.site();
  Tensor t(x.take());
  added = t.defined() && t.ndim(site) == axes + 1;
  return added ? std::move(t).unsqueeze(0, site) : t;
}

Tensor without_batch(const Tensor& y, const Site& s) { return y.squeeze(0, s); }

void check_rank(const char* layer, const Arg& x, int least, int most) {
  const Tensor t(x.handle());
  if (!t.defined()) lazy::detail::throw_empty(layer, x.site());
  const int rank = t.ndim(x.site());
  if (rank >= least && rank <= most) return;
  std::string range = std::to_string(least);
  if (most != least) range += (most == least + 1 ? " or " : " to ") + std::to_string(most);
  lazy::detail::fail<ShapeError>(
      layer, "takes x of " + range + " axes, not " + lazy::to_string(t.shape(x.site())), x.site());
}

}  // namespace lazy::nn::detail
