// Sorts the parameters of a model into buckets, whose gradients are exchanged together, and says when those
// of one are there. Internal to lazy/distributed.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lazy/autograd/parameter.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::distributed::detail {

class GradientBuckets {
 public:
  /// Holds parameters of one dtype, or complex ones with planes of it, from the last one of the model on:
  /// they have their gradients first.
  struct Bucket {
    std::vector<size_t> parameters;
    size_t waits_for = 0;  // parameters that are not ready in this pass
  };
  /// Says how gradients are exchanged.
  struct Options {
    int64_t first_bytes, bytes;  // of the first bucket, and of others
    bool broadcast_buffers;      // rank 0's buffers, before each backward pass
    Group group;
  };
  /// Starts to exchange a bucket's gradients, which are there now: all buckets in one order.
  using Start = std::function<Work(size_t bucket)>;
  /// Takes what came of it.
  using Finish = std::function<void(size_t bucket, const std::vector<Tensor>& results)>;

  /// Gives the model's parameters and buffers the values of the group's first rank.
  GradientBuckets(nn::Module& model, const Options& options, const Site& s);
  GradientBuckets(const GradientBuckets&) = delete;

  size_t size() const { return buckets_.size(); }
  const Bucket& operator[](size_t i) const { return buckets_[i]; }
  const std::string& name_of(size_t parameter) const { return names_[parameter]; }
  Parameter& parameter(size_t i) const { return *parameters_[i]; }
  /// Return the values, or gradients, of a bucket's parameters, and of complex ones both planes of them;
  /// zeros of one that has no gradient.
  std::vector<Tensor> values_of(size_t bucket, const Site& s) const;
  std::vector<Tensor> gradients_of(size_t bucket, const Site& s) const;
  /// Returns one value for each of a bucket's parameters, of its dtype.
  std::vector<Tensor> whole(size_t bucket, const std::vector<Tensor>& planes, const Site& s) const;
  /// Adds the gradients of the loss to the parameters', and starts an exchange of each bucket as soon as it
  /// is ready, at the end of those that the loss does not depend on; then all are finished.
  void backward(const Tensor& loss, const Start& start, const Finish& finish, const Site& s);

 private:
  /// Gives what `state` names the values of the group's first rank.
  void take_from_first(const NamedTensors& state, const Site& s);
  void note(size_t parameter);

  nn::Module& model_;
  const Options options_;
  std::vector<std::string> names_;  // of the parameters that are trained
  std::vector<ParameterRef> parameters_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<uint8_t> is_ready_;  // by parameter, in this pass
  const Start* start_ = nullptr;   // of the backward() that is running
  std::vector<Work> under_way_;    // by bucket, in this pass: those that have been started
  std::shared_ptr<bool> alive_;    // hooks outlive this
};

}  // namespace lazy::distributed::detail
