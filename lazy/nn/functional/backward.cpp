#include "lazy/nn/functional/backward.hpp"

#include "lazy/formula/formula.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/writing.hpp"
#include "lazy/nn/functional/conv_problem.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the layer of a convolution; ShapeError unless `g` is like its result.
ConvLayer layer_of(const Formula& f, const Term& g, const Term& x, const Term& w, const ConvOptions& o) {
  const auto mismatch = [&] {
    f.fail<ShapeError>("a gradient " + to_string(g.shape()) + " of an image " + to_string(x.shape()) +
                       " and weights " + to_string(w.shape()) + " in " + std::to_string(o.groups.value) +
                       " groups");
  };
  if (x.rank() < 3 || x.rank() > 5 || g.rank() != x.rank() || w.rank() != x.rank()) mismatch();
  const int n = x.rank() - 2;
  const ConvLayer c{per_axis(f.name, "stride", o.stride, n, 1, f.site),
                    per_axis(f.name, "padding", o.padding, n, 0, f.site),
                    per_axis(f.name, "dilation", o.dilation, n, 1, f.site), o.groups, o.layout};
  const Shape last = channels_to_last(x.handle(), o.layout, f.site)->shape, &k = w.shape();
  const bool first = o.layout == channels_first;
  const int channel = first ? 1 : n + 1;
  const int64_t in = k[first ? 1 : n], out = k[first ? 0 : n + 1];
  if (c.groups < 1 || Wide(in) * c.groups != last.back() || out % c.groups != 0) mismatch();
  Dims length;
  for (int i = 0; i < n; ++i) length.push_back(k[c.kernel() + i]);
  const Windows windows(f.name, last, length, c.stride, c.padding, c.dilation, f.site);
  bool fits = g.extent(0) == last[0] && g.extent(channel) == out;
  for (int i = 0; i < n; ++i) fits = fits && g.extent(c.first() + i) == windows.count[i];
  if (!fits) mismatch();
  return c;
}

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
  const Term g = f.term(grad), image = f.term(x), weights = f.term(w);
  const ConvLayer c = layer_of(f, g, image, weights, options);
  const auto rounded = [&](const Handle& h) { return f.tensor(f.as(f.result, h)); };
  return {rounded(conv_image_gradient(c, g.handle(), weights.handle(), image.shape(), f.site)),
          rounded(conv_weight_gradient(c, g.handle(), image.handle(), weights.shape(), f.site)),
          rounded(conv_bias_gradient(g.handle(), c.layout, f.site))};
}

NormGradients layer_norm_backward(Arg grad, Arg x, ShapeArg normalized, const MaybeTensor& weight,
                                  double eps) {
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

NormGradients group_norm_backward(Arg grad, Arg x, IntegerArg groups, const MaybeTensor& weight, double eps) {
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

Tensor embedding_dense_backward(Arg grad, Arg ids, IntegerArg rows, IntegerArg padding_idx) {
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
  const Tensor sums =
      index_add(f.arg(zeros.handle()), 0, f.arg(flat), f.arg(values.handle()), Bounds::strict);
  return f.finish(composite, f.term(sums.handle()));
}

}  // namespace lazy
