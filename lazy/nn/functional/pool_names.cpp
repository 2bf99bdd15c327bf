// Implements torch's names for pooling of images of so many spatial axes.
#include "lazy/core/build.hpp"
#include "lazy/nn/functional/pooling.hpp"

namespace lazy {
namespace {

/// Throws ShapeError unless x has a batch, channels and so many spatial axes.
void check_rank(const char* name, const Arg& x, int spatial) {
  const Shape shape = detail::shape_of(name, x);
  if (shape.size() != spatial + 2)
    detail::fail<ShapeError>(
        name, "takes an image of " + std::to_string(spatial + 2) + " axes, not " + to_string(shape),
        x.site());
}

}  // namespace

#define LAZY_POOL(name, n, options)                  \
  Tensor name##n##d(Arg x, Axes window, options o) { \
    check_rank(#name #n "d", x, n);                  \
    const detail::Spelled as(#name, #name #n "d");   \
    return name(std::move(x), window, o);            \
  }
#define LAZY_POOLS(name, options) \
  LAZY_POOL(name, 1, options)     \
  LAZY_POOL(name, 2, options)     \
  LAZY_POOL(name, 3, options)
LAZY_POOLS(max_pool, const PoolOptions&)
LAZY_POOLS(avg_pool, const PoolOptions&)
LAZY_POOLS(adaptive_max_pool, ChannelLayout)
LAZY_POOLS(adaptive_avg_pool, ChannelLayout)
#undef LAZY_POOLS
#undef LAZY_POOL

}  // namespace lazy
