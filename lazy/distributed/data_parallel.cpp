#include "lazy/distributed/data_parallel.hpp"

#include "lazy/core/promotion.hpp"
#include "lazy/distributed/gradient_buckets.hpp"

namespace lazy::distributed {

/// Holds an exchange of a bucket's gradients.
struct DataParallel::UnderWay {
  size_t bucket;
  Work work;
};

DataParallel::DataParallel(nn::Module& model, const DataParallelOptions& options, Site s)
    : model_(model), options_(options) {
  if (options_.group.size() == 1) return;
  buckets_ =
      std::make_unique<detail::GradientBuckets>(model, options_.first_bucket_bytes, options_.bucket_bytes, s);
  const no_grad scope;
  detail::take_from_first(model, model.state_dict(s), options_.group, s);
}

DataParallel::~DataParallel() = default;

void DataParallel::send(size_t bucket, const Site& s) {
  std::vector<Tensor> gradients = buckets_->gradients_of(bucket, s);
  if (options_.exchange_dtype)
    for (Tensor& g : gradients) g = astype(Arg(g, s), *options_.exchange_dtype);
  under_way_.push_back({bucket, start_all_reduce(gradients, ReduceOp::mean, options_.group, s)});
}

void DataParallel::receive(const Site& s) {
  for (auto& [bucket, work] : under_way_) {
    const std::vector<Tensor> means = work.wait(s);
    size_t k = 0;
    for (const size_t i : (*buckets_)[bucket].parameters) {
      Parameter& p = buckets_->parameter(i);
      p.set_grad(astype(Arg(means[k++], s), p.dtype(s)), s);
    }
  }
  under_way_.clear();
}

void DataParallel::backward(const Tensor& loss, Site s) {
  if (!buckets_ || buckets_->size() == 0 || paused_) return loss.backward({}, false, false, s);
  if (options_.broadcast_buffers) {
    const no_grad scope;
    detail::take_from_first(model_, model_.named_buffers(s), options_.group, s);
  }
  under_way_.clear();
  buckets_->backward(
      loss, [this](size_t bucket, const Site& at) { send(bucket, at); }, s);
  const no_grad scope;
  receive(s);
}

std::vector<std::vector<std::string>> DataParallel::buckets() const {
  std::vector<std::vector<std::string>> all;
  for (size_t b = 0; buckets_ && b < buckets_->size(); ++b) {
    all.emplace_back();
    for (const size_t i : (*buckets_)[b].parameters) all.back().push_back(buckets_->name_of(i));
  }
  return all;
}

}  // namespace lazy::distributed
