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
// A gradient becomes the mean of all ranks' as soon as backward() is done with its bucket: parameters that
// come one after the other, from the last one on, share an exchange. So parameters stay equal to the bit. On
// one rank nothing is recorded.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lazy/autograd/parameter.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::distributed {

struct DataParallelOptions {
  int64_t bucket_bytes = 25 << 20;       // of gradients that share an exchange
  int64_t first_bucket_bytes = 1 << 20;  // likewise, of the first, which begins early
  bool broadcast_buffers = true;         // rank 0's running statistics, before each backward pass
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
  /// Leaves gradients as they are, this rank's, until it ends: they add up over several batches, and the next
  /// backward() outside takes the mean of the sums.
  class NoSync {
   public:
    explicit NoSync(DataParallel& p) : parallel_(p), outer_(p.paused_) { p.paused_ = true; }
    NoSync(const NoSync&) = delete;
    ~NoSync() { parallel_.paused_ = outer_; }

   private:
    DataParallel& parallel_;
    const bool outer_;
  };
  NoSync no_sync() { return NoSync(*this); }
  /// Returns the parameters of each bucket, in the order in which they are exchanged.
  std::vector<std::vector<std::string>> buckets() const;

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    size_t waits_for = 0;  // parameters that are not ready in this pass
  };
  void ready(size_t parameter, const Site& s);
  void exchange(Bucket&, const Site& s);
  /// Gives these parameters and buffers of the model the values of rank 0.
  void take_from_root(const NamedTensors& state, const Site& s);

  nn::Module& model_;
  const DataParallelOptions options_;
  std::vector<std::string> names_;
  std::vector<ParameterRef> parameters_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<uint8_t> is_ready_;  // by parameter, in this pass
  size_t next_ = 0;                // the bucket that is exchanged next: all ranks take them in one order
  bool paused_ = false, running_ = false;
  Site site_;                    // of the backward() that is running
  std::shared_ptr<bool> alive_;  // hooks outlive this
};

}  // namespace lazy::distributed
