#include "lazy/distributed/zero.hpp"

#include <algorithm>

#include "lazy/autograd/planed.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/distributed/flat_shards.hpp"
#include "lazy/distributed/gradient_buckets.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"
#include "support/error.hpp"

namespace lazy::distributed {

ZeroOptimizer::ZeroOptimizer(nn::Module& model, const Make& make, const ZeroOptions& options, Site s)
    : options_(options) {
  if (options.stage != 1 && options.stage != 2)
    throw Error("ZeroOptimizer: stage " + std::to_string(options.stage) + " is not 1 or 2", s);
  if (options.group.size() == 1) {
    inner_ = make(model.named_parameters(s));
    return;
  }
  buckets_ = std::make_unique<detail::GradientBuckets>(
      model,
      detail::GradientBuckets::Options{options.first_bucket_bytes, options.bucket_bytes,
                                       options.broadcast_buffers, options.group},
      s);
  if (buckets_->size() == 0) throw Error("ZeroOptimizer: the model has no parameters to train", s);
  const no_grad scope;
  take_shards(s);
  std::vector<std::pair<std::string, ParameterRef>> named;
  for (size_t b = 0; b < shards_.size(); ++b)
    named.emplace_back("bucket." + std::to_string(b), shards_[b].ref());
  inner_ = make(named);
}

ZeroOptimizer::~ZeroOptimizer() = default;

Tensor ZeroOptimizer::part_of(const std::vector<Tensor>& values, const Site& s) const {
  std::vector<Tensor> flat;
  int64_t n = 0;
  for (const Tensor& v : values) flat.push_back(v.flatten(s)), n += v.size(s);
  const int64_t each = detail::shard_elements(n, options_.group);
  if (const int64_t more = each * options_.group.size() - n)
    flat.push_back(zeros({more}, values[0].dtype(s), values[0].device(s), s));
  const int64_t begin = each * options_.group.rank();
  return concat(flat, 0, s)(slice(begin, begin + each));
}

void ZeroOptimizer::take_shards(const Site& s) {
  shards_.resize(buckets_->size());
  for (size_t b = 0; b < buckets_->size(); ++b) {
    Tensor part = part_of(buckets_->values_of(b, s), s);
    if (options_.master_weights && is_half(part.dtype(s))) part = astype(Arg(part, s), DType::float32);
    shards_[b].reset(part, s);
    shards_[b].requires_grad_(true, s);
  }
}

Work ZeroOptimizer::send(size_t bucket, const Site& s) {
  const std::vector<Tensor> gradients = buckets_->gradients_of(bucket, s);
  if (options_.stage == 1) return start_all_reduce(gradients, ReduceOp::mean, options_.group, s);
  const Parameter& shard = shards_[bucket];
  // A shard of the gradients' own dtype says how long results are.
  const Tensor like = shard.dtype(s) == gradients[0].dtype(s)
                          ? shard.detach(s)
                          : zeros(shard.shape(s), gradients[0].dtype(s), shard.device(s), s);
  Work work = detail::start_scatter_flat(gradients, like, ReduceOp::mean, options_.group, s);
  for (const size_t i : (*buckets_)[bucket].parameters) buckets_->parameter(i).set_grad({}, s);
  return work;
}

void ZeroOptimizer::add_gradient(Parameter& shard, const Tensor& gradient, const Site& s) const {
  Tensor g = astype(Arg(gradient, s), shard.dtype(s));
  if (options_.stage == 2)
    if (const Tensor before = shard.grad(s); before.defined()) g = add(Arg(before, s), Arg(g, s));
  shard.set_grad(g, s);
}

void ZeroOptimizer::receive(size_t bucket, const std::vector<Tensor>& means, const Site& s) {
  if (options_.stage == 2) return add_gradient(shards_[bucket], means[0], s);
  size_t k = 0;
  const std::vector<Tensor> whole = buckets_->whole(bucket, means, s);
  for (const size_t i : (*buckets_)[bucket].parameters) buckets_->parameter(i).set_grad(whole[k++], s);
  add_gradient(shards_[bucket], part_of(means, s), s);
}

void ZeroOptimizer::backward(const Tensor& loss, Site s) {
  if (!buckets_ || paused_) return loss.backward({}, false, false, s);
  buckets_->backward(
      loss, [&](size_t bucket) { return send(bucket, s); },
      [&](size_t bucket, const std::vector<Tensor>& means) { receive(bucket, means, s); }, s);
}

Tensor ZeroOptimizer::clip_grad_norm_(double max_norm, Site s) {
  if (!(max_norm >= 0))
    throw Error("clip_grad_norm_: max_norm is " + std::to_string(max_norm) + ", not >= 0", s);
  const no_grad scope;
  const optim::ParameterList own = inner_->parameters();
  const bool has_doubles = std::any_of(own.begin(), own.end(), [&](const optim::ParameterItem& item) {
    return plane_type(item.parameter->dtype(s)) == DType::float64;
  });
  const DType type = has_doubles ? DType::float64 : DType::float32;
  Tensor squares = zeros({}, type, own.empty() ? MaybeDevice() : own[0].parameter->device(s), s);
  for (const optim::ParameterItem& item : own) {
    const Tensor g = item.parameter->grad(s);
    if (!g.defined()) continue;
    const lazy::detail::Planed planes(g.handle());  // on one rank shards are the parameters
    for (const lazy::detail::Handle& plane : planes.all()) {
      const Tensor wide = astype(Arg(plane, s), type);
      squares = add(Arg(squares, s), Arg(sum(Arg(multiply(Arg(wide, s), Arg(wide, s)), s)), s));
    }
  }
  const Tensor norm = sqrt(Arg(all_reduce(squares, ReduceOp::sum, options_.group, s), s));
  const Tensor factor =
      minimum(Arg(divide(Arg(max_norm, s), Arg(add(Arg(norm, s), Arg(1e-6, s)), s)), s), Arg(1.0, s));
  for (const optim::ParameterItem& item : own) {
    const Tensor g = item.parameter->grad(s);
    if (g.defined())
      item.parameter->set_grad(astype(Arg(multiply(Arg(g, s), Arg(factor, s)), s), g.dtype(s)), s);
  }
  return norm;
}

Tensor ZeroOptimizer::found_by_any(const Tensor& own, const Site& s) const {
  const Tensor mine = own.defined() ? astype(Arg(own, s), DType::float32) : zeros({}, float32, {}, s);
  return greater(Arg(all_reduce(mine, ReduceOp::max, options_.group, s), s), Arg(0.0, s));
}

void ZeroOptimizer::unscale_(GradScaler& scaler, Site s) {
  if (!buckets_) return scaler.unscale_(*inner_, s);
  scaler.unscale_(
      *inner_, [&](const Tensor& own) { return found_by_any(own, s); }, s);
}

void ZeroOptimizer::step(Site s) {
  inner_->step(s);
  gather(s);
}
void ZeroOptimizer::step(GradScaler& scaler, Site s) {
  if (!buckets_) return scaler.step(*inner_, s);
  scaler.step(
      *inner_, [&](const Tensor& own) { return found_by_any(own, s); }, s);
  gather(s);
}

void ZeroOptimizer::gather(const Site& s) {
  if (!buckets_) return;
  const no_grad scope;
  std::vector<Work> gathers;
  for (size_t b = 0; b < buckets_->size(); ++b) {
    const std::vector<Tensor> likes = buckets_->values_of(b, s);
    const Tensor shard = astype(Arg(shards_[b].detach(s), s), likes[0].dtype(s));
    gathers.push_back(detail::start_gather_flat(shard, likes, options_.group, s));
  }
  for (size_t b = 0; b < buckets_->size(); ++b) {
    const std::vector<Tensor> values = buckets_->whole(b, gathers[b].wait(s), s);
    size_t k = 0;
    for (const size_t i : (*buckets_)[b].parameters) buckets_->parameter(i) = values[k++];
  }
}

void ZeroOptimizer::zero_grad(Site s) {
  inner_->zero_grad(s);
  for (size_t b = 0; buckets_ && b < buckets_->size(); ++b)
    for (const size_t i : (*buckets_)[b].parameters) buckets_->parameter(i).set_grad({}, s);
}

std::vector<ZeroOptimizer::Shard> ZeroOptimizer::shards() const {
  std::vector<Shard> all;
  for (size_t b = 0; buckets_ && b < buckets_->size(); ++b) {
    Shard shard;
    shard.name = "bucket." + std::to_string(b);
    for (const size_t i : (*buckets_)[b].parameters) {
      shard.size += buckets_->parameter(i).size() * (is_complex(buckets_->parameter(i).dtype()) ? 2 : 1);
      shard.parameters.push_back(buckets_->name_of(i));
    }
    const int64_t each = detail::shard_elements(shard.size, options_.group);
    shard.begin = std::min(shard.size, each * options_.group.rank());
    shard.end = std::min(shard.size, shard.begin + each);
    all.push_back(std::move(shard));
  }
  return all;
}

}  // namespace lazy::distributed
