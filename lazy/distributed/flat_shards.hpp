// Cuts values, one behind the other, into even shards, one for each rank. Internal to lazy/distributed.
#pragma once
#include <vector>

#include "lazy/distributed/collectives.hpp"

namespace lazy::distributed::detail {

/// Returns elements of a shard of n: the ranks' number divides n filled up with zeros.
int64_t shard_elements(int64_t n, const Group&);
/// Starts to combine values of one dtype; wait() gives this rank's shard of them, a vector as long as
/// `shard`, which is only looked at for that.
Work start_scatter_flat(const std::vector<Tensor>& values, const Tensor& shard, ReduceOp, const Group&,
                        const Site&);
/// Starts to gather shards; wait() gives values of the shapes of `likes`.
Work start_gather_flat(const Tensor& shard, const std::vector<Tensor>& likes, const Group&, const Site&);

}  // namespace lazy::distributed::detail
