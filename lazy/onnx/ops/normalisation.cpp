#include "lazy/nn/functional/normalisation.hpp"

#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"

namespace lazy::onnx {
namespace {

void batch_normalization_op(Call& c) {
  const double eps = c.real("epsilon", 1e-5);
  const bool training =
      c.version() >= 14 ? c.integer("training_mode", 0) != 0 : c.wants(1) && c.integer("is_test", 0) == 0;
  if (!training) return c.give(batch_norm(c[0], c.tensor(3), c.tensor(4), c.tensor(1), c.tensor(2), eps));
  // ONNX moves the running variance by that of n, not of n - 1, elements: it is computed here.
  const int rank = c.rank(0);
  Dims others{0};
  for (int i = 2; i < rank; ++i) others.push_back(i);
  const Tensor m = mean(c[0], Axes(others)), v = var(c[0], Axes(others));
  const double momentum = c.real("momentum", 0.9);
  const auto moved = [&](size_t i, const Tensor& now) {
    return add(c.arg(multiply(c[i], momentum)), c.arg(multiply(c.arg(now), 1 - momentum)))
        .astype(c.dtype(i), c.site());
  };
  c.give(0, batch_norm(c[0], m, v, c.tensor(1), c.tensor(2), eps).astype(c.dtype(0), c.site()));
  c.give(1, moved(3, m));
  c.give(2, moved(4, v));
}

std::string check_batch_normalization(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute)
    if (a.name == "spatial" && a.i == 0) return "statistics of each element ('spatial' 0) are not supported";
  return {};
}

void instance_normalization_op(Call& c) {
  c.give(instance_norm(c[0], c.tensor(1), c.tensor(2), c.real("epsilon", 1e-5)));
}

void layer_normalization_op(Call& c) {
  const Shape shape = c.shape(0);
  const int first = c.axis(c.integer("axis", -1), shape.size());
  const double eps = c.real("epsilon", 1e-5);
  Shape normalized;
  Dims axes;
  for (int i = first; i < shape.size(); ++i) normalized.push_back(shape[i]), axes.push_back(i);
  const auto whole = [&](size_t i) {
    if (!c.has(i)) return Tensor();
    return c.shape(i) == normalized ? c.tensor(i) : broadcast_to(c[i], ShapeArg(normalized));
  };
  c.give(0, layer_norm(c[0], ShapeArg(normalized), whole(1), whole(2), eps));
  if (!c.wants(1) && !c.wants(2)) return;
  const Tensor x = is_half(c.dtype(0)) ? c.tensor(0).astype(float32, c.site()) : c.tensor(0);
  c.give(1, mean(c.arg(x), Axes(axes), keepdims));
  c.give(2, rsqrt(c.arg(add(c.arg(var(c.arg(x), Axes(axes), keepdims)), eps))));
}

void group_normalization_op(Call& c) {
  if (c.rank(0) < 2) c.fail<ShapeError>("expected (N, C, ...), found " + to_string(c.shape(0)));
  const int64_t groups = c.needed("num_groups"), channels = c.shape(0)[1];
  if (groups < 1 || channels % groups != 0)
    c.fail<ShapeError>(std::to_string(channels) + " channels make no " + std::to_string(groups) + " groups");
  const double eps = c.real("epsilon", 1e-5);
  const auto by_channel = [&](size_t i) {
    if (c.version() >= 21 || c.shape(i)[0] == channels) return c.tensor(i);
    // Before version 21 there is one number for each group.
    const Tensor column = reshape(c[i], {groups, 1});
    return reshape(c.arg(broadcast_to(c.arg(column), {groups, channels / groups})), {channels});
  };
  c.give(group_norm(c[0], groups, by_channel(1), by_channel(2), eps));
}

void lrn_op(Call& c) {
  c.give(local_response_norm(c[0], c.needed("size"), c.real("alpha", 1e-4), c.real("beta", 0.75),
                             c.real("bias", 1)));
}

void mean_variance_normalization_op(Call& c) {
  std::vector<int64_t> given = c.integers("axes");
  if (given.empty()) given = {0, 2, 3};
  const Axes axes(c.axes(given, c.rank(0)));
  const Tensor centred = subtract(c[0], c.arg(mean(c[0], axes, keepdims))),
               deviation = sqrt(c.arg(var(c[0], axes, keepdims)));
  c.give(divide(c.arg(centred), c.arg(add(c.arg(deviation), 1e-9))));
}

void lp_normalization_op(Call& c) {
  c.give(
      normalize(c[0], static_cast<double>(c.integer("p", 2)), c.axis(c.integer("axis", -1), c.rank(0)), 0));
}

void dropout_op(Call& c) {
  const bool training = c.version() >= 12 && c.has(2) && c.number(2) != 0;
  const double ratio = c.version() >= 12 ? (c.has(1) ? c.number(1) : 0.5) : c.real("ratio", 0.5);
  const ShapeArg shape(c.shape(0));
  if (!training || ratio == 0) {
    c.give(0, c.value(0));
    if (c.wants(1)) c.give(1, ones(shape, c.version() < 10 ? c.dtype(0) : bool_, c.device(), c.site()));
    return;
  }
  const Tensor kept = less(c.arg(rand(shape, float32, c.device(), c.site())), 1 - ratio);
  const Tensor scaled = divide(c[0], 1 - ratio);
  c.give(0, where(c.arg(kept), c.arg(scaled), Arg(0, c.site())));
  c.give(1, kept);
}

const Operator kNormalisations[] = {
    {"BatchNormalization", 1, 21, "epsilon momentum training_mode is_test spatial consumed_inputs",
     batch_normalization_op, nullptr, check_batch_normalization},
    {"InstanceNormalization", 1, 21, "epsilon consumed_inputs", instance_normalization_op},
    {"LayerNormalization", 17, 21, "axis epsilon stash_type", layer_normalization_op},
    {"GroupNormalization", 18, 21, "epsilon num_groups stash_type", group_normalization_op},
    {"LRN", 1, 21, "alpha beta bias size", lrn_op},
    {"MeanVarianceNormalization", 9, 21, "axes", mean_variance_normalization_op},
    {"LpNormalization", 1, 21, "axis p", lp_normalization_op},
    {"Dropout", 1, 21, "ratio seed is_test consumed_inputs", dropout_op},
};

}  // namespace

std::span<const Operator> normalisation_operators() { return kNormalisations; }

}  // namespace lazy::onnx
