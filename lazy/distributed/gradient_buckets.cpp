#include "lazy/distributed/gradient_buckets.hpp"

#include <algorithm>
#include <map>

#include "lazy/autograd/backward.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::distributed::detail {

GradientBuckets::GradientBuckets(nn::Module& model, int64_t first_bytes, int64_t bytes, const Site& s)
    : site_(s), alive_(std::make_shared<bool>(true)) {
  const no_grad scope;
  for (auto& [name, p] : model.named_parameters(s))
    if (p->defined() && p->requires_grad(s)) names_.push_back(name), parameters_.push_back(p);
  bucket_of_.resize(parameters_.size());
  is_ready_.resize(parameters_.size());
  int64_t filled = 0;
  DType type{};
  for (size_t i = parameters_.size(); i-- > 0;) {
    const Parameter& p = *parameters_[i];
    const int64_t own = p.size(s) * static_cast<int64_t>(size_of(p.dtype(s)));
    const int64_t most = buckets_.size() <= 1 ? first_bytes : bytes;
    if (buckets_.empty() || filled + own > most || p.dtype(s) != type) buckets_.emplace_back(), filled = 0;
    filled += own, type = p.dtype(s);
    buckets_.back().parameters.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
  }
  for (size_t i = 0; i < parameters_.size(); ++i)
    register_post_accumulate_grad_hook(
        *parameters_[i],
        [this, i, alive = std::weak_ptr<bool>(alive_)](Tensor) {
          if (!alive.expired() && ready_) note(i, site_);
        },
        s);
}

void GradientBuckets::note(size_t parameter, const Site& s) {
  if (is_ready_[parameter]) return;
  is_ready_[parameter] = 1;
  --buckets_[bucket_of_[parameter]].waits_for;
  for (; next_ < buckets_.size() && buckets_[next_].waits_for == 0; ++next_) (*ready_)(next_, s);
}

std::vector<Tensor> GradientBuckets::gradients_of(size_t bucket, const Site& s) const {
  std::vector<Tensor> all;
  for (const size_t i : buckets_[bucket].parameters) {
    const Parameter& p = *parameters_[i];
    Tensor g = p.grad(s);
    if (!g.defined()) g = zeros(p.shape(s), p.dtype(s), p.device(s), s);
    all.push_back(std::move(g));
  }
  return all;
}

void GradientBuckets::backward(const Tensor& loss, const Ready& ready, const Site& s) {
  std::fill(is_ready_.begin(), is_ready_.end(), uint8_t{0});
  for (Bucket& b : buckets_) b.waits_for = b.parameters.size();
  next_ = 0, site_ = s, ready_ = &ready;
  struct Running {
    const Ready*& of;
    ~Running() { of = nullptr; }
  } running{ready_};
  loss.backward({}, false, false, s);
  const no_grad scope;
  for (; next_ < buckets_.size(); ++next_) ready(next_, s);
}

void take_from_first(nn::Module& model, const NamedTensors& state, const Group& group, const Site& s) {
  std::map<DType, NamedTensors> all;  // an exchange is of one dtype
  for (const auto& [name, value] : state)
    if (value.defined()) all[value.dtype(s)].set(name, value);
  NamedTensors changed;
  for (const auto& [dtype, some] : all) {
    std::vector<Tensor> values;
    for (const auto& [name, value] : some) values.push_back(value);
    values = broadcast(values, 0, group, s);
    size_t i = 0;
    for (const auto& [name, value] : some) changed.set(name, values[i++]);
  }
  if (!changed.empty()) model.load_state_dict(changed, false, s);
}

}  // namespace lazy::distributed::detail
