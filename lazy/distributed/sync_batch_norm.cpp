#include "lazy/distributed/sync_batch_norm.hpp"

#include "lazy/core/build.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/nn/modules/normalisation.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/reductions.hpp"
#include "support/error.hpp"

namespace lazy::distributed {

BatchNormResult sync_batch_norm(Arg arg, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                                const BatchNormOptions& o, const Group& group) {
  const Site s = arg.site();
  if (group.size() == 1) return batch_norm_training(std::move(arg), running_mean, running_var, o);
  const Tensor given(arg.take());
  const Shape shape = given.shape(s);
  if (shape.size() < 2)
    lazy::detail::fail<ShapeError>("sync_batch_norm", "x has axes (N, C, ...), not " + to_string(shape), s);
  const int channels_at = o.layout == channels_last ? shape.size() - 1 : 1;
  const int64_t channels = shape[channels_at];
  Dims others;
  Shape along;
  for (int i = 0; i < shape.size(); ++i) {
    if (i != channels_at) others.push_back(i);
    along.push_back(i == channels_at ? channels : 1);
  }
  const DType wide = given.dtype(s) == DType::float64 ? DType::float64 : DType::float32;
  const Tensor x = given.to(wide, s);
  // Chan et al. 1979: mean and variance of parts, by their sizes, make those of the whole.
  const int64_t n = channels ? numel(shape) / channels : 0;
  const Tensor own_mean = mean(Arg(x, s), Axes(others));
  const Tensor own_var = mean(Arg(square(Arg(x - own_mean.reshape(along, s), s)), s), Axes(others));
  const Tensor count = full({1, 1}, static_cast<double>(n), wide, given.device(s), s);
  const Tensor own =
      concat({own_mean.reshape({1, channels}, s), own_var.reshape({1, channels}, s), count}, 1, s);
  const Tensor all = all_gather(own, group, s);
  const Tensor means = all(slice(), slice(0, channels)), vars = all(slice(), slice(channels, 2 * channels));
  const Tensor counts = all(slice(), slice(2 * channels, 2 * channels + 1)).detach(s);
  const Tensor total = sum(Arg(counts, s));
  const Tensor shares = counts / total;
  const Tensor whole = sum(Arg(shares * means, s), Axes(0));
  const Tensor var = sum(Arg(shares * (vars + square(Arg(means - whole, s))), s), Axes(0));
  Tensor y = (x - whole.reshape(along, s)) * rsqrt(Arg(var.reshape(along, s) + o.eps, s));
  if (o.weight.defined()) y = y * o.weight.to(wide, s).reshape(along, s);
  if (o.bias.defined()) y = y + o.bias.to(wide, s).reshape(along, s);
  BatchNormResult r;
  r.output = y.to(given.dtype(s), s);
  const auto moved = [&](const MaybeTensor& before, const Tensor& now) {
    return (before * (1 - o.momentum) + now.detach(s) * o.momentum).to(before.dtype(s), s);
  };
  if (running_mean.defined()) r.running_mean = moved(running_mean, whole);
  if (running_var.defined()) r.running_var = moved(running_var, var * (total / (total - 1)));
  return r;
}

int sync_batch_norms(nn::Module& model, const Group& group) {
  int count = 0;
  for (nn::Module* const m : model.modules()) {
    auto* const norm = dynamic_cast<nn::detail::BatchNormBase*>(m);
    if (!norm) continue;
    ++count;
    if (group.size() == 1) continue;
    norm->normalises_batch = [group](Arg x, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                                     const lazy::BatchNormOptions& o) {
      return sync_batch_norm(std::move(x), running_mean, running_var, o, group);
    };
  }
  return count;
}

}  // namespace lazy::distributed
