// Trains one model on many ranks, each of which has its share of every batch, and holds only its share of the
// optimizer's state: ZeRO, stages 1 and 2 (Rajbhandari et al. 2020, arXiv:1910.02054).
//
//   distributed::ZeroOptimizer optimizer(
//       model, [](const optim::ParameterList& shards) { return std::make_unique<optim::AdamW>(shards); });
//   for (const auto& batch : loader) {
//     optimizer.zero_grad();
//     optimizer.backward(cross_entropy(model(batch.x), batch.y));
//     optimizer.clip_grad_norm_(1.0);
//     optimizer.step();
//   }
//
// The parameters of a bucket, or their real and imaginary planes, lie one behind the other, and are cut
// evenly into shards, one for each rank, which the inner optimizer trains as one-dimensional parameters. So
// its rule has to be element by element: SGD, the Adam family, RMSprop, Adagrad; not LAMB, Adafactor or
// LBFGS, whose norms would be those of shards. step() updates the rank's shard and gathers all. Parameters
// are equal to the bit on all ranks.
//
// A rank of n holds, of P bytes of float32 parameters and Adam, P of parameters, 3 P / n of shards and state,
// and gradients: P in stage 1; in stage 2 P / n, and those of the buckets that are under way. On one rank it
// is the inner optimizer.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazy/amp/grad_scaler.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/distributed/no_sync.hpp"
#include "lazy/nn/modules/module.hpp"
#include "lazy/optim/optimizer.hpp"

namespace lazy::distributed {

namespace detail {
class GradientBuckets;
}

struct ZeroOptions {
  int stage = 2;  // 1: gradients are whole on all ranks; 2: of each only the rank's shard is kept
  int64_t bucket_bytes = 4 << 20;        // of gradients that share an exchange
  int64_t first_bucket_bytes = 1 << 20;  // likewise, of the first, which begins early
  bool broadcast_buffers = true;         // rank 0's running statistics, before each backward pass
  bool master_weights = true;            // shards of 16-bit parameters are of float32
  Group group = {};                      // the ranks that train together
};

class ZeroOptimizer {
 public:
  using Make = std::function<std::unique_ptr<optim::Optimizer>(const optim::ParameterList& shards)>;
  /// Gives the parameters and buffers of `model`, which has to stay where it is, the values of rank 0. Error
  /// for a stage other than 1 and 2, and for a model that trains nothing.
  ZeroOptimizer(nn::Module& model, const Make& make, const ZeroOptions& options = {},
                Site s = Site::current());
  ZeroOptimizer(const ZeroOptimizer&) = delete;
  ~ZeroOptimizer();

  /// Adds the means of the gradients of all ranks to the shards'.
  void backward(const Tensor& loss, Site s = Site::current());
  /// Leaves gradients as they are, whole, until it ends.
  using NoSync = NoSyncScope<ZeroOptimizer>;
  NoSync no_sync() { return NoSync(*this); }
  /// Bounds the norm of all gradients, of all ranks' shards together, and returns what it was.
  Tensor clip_grad_norm_(double max_norm, Site s = Site::current());
  /// Records the inner optimizer's step, and gathers the parameters.
  void step(Site s = Site::current());
  /// Do what the scaler does with an optimizer, where an infinity or NaN in any rank's shard counts for all.
  void unscale_(GradScaler& scaler, Site s = Site::current());
  void step(GradScaler& scaler, Site s = Site::current());
  void zero_grad(Site s = Site::current());

  /// Returns the optimizer of the shards, for learning rates and schedules.
  optim::Optimizer& inner() { return *inner_; }
  /// Says where a shard lies: elements [begin, end) of its bucket's `size`.
  struct Shard {
    std::string name;  // "bucket.0"
    int64_t begin = 0, end = 0, size = 0;
    std::vector<std::string> parameters;  // of the bucket, in order
  };
  std::vector<Shard> shards() const;
  /// Returns this rank's state: that of the inner optimizer. It belongs to a world of this size.
  NamedTensors state_dict() const { return inner_->state_dict(); }
  void load_state_dict(const NamedTensors& state, Site s = Site::current()) {
    inner_->load_state_dict(state, s);
  }

 private:
  friend NoSync;
  Work send(size_t bucket, const Site& s);
  void receive(size_t bucket, const std::vector<Tensor>& means, const Site& s);
  /// Returns this rank's part of a bucket's values, one behind the other.
  Tensor part_of(const std::vector<Tensor>& values, const Site& s) const;
  /// Sets the shards to the rank's parts of the parameters, as they are now.
  void take_shards(const Site& s);
  void gather(const Site& s);
  /// Returns whether any rank found that a gradient is not finite.
  Tensor found_by_any(const Tensor& own, const Site& s) const;
  void add_gradient(Parameter& shard, const Tensor& gradient, const Site& s) const;

  const ZeroOptions options_;
  std::unique_ptr<detail::GradientBuckets> buckets_;  // null on one rank
  std::vector<Parameter> shards_;                     // by bucket
  std::unique_ptr<optim::Optimizer> inner_;
  bool paused_ = false;
};

}  // namespace lazy::distributed
