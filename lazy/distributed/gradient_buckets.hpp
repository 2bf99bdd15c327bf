// Sorts the parameters of a model into buckets, whose gradients are exchanged together, and says when those
// of one are there. Internal to lazy/distributed.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lazy/autograd/parameter.hpp"
#include "lazy/distributed/group.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::distributed::detail {

class GradientBuckets {
 public:
  /// Holds parameters of one dtype, from the last one of the model on: they have their gradients first.
  struct Bucket {
    std::vector<size_t> parameters;
    size_t waits_for = 0;  // parameters that are not ready in this pass
  };
  /// Is told, during backward(), that a bucket's gradients are there: all buckets in one order.
  using Ready = std::function<void(size_t bucket, const Site&)>;

  GradientBuckets(nn::Module& model, int64_t first_bytes, int64_t bytes, const Site& s);
  GradientBuckets(const GradientBuckets&) = delete;

  size_t size() const { return buckets_.size(); }
  const Bucket& operator[](size_t i) const { return buckets_[i]; }
  const std::string& name_of(size_t parameter) const { return names_[parameter]; }
  Parameter& parameter(size_t i) const { return *parameters_[i]; }
  /// Returns the gradients of a bucket's parameters; zeros of one that has none.
  std::vector<Tensor> gradients_of(size_t bucket, const Site& s) const;
  /// Adds the gradients of the loss to the parameters', and has `ready` know of every bucket, at the end of
  /// those that the loss does not depend on.
  void backward(const Tensor& loss, const Ready& ready, const Site& s);

 private:
  void note(size_t parameter, const Site& s);

  std::vector<std::string> names_;  // of the parameters that are trained
  std::vector<ParameterRef> parameters_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<uint8_t> is_ready_;  // by parameter, in this pass
  size_t next_ = 0;                // the bucket that is exchanged next
  const Ready* ready_ = nullptr;   // of the backward() that is running
  Site site_;
  std::shared_ptr<bool> alive_;  // hooks outlive this
};

/// Gives what a model holds the values of rank 0 of a group: `state` names parameters and buffers of it.
void take_from_first(nn::Module& model, const NamedTensors& state, const Group&, const Site& s);

}  // namespace lazy::distributed::detail
