#include "lazy/nn/modules/normalisation.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/spatial.hpp"
#include "lazy/nn/modules/text.hpp"

namespace lazy::nn {

using detail::Fresh;
using detail::Repr;

namespace detail {

template <class Options>
RunningNorm::RunningNorm(int64_t features, const Options& o, const Site& s)
    : num_features(features),
      eps(o.eps),
      momentum(o.momentum),
      affine(o.affine),
      track_running_stats(o.track_running_stats) {
  const Fresh fresh(o, s);
  if (o.affine) weight = fresh.constant({features}, 1);
  if (o.affine && o.bias) bias = fresh.constant({features}, 0);
  if (!o.track_running_stats) return;
  running_mean = fresh.filled({features}, 0);
  running_var = fresh.filled({features}, 1);
  counter_ = num_batches_tracked = full({}, 0, int64, o.device, s);
}

std::string RunningNorm::extra_repr() const {
  Repr r;
  r.positional(std::to_string(num_features)).add("eps", eps);
  if (momentum) r.add("momentum", *momentum);
  else r.add("momentum", "None");
  return r.add("affine", affine)
      .add("bias", bias.defined())
      .add("track_running_stats", track_running_stats)
      .str();
}

void RunningNorm::check_channels(const Arg& x) const {
  const Shape shape = lazy::detail::shape_of(name().c_str(), x);
  if (shape.size() > 1 && shape[1] != num_features)
    lazy::detail::fail<ShapeError>(name().c_str(),
                                   "takes " + std::to_string(num_features) + " channels, not the " +
                                       std::to_string(shape[1]) + " of " + lazy::to_string(shape),
                                   x.site());
}

void RunningNorm::throw_const(const Site& s) const {
  lazy::detail::fail<Error>(
      name().c_str(),
      "is const, and in training it moves its running statistics: call eval() first, or a "
      "model that is not const",
      s);
}

void RunningNorm::take(const lazy::BatchNormResult& now, const Site& s) {
  const lazy::detail::Inferring off(false);  // variables, whoever moves them
  running_mean = now.running_mean.detach(s);
  running_var = now.running_var.detach(s);
}

int64_t RunningNorm::count(const Site& s) {
  if (num_batches_tracked.handle().get() != counter_.handle().get())
    counted_ = num_batches_tracked.item<int64_t>(s);
  counter_ = num_batches_tracked = full({}, ++counted_, int64, num_batches_tracked.device(s), s);
  return counted_;
}

lazy::BatchNormOptions RunningNorm::options(double share) const {
  return {.weight = weight, .bias = bias, .momentum = share, .eps = eps};
}

BatchNormBase::BatchNormBase(int64_t features, const BatchNormLayerOptions& o, const Site& s)
    : RunningNorm(features, o, s) {}

Tensor BatchNormBase::normalise(Arg x, int axes) const {
  check_rank(name().c_str(), x, axes == 1 ? 2 : axes + 2, axes + 2);
  check_channels(x);
  if (!uses_batch()) return batch_norm(std::move(x), running_mean, running_var, weight, bias, eps);
  if (running_mean.defined()) throw_const(x.site());
  return (normalises_batch ? normalises_batch(std::move(x), {}, {}, options(0))
                           : batch_norm_training(std::move(x), {}, {}, options(0)))
      .output;
}

Tensor BatchNormBase::normalise(Arg x, int axes) {
  if (!training() || !running_mean.defined()) return std::as_const(*this).normalise(std::move(x), axes);
  check_rank(name().c_str(), x, axes == 1 ? 2 : axes + 2, axes + 2);
  check_channels(x);
  const Site site = x.site();
  const int64_t batches = count(site);
  const lazy::BatchNormOptions o = options(momentum ? *momentum : 1.0 / static_cast<double>(batches));
  lazy::BatchNormResult now = normalises_batch
                                  ? normalises_batch(std::move(x), running_mean, running_var, o)
                                  : batch_norm_training(std::move(x), running_mean, running_var, o);
  take(now, site);
  return std::move(now.output);
}

InstanceNormBase::InstanceNormBase(int64_t features, const InstanceNormLayerOptions& o, const Site& s)
    : RunningNorm(features, o, s) {}

Tensor InstanceNormBase::normalise(Arg x, int axes) const {
  check_rank(name().c_str(), x, axes + 1, axes + 2);
  if (uses_batch() && running_mean.defined()) throw_const(x.site());
  return batched(std::move(x), axes, [&](Arg images) {
    return uses_batch() ? instance_norm(std::move(images), weight, bias, eps)
                        : batch_norm(std::move(images), running_mean, running_var, weight, bias, eps);
  });
}

Tensor InstanceNormBase::normalise(Arg x, int axes) {
  if (!training() || !running_mean.defined()) return std::as_const(*this).normalise(std::move(x), axes);
  check_rank(name().c_str(), x, axes + 1, axes + 2);
  return batched(std::move(x), axes, [&](Arg images) {
    const Site site = images.site();
    lazy::BatchNormResult now =
        instance_norm_training(std::move(images), running_mean, running_var, options(momentum.value_or(0)));
    take(now, site);
    return std::move(now.output);
  });
}

}  // namespace detail

LayerNorm::LayerNorm(ShapeArg shape, const LayerNormOptions& o, Site s)
    : normalized_shape(shape), eps(o.eps) {
  const Fresh fresh(o, s);
  if (o.elementwise_affine) weight = fresh.constant(shape, 1);
  if (o.elementwise_affine && o.bias) bias = fresh.constant(shape, 0);
}

std::string LayerNorm::extra_repr() const {
  return Repr()
      .positional(detail::text(normalized_shape))
      .add("eps", eps)
      .add("elementwise_affine", weight.defined())
      .add("bias", bias.defined())
      .str();
}

GroupNorm::GroupNorm(IntegerArg groups, IntegerArg channels, const GroupNormOptions& o, Site s)
    : num_groups(groups), num_channels(channels), eps(o.eps) {
  if (groups < 1 || channels % groups != 0)
    lazy::detail::fail<ShapeError>(
        "GroupNorm",
        std::to_string(num_channels) + " channels do not make " + std::to_string(num_groups) + " groups", s);
  const Fresh fresh(o, s);
  if (o.affine) weight = fresh.constant({channels}, 1);
  if (o.affine && o.bias) bias = fresh.constant({channels}, 0);
}

std::string GroupNorm::extra_repr() const {
  return Repr()
      .positional(std::to_string(num_groups))
      .positional(std::to_string(num_channels))
      .add("eps", eps)
      .add("affine", weight.defined())
      .add("bias", bias.defined())
      .str();
}

RMSNorm::RMSNorm(ShapeArg shape, const RMSNormOptions& o, Site s) : normalized_shape(shape), eps(o.eps) {
  if (o.elementwise_affine) weight = Fresh(o, s).constant(shape, 1);
}

std::string RMSNorm::extra_repr() const {
  Repr r;
  r.positional(detail::text(normalized_shape));
  if (eps) r.add("eps", *eps);
  else r.add("eps", "None");
  return r.add("elementwise_affine", weight.defined()).str();
}

std::string LocalResponseNorm::extra_repr() const {
  return Repr().positional(std::to_string(size)).add("alpha", alpha).add("beta", beta).add("k", k).str();
}

}  // namespace lazy::nn
