#include "lazy/nn/modules/adaptive_softmax.hpp"

#include <cmath>

#include "lazy/core/build.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn {

namespace {

constexpr const char* kAdaptiveSoftmax = "AdaptiveLogSoftmaxWithLoss";

/// Returns the number of rows of the head: classes before the first cutoff, and one for each cluster.
int64_t head_size(int64_t classes, const std::vector<int64_t>& cutoffs, const Site& s) {
  bool fits = !cutoffs.empty();
  int64_t before = 0;
  for (const int64_t c : cutoffs) {
    fits = fits && c > before && c < classes;
    before = c;
  }
  if (!fits)
    lazy::detail::fail<Error>(kAdaptiveSoftmax, "cutoffs ascend between 1 and " + std::to_string(classes - 1),
                              s);
  return cutoffs[0] + static_cast<int64_t>(cutoffs.size());
}

LinearOptions layer_options(const AdaptiveSoftmaxOptions& o, bool bias) {
  return {.bias = bias, .dtype = o.dtype, .device = o.device, .generator = o.generator};
}

}  // namespace

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(IntegerArg in, IntegerArg classes,
                                                       const std::vector<int64_t>& cuts,
                                                       const AdaptiveSoftmaxOptions& o, Site s)
    : head(in, head_size(classes, cuts, s), layer_options(o, o.head_bias), s), cutoffs(cuts) {
  cutoffs.push_back(classes);
  for (size_t i = 0; i < cuts.size(); ++i) {
    const auto features = static_cast<int64_t>(
        std::floor(static_cast<double>(in.value) / std::pow(o.div_value, static_cast<double>(i + 1))));
    tail.push_back(Sequential{Linear{in, features, layer_options(o, false), s},
                              Linear{features, cutoffs[i + 1] - cutoffs[i], layer_options(o, false), s}});
  }
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(Arg given) const {
  const Site s = given.site();
  const Tensor x(given.take());
  const Tensor first = log_softmax(Arg(head(Arg(x, s)), s), -1);
  std::vector<Tensor> parts{first(ellipsis, slice(0, cutoffs[0]))};
  for (size_t i = 0; i + 1 < cutoffs.size(); ++i) {
    const int64_t cluster = cutoffs[0] + static_cast<int64_t>(i);
    parts.push_back(log_softmax(Arg(tail[i](Arg(x, s)), s), -1) +
                    first(ellipsis, slice(cluster, cluster + 1)));
  }
  return concat(parts, -1, s);
}

AdaptiveLogSoftmaxWithLoss::Result AdaptiveLogSoftmaxWithLoss::operator()(Arg x, Arg target) const {
  const Site s = x.site();
  const Tensor labels(target.take());
  const Tensor all = log_prob(std::move(x));
  const Shape &rows = labels.shape(s), &probabilities = all.shape(s);
  if (rows.size() > 1 || probabilities.size() != rows.size() + 1 ||
      (rows.size() == 1 && rows[0] != probabilities[0]))
    lazy::detail::fail<ShapeError>(
        kAdaptiveSoftmax,
        "targets " + lazy::to_string(rows) + " do not fit probabilities " + lazy::to_string(probabilities),
        s);
  const jit::Purpose purpose(kAdaptiveSoftmax);  // what a label out of range is reported by
  const Tensor output =
      take_along_axis(Arg(all, s), Arg(labels.unsqueeze(-1, s), s), -1, Bounds::strict).squeeze(-1, s);
  return {output, -mean(Arg(output, s))};
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(Arg x) const {
  const Site s = x.site();
  return argmax(Arg(log_prob(std::move(x)), s), -1);
}

}  // namespace lazy::nn
