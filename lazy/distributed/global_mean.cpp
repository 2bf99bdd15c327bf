#include "lazy/distributed/global_mean.hpp"

#include "lazy/core/promotion.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/views.hpp"
#include "support/error.hpp"

namespace lazy::distributed {

Tensor global_mean(const Tensor& sum, const Tensor& count, const Group& group, Site s) {
  if (sum.size(s) != 1 || count.size(s) != 1)
    throw ShapeError("global_mean: the sum and the count are of one element, not of " +
                         to_string(sum.shape(s)) + " and " + to_string(count.shape(s)),
                     s);
  const DType wide = is_half(sum.dtype(s)) ? DType::float32 : sum.dtype(s);
  const Tensor own = astype(Arg(reshape(Arg(count.detach(s), s), Shape{}), s), wide);
  return divide(Arg(sum, s), Arg(all_reduce(own, ReduceOp::mean, group, s), s));
}

}  // namespace lazy::distributed
