// Trains one model on many ranks, each with its own share of every batch.
//
//   distributed::init();
//   nn::Linear model{784, 10};
//   distributed::DataParallel parallel(model);              // all begin with rank 0's values
//   for (const auto& batch : loader) {                      // of a data::DistributedSampler
//     optimizer.zero_grad();
//     parallel.backward(cross_entropy(model(batch.x), batch.y));
//     optimizer.step();                                      // the same on each
//   }
//
// Parameters that come one after the other, from the last one on, are a bucket. As soon as backward() has the
// gradients of one, these are sent, while it goes on with the next; at its end gradients are the means of all
// ranks'. So parameters stay equal to the bit. On one rank nothing is recorded.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazy/autograd/parameter.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/distributed/no_sync.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::distributed {

namespace detail {
class GradientBuckets;
}

struct DataParallelOptions {
  int64_t bucket_bytes = 4 << 20;            // of gradients that share an exchange
  int64_t first_bucket_bytes = 1 << 20;      // likewise, of the first, which begins early
  bool broadcast_buffers = true;             // rank 0's running statistics, before each backward pass
  std::optional<DType> exchange_dtype = {};  // that gradients are rounded to for the exchange: half the bytes
  Group group = {};                          // the ranks that train together
};

class DataParallel {
 public:
  /// Gives the parameters and buffers of `model`, which has to stay where it is, the values of rank 0. Error
  /// on all ranks if the models differ in number, dtypes or shapes.
  explicit DataParallel(nn::Module& model, const DataParallelOptions& options = {}, Site s = Site::current());
  DataParallel(const DataParallel&) = delete;
  ~DataParallel();

  /// Adds the means of the gradients of all ranks to the parameters'. Parameters that the loss does not
  /// depend on take part with zeros where another rank's loss depends on them, or on none.
  void backward(const Tensor& loss, Site s = Site::current());
  /// Leaves gradients as they are until it ends.
  using NoSync = NoSyncScope<DataParallel>;
  NoSync no_sync() { return NoSync(*this); }
  /// Returns the parameters of each bucket, in the order in which they are exchanged.
  std::vector<std::vector<std::string>> buckets() const;

 private:
  friend NoSync;

  const DataParallelOptions options_;
  std::unique_ptr<detail::GradientBuckets> buckets_;  // null on one rank
  bool paused_ = false;
};

}  // namespace lazy::distributed
