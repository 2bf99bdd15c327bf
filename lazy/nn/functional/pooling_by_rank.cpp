#include "lazy/nn/functional/pooling_by_rank.hpp"

#include "lazy/core/build.hpp"

namespace lazy {
namespace {

/// Returns x, which has so many spatial axes.
Arg image(const char* name, int spatial, Arg x) {
  const Shape shape = detail::shape_of(name, x);
  if (shape.size() != spatial + 2)
    detail::fail<ShapeError>(
        name, "takes images of " + std::to_string(spatial + 2) + " axes, not " + to_string(shape), x.site());
  return x;
}

}  // namespace

#define LAZY_POOL(function, spatial)                                                        \
  Tensor function##spatial##d(Arg x, Axes window, const PoolOptions& options) {             \
    return function(image(#function #spatial "d", spatial, std::move(x)), window, options); \
  }
#define LAZY_ADAPTIVE(function, spatial)                                                    \
  Tensor function##spatial##d(Arg x, Axes extents, ChannelLayout layout) {                  \
    return function(image(#function #spatial "d", spatial, std::move(x)), extents, layout); \
  }
#define LAZY_EACH(macro, function) macro(function, 1) macro(function, 2) macro(function, 3)
LAZY_EACH(LAZY_POOL, max_pool)
LAZY_EACH(LAZY_POOL, avg_pool)
LAZY_EACH(LAZY_ADAPTIVE, adaptive_avg_pool)
LAZY_EACH(LAZY_ADAPTIVE, adaptive_max_pool)
#undef LAZY_EACH
#undef LAZY_ADAPTIVE
#undef LAZY_POOL

}  // namespace lazy
