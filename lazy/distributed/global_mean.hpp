// Divides losses that are sums, over tokens for instance, by how many there are on all ranks together.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/distributed/group.hpp"

namespace lazy::distributed {

/// Returns sum / (mean of all ranks' `count`), both of one element, `count` without a gradient. Gradients of
/// that, averaged over the ranks as DataParallel does, are those of all ranks' sums together divided by all
/// ranks' counts: each token counts alike, however many a rank has. Of several batches to a step `count` is
/// that of all of this rank's, and each batch gives its own sum.
///
///   const Tensor loss = cross_entropy(scores, labels, {.reduction = Reduction::sum});
///   parallel.backward(distributed::global_mean(loss, sum(labels != -100)));
Tensor global_mean(const Tensor& sum, const Tensor& count, const Group& = {}, Site = Site::current());

}  // namespace lazy::distributed
