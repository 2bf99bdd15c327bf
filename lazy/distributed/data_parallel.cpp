#include "lazy/distributed/data_parallel.hpp"

#include <algorithm>
#include <map>

#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::distributed {

DataParallel::DataParallel(nn::Module& model, const DataParallelOptions& options, Site s)
    : model_(model), options_(options), site_(s), alive_(std::make_shared<bool>(true)) {
  if (world_size() == 1) return;
  const no_grad scope;
  for (auto& [name, p] : model.named_parameters(s))
    if (p->defined() && p->requires_grad(s)) names_.push_back(name), parameters_.push_back(p);
  // The last ones have their gradients first.
  bucket_of_.resize(parameters_.size());
  is_ready_.resize(parameters_.size());
  int64_t bytes = 0;
  DType type{};
  for (size_t i = parameters_.size(); i-- > 0;) {
    const Parameter& p = *parameters_[i];
    const int64_t own = p.size(s) * static_cast<int64_t>(size_of(p.dtype(s)));
    const int64_t most = buckets_.size() <= 1 ? options_.first_bucket_bytes : options_.bucket_bytes;
    if (buckets_.empty() || bytes + own > most || p.dtype(s) != type) buckets_.emplace_back(), bytes = 0;
    bytes += own, type = p.dtype(s);
    buckets_.back().parameters.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
  }
  take_from_root(model.state_dict(s), s);
  for (size_t i = 0; i < parameters_.size(); ++i)
    register_post_accumulate_grad_hook(
        *parameters_[i],
        [this, i, alive = std::weak_ptr<bool>(alive_)](Tensor) {
          if (!alive.expired() && running_) ready(i, site_);
        },
        s);
}

DataParallel::~DataParallel() = default;

void DataParallel::take_from_root(const NamedTensors& state, const Site& s) {
  std::map<DType, NamedTensors> all;  // an exchange is of one dtype
  for (const auto& [name, value] : state)
    if (value.defined()) all[value.dtype(s)].set(name, value);
  NamedTensors changed;
  for (const auto& [dtype, some] : all) {
    std::vector<Tensor> values;
    for (const auto& [name, value] : some) values.push_back(value);
    values = broadcast(values, 0, s);
    size_t i = 0;
    for (const auto& [name, value] : some) changed.set(name, values[i++]);
  }
  if (!changed.empty()) model_.load_state_dict(changed, false, s);
}

void DataParallel::ready(size_t parameter, const Site& s) {
  if (is_ready_[parameter]) return;
  is_ready_[parameter] = 1;
  --buckets_[bucket_of_[parameter]].waits_for;
  while (next_ < buckets_.size() && buckets_[next_].waits_for == 0) exchange(buckets_[next_++], s);
}

void DataParallel::exchange(Bucket& b, const Site& s) {
  std::vector<Tensor> gradients;
  for (const size_t i : b.parameters) {
    Tensor g = parameters_[i]->grad(s);
    const Parameter& p = *parameters_[i];
    if (!g.defined()) g = zeros(p.shape(s), p.dtype(s), p.device(s), s);
    gradients.push_back(std::move(g));
  }
  gradients = all_reduce(gradients, ReduceOp::mean, s);
  for (size_t k = 0; k < b.parameters.size(); ++k) parameters_[b.parameters[k]]->set_grad(gradients[k], s);
}

void DataParallel::backward(const Tensor& loss, Site s) {
  if (buckets_.empty() || paused_) return loss.backward({}, false, false, s);
  if (options_.broadcast_buffers) {
    const no_grad scope;
    take_from_root(model_.named_buffers(s), s);
  }
  std::fill(is_ready_.begin(), is_ready_.end(), uint8_t{0});
  for (Bucket& b : buckets_) b.waits_for = b.parameters.size();
  next_ = 0, site_ = s;
  struct Running {
    bool& flag;
    explicit Running(bool& f) : flag(f) { flag = true; }
    ~Running() { flag = false; }
  } running(running_);
  loss.backward({}, false, false, s);
  const no_grad scope;
  while (next_ < buckets_.size()) exchange(buckets_[next_++], s);  // what this loss does not depend on
}

std::vector<std::vector<std::string>> DataParallel::buckets() const {
  std::vector<std::vector<std::string>> all;
  for (const Bucket& b : buckets_) {
    all.emplace_back();
    for (const size_t i : b.parameters) all.back().push_back(names_[i]);
  }
  return all;
}

}  // namespace lazy::distributed
