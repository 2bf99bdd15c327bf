#include "lazy/distributed/gradient_buckets.hpp"

#include <algorithm>
#include <map>

#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/planed.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::distributed::detail {

GradientBuckets::GradientBuckets(nn::Module& model, const Options& options, const Site& s)
    : model_(model), options_(options), alive_(std::make_shared<bool>(true)) {
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
    const int64_t most = buckets_.size() <= 1 ? options.first_bytes : options.bytes;
    const DType plane = plane_type(p.dtype(s));
    if (buckets_.empty() || filled + own > most || plane != type) buckets_.emplace_back(), filled = 0;
    filled += own, type = plane;
    buckets_.back().parameters.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
  }
  for (size_t i = 0; i < parameters_.size(); ++i)
    register_post_accumulate_grad_hook(
        *parameters_[i],
        [this, i, alive = std::weak_ptr<bool>(alive_)](Tensor) {
          if (!alive.expired() && start_) note(i);
        },
        s);
  take_from_first(model.state_dict(s), s);
}

void GradientBuckets::note(size_t parameter) {
  if (is_ready_[parameter]) return;
  is_ready_[parameter] = 1;
  --buckets_[bucket_of_[parameter]].waits_for;
  while (under_way_.size() < buckets_.size() && buckets_[under_way_.size()].waits_for == 0)
    under_way_.push_back((*start_)(under_way_.size()));
}

namespace {

void add_planes(std::vector<Tensor>& all, const Tensor& t, const Site& s) {
  const lazy::detail::Planed planes(t.detach(s).handle());
  for (const lazy::detail::Handle& plane : planes.all()) all.emplace_back(plane);
}

}  // namespace

std::vector<Tensor> GradientBuckets::values_of(size_t bucket, const Site& s) const {
  std::vector<Tensor> all;
  for (const size_t i : buckets_[bucket].parameters) add_planes(all, *parameters_[i], s);
  return all;
}

std::vector<Tensor> GradientBuckets::whole(size_t bucket, const std::vector<Tensor>& planes,
                                           const Site& s) const {
  std::vector<Tensor> all;
  size_t next = 0;
  for (const size_t i : buckets_[bucket].parameters) {
    const DType t = parameters_[i]->dtype(s);
    const auto taken = [&] { return astype(Arg(planes[next++], s), plane_type(t)); };
    const Tensor first = taken();
    all.push_back(is_complex(t) ? Tensor(jit::complex(first.handle(), taken().handle(), s)) : first);
  }
  return all;
}

std::vector<Tensor> GradientBuckets::gradients_of(size_t bucket, const Site& s) const {
  std::vector<Tensor> all;
  for (const size_t i : buckets_[bucket].parameters) {
    const Parameter& p = *parameters_[i];
    Tensor g = p.grad(s);
    if (!g.defined()) g = zeros(p.shape(s), p.dtype(s), p.device(s), s);
    add_planes(all, g, s);
  }
  return all;
}

void GradientBuckets::backward(const Tensor& loss, const Start& start, const Finish& finish, const Site& s) {
  if (options_.broadcast_buffers) {
    const no_grad scope;
    take_from_first(model_.named_buffers(s), s);
  }
  std::fill(is_ready_.begin(), is_ready_.end(), uint8_t{0});
  for (Bucket& b : buckets_) b.waits_for = b.parameters.size();
  under_way_.clear();
  {
    struct Running {
      const Start*& of;
      ~Running() { of = nullptr; }
    } running{start_ = &start};
    loss.backward({}, false, false, s);
  }
  const no_grad scope;
  while (under_way_.size() < buckets_.size()) under_way_.push_back(start(under_way_.size()));
  for (size_t b = 0; b < buckets_.size(); ++b) finish(b, under_way_[b].wait(s));
  under_way_.clear();
}

void GradientBuckets::take_from_first(const NamedTensors& state, const Site& s) {
  std::map<DType, NamedTensors> all;  // an exchange is of one dtype
  for (const auto& [name, value] : state)
    if (value.defined()) all[value.dtype(s)].set(name, value);
  NamedTensors changed;
  for (const auto& [dtype, some] : all) {
    std::vector<Tensor> values;
    for (const auto& [name, value] : some) values.push_back(value);
    values = broadcast(values, 0, options_.group, s);
    size_t i = 0;
    for (const auto& [name, value] : some) changed.set(name, values[i++]);
  }
  if (!changed.empty()) model_.load_state_dict(changed, false, s);
}

}  // namespace lazy::distributed::detail
