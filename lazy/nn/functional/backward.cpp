#include "lazy/nn/functional/backward.hpp"

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/writing.hpp"
#include "lazy/nn/functional/formula.hpp"
#include "lazy/nn/functional/spatial.hpp"
#include "lazy/ops/matmul.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the axes of weights (K..., C, O) as (O, C, K...), or with `back` the other way round.
Dims weight_axes(int rank, bool back) {
  Dims axes;
  if (!back) axes = {rank - 1, rank - 2};
  for (int i = 0; i < rank - 2; ++i) axes.push_back(back ? i + 2 : i);
  if (back) axes.push_back(1), axes.push_back(0);
  return axes;
}

Handle channels_second(const Formula& f, const Handle& h, ChannelLayout layout) {
  return channels_from_last(channels_to_last(h, layout, f.site), channels_first, f.site);
}

/// Holds a convolution with its channels first.
struct Layer {
  const Formula& f;
  Handle grad, image, weights;
  Dims stride, padding, dilation;
  int64_t groups;

  Layer(const Formula& formula, const Term& g, const Term& x, const Term& w, const ConvOptions& o)
      : f(formula), groups(o.groups) {
    if (x.rank() < 3 || x.rank() > 5 || g.rank() != x.rank() || w.rank() != x.rank()) mismatch(g, x, w);
    const bool last = o.layout == channels_last;
    grad = channels_second(f, g.handle(), o.layout);
    image = channels_second(f, x.handle(), o.layout);
    weights = last ? f.permute(w.handle(), weight_axes(w.rank(), false)) : w.handle();
    const int n = x.rank() - 2;
    stride = per_axis(f.name, "stride", o.stride, n, 1, f.site);
    padding = per_axis(f.name, "padding", o.padding, n, 0, f.site);
    dilation = per_axis(f.name, "dilation", o.dilation, n, 1, f.site);
    const Shape &s = image->shape, &k = weights->shape;
    if (groups < 1 || Wide(k[1]) * groups != s[1] || k[0] % groups != 0) mismatch(g, x, w);
    const Windows windows = sliding();
    bool fits = grad->shape[0] == s[0] && grad->shape[1] == k[0];
    for (int i = 0; i < n; ++i) fits = fits && grad->shape[2 + i] == windows.count[i];
    if (!fits) mismatch(g, x, w);
  }
  [[noreturn]] void mismatch(const Term& g, const Term& x, const Term& w) const {
    f.fail<ShapeError>("a gradient " + to_string(g.shape()) + " of an image " + to_string(x.shape()) +
                       " and weights " + to_string(w.shape()) + " in " + std::to_string(groups) + " groups");
  }
  Windows sliding() const {
    const Shape& s = image->shape;
    Shape last{s[0]};
    Dims length;
    for (int i = 2; i < s.size(); ++i) last.push_back(s[i]), length.push_back(weights->shape[i]);
    last.push_back(s[1]);
    return Windows(f.name, last, length, stride, padding, dilation, f.site);
  }

  Tensor input() const {
    ConvOptions o;
    o.stride = Axes(stride), o.padding = Axes(padding), o.dilation = Axes(dilation), o.groups = groups;
    Dims more;
    for (int i = 0; i < stride.size(); ++i) {
      const Wide reached = (Wide(grad->shape[2 + i]) - 1) * stride[i] - Wide(padding[i]) * 2 +
                           span_of(weights->shape[2 + i], dilation[i]);
      more.push_back(narrow(f.name, "an extent of", image->shape[2 + i] - reached, f.site));
    }
    o.output_padding = Axes(more);
    return conv_transpose(f.arg(grad), f.arg(weights), o);
  }

  /// Multiplies the windows of each group, (C / groups K..., N R...), by its gradients (N R..., O / groups).
  Handle weight() const {
    const Windows windows = sliding();
    const int n = windows.spatial();
    const Shape& s = image->shape;
    const int64_t in = s[1] / groups, out = weights->shape[0] / groups;
    const Handle last =
        detail::padded(f.name, channels_to_last(image, channels_first, f.site), padding, 0, f.site);
    const Handle view = windows.view(last, f.site);  // (N, R..., C, K...)
    Dims order{n + 1};
    for (int i = 0; i < n; ++i) order.push_back(n + 2 + i);
    for (int i = 0; i <= n; ++i) order.push_back(i);
    const int64_t count = s[0] * numel(windows.count);
    const Handle rows = f.reshape(f.permute(view, order), {groups, in * windows.taps, count});
    const Handle g = f.reshape(channels_to_last(grad, channels_first, f.site), {count, groups, out});
    const Handle sums = detail::matmul(f.name, rows, f.permute(g, {1, 0, 2}), f.site);  // (G, C K, O)
    return f.reshape(f.permute(sums, {0, 2, 1}), weights->shape);
  }

  Handle bias() const {
    Dims others{0};
    for (int i = 2; i < grad->shape.size(); ++i) others.push_back(i);
    return f.reduce(Op::sum, grad, others);
  }
};

/// Holds what the gradients of a normalisation over the last axis of (rows, n) are made of.
struct Normalised {
  Term y, deviation;  // the normalised values; 1 / sqrt(variance + eps)

  Normalised(const Term& x, double eps) {
    const Term d = x - mean(x, {-1});
    deviation = rsqrt(mean(d * d, {-1}) + eps);
    y = d * deviation;
  }
  /// Returns the gradient of what was normalised, for that of the values.
  Term input(const Term& g) const { return (g - mean(g, {-1}) - y * mean(g * y, {-1})) * deviation; }
};

void check_same(const Formula& f, const Term& g, const Term& x) {
  if (g.shape() != x.shape())
    f.fail<ShapeError>("a gradient " + to_string(g.shape()) + " for x " + to_string(x.shape()));
}

Term weight_of(const Formula& f, const Tensor& weight, const Shape& shape) {
  const Term w = f.term(weight);
  if (w.shape() != shape)
    f.fail<ShapeError>("weight has shape " + to_string(w.shape()) + ", not " + to_string(shape));
  return w;
}

}  // namespace

ConvGradients convolution_backward(Arg grad, Arg x, Arg w, const ConvOptions& options) {
  const Formula f("convolution_backward", {&grad, &x, &w});
  if (options.padding.same || options.padding_mode != PadMode::constant)
    f.fail<Error>("pads by numbers of zeros only");
  const Layer layer(f, f.term(grad), f.term(x), f.term(w), options);
  const bool last = options.layout == channels_last;
  const Handle weight = layer.weight();
  const Handle input = channels_to_last(layer.input().handle(), channels_first, f.site);
  const auto rounded = [&](const Handle& h) { return f.tensor(f.as(f.result, h)); };
  return {rounded(channels_from_last(input, options.layout, f.site)),
          rounded(last ? f.permute(weight, weight_axes(weight->shape.size(), true)) : weight),
          rounded(layer.bias())};
}

NormGradients layer_norm_backward(Arg grad, Arg x, ShapeArg normalized, const Tensor& weight, double eps) {
  const Formula f("layer_norm_backward", {&grad, &x}, {&weight});
  const Term g = f.term(grad), v = f.term(x);
  check_same(f, g, v);
  const int first = v.rank() - normalized.size();
  bool fits = first >= 0 && !normalized.empty();
  for (int i = 0; fits && i < normalized.size(); ++i) fits = v.extent(first + i) == normalized[i];
  if (!fits)
    f.fail<ShapeError>("x of shape " + to_string(v.shape()) + " does not end in " + to_string(normalized));
  int64_t rows = 1;
  for (int i = 0; i < first; ++i) rows *= v.extent(i);
  const int64_t n = numel(normalized);
  const Term flat = reshape(g, {rows, n});
  const Normalised m(reshape(v, {rows, n}), eps);
  Term scaled = flat;
  if (weight.defined()) scaled = flat * reshape(weight_of(f, weight, normalized), {1, n});
  const auto rounded = [&](const Term& t, const Shape& shape) {
    return f.tensor(f.as(f.result, reshape(t, shape).handle()));
  };
  return {rounded(m.input(scaled), v.shape()), rounded(sum(flat * m.y, {0}), normalized),
          rounded(sum(flat, {0}), normalized)};
}

NormGradients group_norm_backward(Arg grad, Arg x, Integer groups, const Tensor& weight, double eps) {
  const Formula f("group_norm_backward", {&grad, &x}, {&weight});
  const Term g = f.term(grad), v = f.term(x);
  check_same(f, g, v);
  if (v.rank() < 2) f.fail<ShapeError>("takes x of at least 2 axes, not " + to_string(v.shape()));
  const int64_t images = v.extent(0), channels = v.extent(1);
  if (groups < 1 || channels % groups != 0)
    f.fail<ShapeError>(std::to_string(channels) + " channels do not make " + std::to_string(groups.value) +
                       " groups");
  int64_t plane = 1;
  for (int i = 2; i < v.rank(); ++i) plane *= v.extent(i);
  const Shape in_channels{images, channels, plane}, in_groups{images, groups, channels / groups * plane};
  const Term flat = reshape(g, in_channels);
  Term scaled = flat;
  if (weight.defined()) scaled = flat * reshape(weight_of(f, weight, {channels}), {1, channels, 1});
  const Normalised m(reshape(v, in_groups), eps);
  const auto rounded = [&](const Term& t, const Shape& shape) {
    return f.tensor(f.as(f.result, reshape(t, shape).handle()));
  };
  return {rounded(m.input(reshape(scaled, in_groups)), v.shape()),
          rounded(sum(flat * reshape(m.y, in_channels), {0, 2}), {channels}),
          rounded(sum(flat, {0, 2}), {channels})};
}

Tensor embedding_dense_backward(Arg grad, Arg ids, Integer rows, Integer padding_idx) {
  const Formula f("embedding_dense_backward", {&grad});
  const Term g = f.term(grad);
  const Handle at = Operand(f.name, ids).take();
  if (!is_int(at->dtype)) f.fail<DtypeError>(std::string("ids are integers, not ") + name_of(at->dtype));
  Shape expected = at->shape;
  if (g.rank() > 0) expected.push_back(g.extent(-1));
  if (g.rank() != at->shape.size() + 1 || expected != g.shape())
    f.fail<ShapeError>("a gradient " + to_string(g.shape()) + " for ids " + to_string(at->shape));
  if (rows < 0) f.fail<ShapeError>("the number of rows can't be negative: " + std::to_string(rows.value));
  const int64_t n = numel(at->shape), width = g.extent(-1);
  if (rows == 0 && n > 0) f.fail<IndexError>("no id is in range of no rows");
  const Shape whole{rows.value, width};
  check_countable(f.name, whole, f.site);
  Composite composite(f.name, {&g.handle(), &at}, f.site);
  const Handle flat = f.as(int64, f.reshape(at, {n}));
  Term values = reshape(g, {n, width});
  if (padding_idx >= 0) {
    const Handle skipped = f.op(Op::equal, flat, padding_idx.value);
    values = where(f.term(f.reshape(skipped, {n, 1})), 0.0, values);
  }
  const Term zeros = f.term(f.filled(0, f.work, whole, g.handle()));
  if (n == 0 || width == 0) return f.finish(composite, zeros);
  const Tensor sums = index_add(f.arg(zeros.handle()), 0, f.arg(flat), f.arg(values.handle()));
  return f.finish(composite, f.term(sums.handle()));
}

}  // namespace lazy
