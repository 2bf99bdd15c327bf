#include "lazy/distributed/data_parallel.hpp"

#include "lazy/core/promotion.hpp"
#include "lazy/distributed/gradient_buckets.hpp"

namespace lazy::distributed {

DataParallel::DataParallel(nn::Module& model, const DataParallelOptions& o, Site s) : options_(o) {
  if (o.group.size() == 1) return;
  buckets_ = std::make_unique<detail::GradientBuckets>(
      model,
      detail::GradientBuckets::Options{o.first_bucket_bytes, o.bucket_bytes, o.broadcast_buffers, o.group},
      s);
}

DataParallel::~DataParallel() = default;

void DataParallel::backward(const Tensor& loss, Site s) {
  if (!buckets_ || buckets_->size() == 0 || paused_) return loss.backward({}, false, false, s);
  const auto send = [&](size_t bucket) {
    std::vector<Tensor> gradients = buckets_->gradients_of(bucket, s);
    if (options_.exchange_dtype)
      for (Tensor& g : gradients) g = astype(Arg(g, s), *options_.exchange_dtype);
    return start_all_reduce(gradients, ReduceOp::mean, options_.group, s);
  };
  const auto receive = [&](size_t bucket, const std::vector<Tensor>& means) {
    size_t k = 0;
    const std::vector<Tensor> gradients = buckets_->whole(bucket, means, s);
    for (const size_t i : (*buckets_)[bucket].parameters) buckets_->parameter(i).set_grad(gradients[k++], s);
  };
  buckets_->backward(loss, send, receive, s);
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
