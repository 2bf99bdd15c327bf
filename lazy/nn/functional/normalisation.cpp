#include "lazy/nn/functional/normalisation.hpp"

#include <limits>

#include "jit/calls/call.hpp"
#include "lazy/core/memory_format.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/batch_norm_call.hpp"
#include "lazy/nn/functional/norms.hpp"
#include "lazy/nn/functional/spatial.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the last axes of x, which have the extents that the user says.
Dims last_axes(const Term& x, const Shape& normalized) {
  const Formula& f = x.formula();
  const int n = normalized.size(), first = x.rank() - n;
  bool fits = n > 0 && first >= 0;
  for (int i = 0; fits && i < n; ++i) fits = x.extent(first + i) == normalized[i];
  if (!fits)
    f.fail<ShapeError>("x of shape " + to_string(x.shape()) + " does not end in " + to_string(normalized));
  Dims axes;
  for (int i = first; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

/// Returns a weight or bias of exactly `shape`, seen as `as`, which broadcasts to x.
Term parameter(const Formula& f, const char* what, const Tensor& t, const Shape& shape, const Shape& as) {
  const Term p = f.term(t);
  if (p.shape() != shape)
    f.fail<ShapeError>(std::string(what) + " has shape " + to_string(p.shape()) + ", not " +
                       to_string(shape));
  return reshape(p, as);
}

/// Multiplies by a weight and adds a bias, where they are given.
Term scaled(Term y, const Tensor& weight, const Tensor& bias, const Shape& shape, const Shape& as) {
  const Formula& f = y.formula();
  if (weight.defined()) y = y * parameter(f, "weight", weight, shape, as);
  if (bias.defined()) y = y + parameter(f, "bias", bias, shape, as);
  return y;
}

/// Sums along axes, one after the other from the last: the first sum is one kernel with what it adds up.
Term sum_along(Term x, const Dims& axes) {
  for (int i = axes.size() - 1; i >= 0; --i) x = sum(x, {axes[i]});
  return x;
}

/// Holds values minus their mean, their variance, and 1 over the root of it and eps, along axes that stay
/// with extent 1.
struct Moments {
  Term mean, centered, variance, inverse;

  Moments() = default;
  Moments(const Term& x, const Dims& axes, double eps) {
    const double n = static_cast<double>(count_along(x.shape(), axes));
    mean = sum_along(x, axes) / n;
    centered = x - mean;
    variance = sum_along(centered * centered, axes) / n;
    inverse = rsqrt(variance + eps);
  }
  Term normalised() const { return centered * inverse; }
};

/// Says over which axes a normalisation spreads: `common` are those of both statistics and parameters, the
/// others are those of one of the two alone. x is seen in `shape`, and weight and bias in `parameters_shape`.
struct Spread {
  Shape shape, parameters_shape;
  Dims common, statistics, parameters;

  Dims all_statistics() const {
    Dims r = statistics;
    for (const int64_t a : common) r.push_back(a);
    return r;
  }
};

/// Gives the derivative of a normalisation of x by weight and bias, operands 0 to 2: with y the normalised
/// values, the gradient of x is that of y without its mean and its part along y, over the deviation. It keeps
/// the statistics, which are few numbers.
Derivative norm_derivative(const Spread& spread, const Moments& moments) {
  return [spread, mean = moments.mean.handle(), inverse = moments.inverse.handle()](const Differentiated& d) {
    const Formula f("gradient of a normalisation", d.site);
    const Term given = f.term(d.operands[0]), x = reshape(given, spread.shape);
    const DType work = x.handle()->dtype;
    const Term g = reshape(f.term(d.gradient).as(work), spread.shape);
    std::vector<Handle> r(3);
    if (numel(spread.shape) == 0) {
      for (size_t i = 0; i < 3; ++i)
        if (d.wants(i)) r[i] = f.filled(0, d.operands[i]->dtype, d.operands[i]->shape, d.operands[i]);
      return r;
    }
    const Dims axes = spread.all_statistics();
    const Term over_deviation = f.term(inverse), y = (x - f.term(mean)) * over_deviation;
    const Term g_sum = sum_along(g, spread.common), gy_sum = sum_along(g * y, spread.common);
    const auto parameter = [&](size_t i, const Term& sums) {
      const Handle& p = d.operands[i];
      if (d.wants(i)) r[i] = reshape(sum_along(sums, spread.parameters), p->shape).as(p->dtype).handle();
    };
    parameter(1, gy_sum);
    parameter(2, g_sum);
    if (!d.wants(0)) return r;
    const auto weighted = [&](const Term& t) {
      return d.operands[1] ? t * reshape(f.term(d.operands[1]).as(work), spread.parameters_shape) : t;
    };
    const double n = static_cast<double>(count_along(spread.shape, axes));
    const Term mean_g = sum_along(weighted(g_sum), spread.statistics) / n,
               mean_gy = sum_along(weighted(gy_sum), spread.statistics) / n;
    r[0] = reshape((weighted(g) - mean_g - y * mean_gy) * over_deviation, given.shape()).handle();
    return r;
  };
}

/// Says where the channels of x are, (N, C, ...) or (N, ..., C), and over which axes they spread.
struct Channels {
  int axis;
  int64_t count;
  Dims others;
  Shape alone, beside;  // (C), and (C) with extents of 1 as it broadcasts to x

  Channels(const Term& x, ChannelLayout layout, int least = 2) {
    if (x.rank() < least)
      x.formula().fail<ShapeError>("takes x of at least " + std::to_string(least) + " axes, not " +
                                   to_string(x.shape()));
    axis = layout == channels_first ? 1 : x.rank() - 1;
    count = x.extent(axis);
    for (int i = 0; i < x.rank(); ++i)
      if (i != axis) others.push_back(i);
    alone = {count};
    beside = along_axis(x.rank(), axis, count);
  }
};

}  // namespace

Tensor layer_norm(Arg x, ShapeArg normalized, const MaybeTensor& weight, const MaybeTensor& bias,
                  double eps) {
  const Formula f("layer_norm", {&x}, {&weight, &bias});
  const Term v = f.term(x);
  const Dims axes = last_axes(v, normalized);
  Composite whole(f.name, {&v.handle(), &weight.handle(), &bias.handle()}, f.site);
  Dims leading;
  for (int i = 0; i < v.rank() - normalized.size(); ++i) leading.push_back(i);
  const Moments m(v, axes, eps);
  return f.finish(whole, scaled(m.normalised(), weight, bias, normalized, normalized),
                  norm_derivative({v.shape(), normalized, {}, axes, leading}, m));
}

Tensor rms_norm(Arg x, ShapeArg normalized, const MaybeTensor& weight, std::optional<double> eps) {
  const Formula f("rms_norm", {&x}, {&weight});
  const Term v = f.term(x);
  const Dims axes = last_axes(v, normalized);
  Composite whole(f.name, {&v.handle(), &weight.handle()}, f.site);
  const double least = eps                 ? *eps
                       : f.work == float64 ? std::numeric_limits<double>::epsilon()
                                           : static_cast<double>(std::numeric_limits<float>::epsilon());
  return f.finish(whole, scaled(v * rsqrt(mean(v * v, axes) + least), weight, {}, normalized, normalized));
}

namespace {

// A batch norm by running statistics is an intention (jit/calls/call.hpp): a convolution before it can take
// it over. Its operands are x, of the dtype of the result, mean and variance, eps, of the dtype that is
// computed in, and the weight and the bias, if there are some.
constexpr const char* kBatchNormName = "batch_norm";
enum BatchNormOperand : size_t { kNormX, kNormMean, kNormVariance, kNormEps, kNormParameters };

struct BatchNormAttributes {
  uint8_t layout = 0;  // a ChannelLayout
  uint8_t weighted = 0, biased = 0;
};

std::vector<jit::CallOutput> infer_batch_norm(const jit::CallSpec&, std::span<const jit::Meta> o) {
  return {jit::CallOutput::like(kNormX, o[kNormX], o[kNormX].dtype)};
}

std::vector<Handle> expand_batch_norm(const jit::Expanding& e) {
  const auto how = e.spec.as<BatchNormAttributes>();
  Formula f(kBatchNormName, e.site);
  f.result = e[kNormX]->dtype, f.work = e[kNormEps]->dtype;
  const Term v = f.term(e[kNormX]).as(f.work);
  const Channels c(v, static_cast<ChannelLayout>(how.layout));
  const auto of_channels = [&](size_t i) { return reshape(f.term(e[i]).as(f.work), c.beside); };
  Term y = (v - of_channels(kNormMean)) * rsqrt(of_channels(kNormVariance) + f.term(e[kNormEps]));
  if (how.weighted) y = y * of_channels(kNormParameters);
  if (how.biased) y = y + of_channels(kNormParameters + how.weighted);
  return {y.as(f.result).handle()};
}

jit::ChannelMap batch_norm_channels(const jit::Expanding& e) {
  const auto how = e.spec.as<BatchNormAttributes>();
  Formula f(kBatchNormName, e.site);
  f.result = f.work = e[kNormEps]->dtype;
  const auto of_channels = [&](size_t i) { return f.term(e[i]).as(f.work); };
  Term factor = rsqrt(of_channels(kNormVariance) + f.term(e[kNormEps]));
  if (how.weighted) factor = factor * of_channels(kNormParameters);
  const Term moved = of_channels(kNormMean) * factor;
  const Term shift = how.biased ? of_channels(kNormParameters + how.weighted) - moved : -moved;
  const bool first = static_cast<ChannelLayout>(how.layout) == channels_first;
  return {first ? 1 : e[kNormX]->shape.size() - 1, factor.handle(), shift.handle()};
}

constinit const jit::CallDefinition kBatchNorm{.name = kBatchNormName,
                                               .traits = jit::call_trait::kNoThrow,
                                               .infer = infer_batch_norm,
                                               .expand = expand_batch_norm,
                                               .channels = batch_norm_channels};

/// Throws ShapeError unless the tensor has an element for each of the channels.
void check_channels(const Formula& f, const char* what, const MaybeTensor& t, const Channels& c) {
  if (t.handle()->shape != c.alone)
    f.fail<ShapeError>(std::string(what) + " has shape " + to_string(t.handle()->shape) + ", not " +
                       to_string(c.alone));
}

}  // namespace

std::optional<detail::BatchNormCall> detail::batch_norm_call_of(const jit::CallSpec& spec) {
  if (&spec.definition() != &kBatchNorm) return {};
  const auto how = spec.as<BatchNormAttributes>();
  return BatchNormCall{static_cast<ChannelLayout>(how.layout), how.weighted != 0, how.biased != 0};
}

Tensor batch_norm(Arg x, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                  const MaybeTensor& weight, const MaybeTensor& bias, double eps, ChannelLayout layout) {
  if (lies_last(x, layout))
    return image_first(batch_norm(arg_last(x), running_mean, running_var, weight, bias, eps, channels_last),
                       x.site());
  if (!running_mean.defined() || !running_var.defined()) throw_empty(kBatchNormName, x.site());
  const Formula f(kBatchNormName, {&x}, {&running_mean, &running_var, &weight, &bias});
  const Handle given = Operand(f.name, x, f.result).take(), least = f.number(eps, f.work);
  const Channels c(f.term(given), layout);
  std::vector<const Handle*> operands{&given, &running_mean.handle(), &running_var.handle(), &least};
  check_channels(f, "running_mean", running_mean, c);
  check_channels(f, "running_var", running_var, c);
  if (weight.defined()) check_channels(f, "weight", weight, c), operands.push_back(&weight.handle());
  if (bias.defined()) check_channels(f, "bias", bias, c), operands.push_back(&bias.handle());
  const BatchNormAttributes how{static_cast<uint8_t>(layout), weight.defined(), bias.defined()};
  return Tensor(detail::record_call(jit::intern_call(kBatchNorm, how), operands, f.site)[0]);
}

namespace {

/// Returns a running statistic, (C), moved towards the one of now; none if none was given.
Tensor moved(const Formula& f, const Channels& c, const char* what, const Tensor& running, const Term& now,
             double momentum) {
  if (!running.defined()) return {};
  const DType t = running.handle()->dtype;
  if (!is_float(t)) f.fail<DtypeError>(std::string(what) + " is of " + name_of(t));
  const Term before = parameter(f, what, running, c.alone, c.alone);
  const double rest = in_default_mode([&] { return 1 - momentum; });
  return Tensor((before * rest + reshape(now, c.alone) * momentum).as(t).handle());
}

/// Normalises along axes with statistics of x; n elements have one variance. Statistics move towards the
/// means of those of one channel.
BatchNormResult trained(const Formula& f, const Term& v, const Channels& c, const Dims& axes,
                        const Tensor& running_mean, const Tensor& running_var, const BatchNormOptions& o) {
  const int64_t n = count_along(v.shape(), axes);
  if (n == 1)
    f.fail<ShapeError>("one element in each channel of " + to_string(v.shape()) + " has no variance");
  BatchNormResult r;
  Moments m;
  {
    Composite whole(f.name, {&v.handle(), &o.weight.handle(), &o.bias.handle()}, f.site);
    m = Moments(v, axes, o.eps);
    Dims images;  // those that share weight and bias, but no statistics
    if (axes.size() < c.others.size()) images.push_back(0);
    r.output = f.finish(whole, scaled(m.normalised(), o.weight, o.bias, c.alone, c.beside),
                        norm_derivative({v.shape(), c.beside, axes, {}, images}, m));
  }
  const auto of_channel = [&](const Term& t) { return numel(t.shape()) == c.count ? t : mean(t, {0}); };
  const double corrected =
      in_default_mode([&] { return static_cast<double>(n) / static_cast<double>(n - 1); });
  r.running_mean = moved(f, c, "running_mean", running_mean, of_channel(m.mean), o.momentum);
  r.running_var = moved(f, c, "running_var", running_var, of_channel(m.variance * corrected), o.momentum);
  return r;
}

}  // namespace

BatchNormResult batch_norm_training(Arg x, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                                    const BatchNormOptions& o) {
  if (lies_last(x, o.layout)) {
    BatchNormOptions last = o;
    last.layout = channels_last;
    BatchNormResult r = batch_norm_training(arg_last(x), running_mean, running_var, last);
    r.output = image_first(r.output, x.site());
    return r;
  }
  const Formula f("batch_norm_training", {&x}, {&o.weight, &o.bias});
  const Term v = f.term(x);
  const Channels c(v, o.layout);
  return trained(f, v, c, c.others, running_mean, running_var, o);
}

BatchNormResult instance_norm_training(Arg x, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                                       const BatchNormOptions& o) {
  const Formula f("instance_norm_training", {&x}, {&o.weight, &o.bias});
  const Term v = f.term(x);
  if (o.layout != channels_first) f.fail<Error>("the layout is channels_first");
  const Channels c(v, channels_first, 3);
  Dims spatial;
  for (int i = 2; i < v.rank(); ++i) spatial.push_back(i);
  return trained(f, v, c, spatial, running_mean, running_var, o);
}

namespace {

/// Normalises groups of neighbouring channels of x, (N, C, ...) or (N, ..., C).
Term grouped_norm(const Formula& f, const Term& v, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps, ChannelLayout layout) {
  const Channels c(v, layout);
  if (groups < 1 || c.count % groups != 0)
    f.fail<ShapeError>(std::to_string(c.count) + " channels do not make " + std::to_string(groups) +
                       " groups");
  Composite whole(f.name, {&v.handle(), &weight.handle(), &bias.handle()}, f.site);
  // (N, C, S...) -> (N, groups, C / groups, S...), (N, S..., C) -> (N, S..., groups, C / groups)
  Spread spread{{v.extent(0)}, {1}, {}, {}, {0}};
  for (int i = 1; i < v.rank(); ++i) {
    const bool channel = i == c.axis;
    if (channel) spread.shape.push_back(groups), spread.parameters_shape.push_back(groups);
    else spread.common.push_back(spread.shape.size());
    spread.shape.push_back(channel ? c.count / groups : v.extent(i));
    spread.parameters_shape.push_back(channel ? c.count / groups : 1);
    if (channel) spread.statistics.push_back(spread.shape.size() - 1);
  }
  const Moments m(reshape(v, spread.shape), spread.all_statistics(), eps);
  // In the groups' shape: behind a reshape to that of x the rest would be a kernel of its own.
  const Term y = scaled(m.normalised(), weight, bias, c.alone, spread.parameters_shape);
  return f.term(f.finish(whole, reshape(y, v.shape()), norm_derivative(spread, m)).handle());
}

}  // namespace

Tensor group_norm(Arg x, IntegerArg groups, const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
  const Formula f("group_norm", {&x}, {&weight, &bias});
  const Term v = f.term(x);
  if (!v.handle()->channels_last)
    return f.tensor(grouped_norm(f, v, groups, weight, bias, eps, channels_first).handle());
  const Term last = f.term(seen_last(v.handle(), f.site));
  return f.tensor(
      seen_first(grouped_norm(f, last, groups, weight, bias, eps, channels_last).handle(), f.site));
}

Tensor instance_norm(Arg x, const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
  const Formula f("instance_norm", {&x}, {&weight, &bias});
  const Term given = f.term(x);
  const bool last = given.handle()->channels_last;
  const Term v = last ? f.term(seen_last(given.handle(), f.site)) : given;
  const Channels c(v, last ? channels_last : channels_first, 3);
  Composite whole(f.name, {&v.handle(), &weight.handle(), &bias.handle()}, f.site);
  Dims spatial;
  for (int i = 1; i < c.others.size(); ++i) spatial.push_back(c.others[i]);
  if (count_along(v.shape(), spatial) == 1)
    f.fail<ShapeError>("one element in each channel of an image " + to_string(given.shape()) +
                       " has no variance");
  const Moments m(v, spatial, eps);
  const Tensor y = f.finish(whole, scaled(m.normalised(), weight, bias, c.alone, c.beside),
                            norm_derivative({v.shape(), c.beside, spatial, {}, {0}}, m));
  return last ? image_first(y, f.site) : y;
}

Tensor local_response_norm(Arg x, IntegerArg size, double alpha, double beta, double k) {
  const Formula f("local_response_norm", {&x});
  const Term v = f.term(x);
  const Channels c(v, channels_first, 3);
  if (size < 1) f.fail<ShapeError>("size is " + std::to_string(size.value) + ": at least 1 is needed");
  Composite whole(f.name, {&v.handle()}, f.site);
  if (numel(v.shape()) == 0) return f.finish(whole, v);
  // Channels become the one spatial axis of images (N, C, rest). Those too far to matter are left out.
  const int64_t before = std::min<int64_t>(size / 2, c.count),
                after = std::min<int64_t>((size - 1) / 2, c.count);
  const Term squares = reshape(v * v, {v.extent(0), c.count, numel(v.shape()) / (v.extent(0) * c.count)});
  const Handle wide =
      placed(f.name, squares.handle(), {before}, {1}, {before + c.count + after}, ScalarNumber(0.0), f.site);
  const Shape view{wide->shape[0], c.count, wide->shape[2], before + 1 + after};
  check_countable(f.name, view, f.site);
  const Handle windows = detail::window(wide, {1}, {1}, {1}, view, f.site);
  const Term total = sum(f.term(windows), {-1}, dropdims);
  const double share = in_default_mode([&] { return alpha / static_cast<double>(size.value); });
  return f.finish(whole, v / power(reshape(total, v.shape()) * share + k, beta));
}

Tensor normalize(Arg x, double p, Axes axes, double eps) {
  const Formula f("normalize", {&x});
  const Term v = f.term(x);
  const Dims along = normal_axes(f.name, axes, v.rank(), f.site);
  Composite whole(f.name, {&v.handle()}, f.site);
  return f.finish(whole, v / no_shorter_than(eps, norm(v, p, along)));
}

}  // namespace lazy
