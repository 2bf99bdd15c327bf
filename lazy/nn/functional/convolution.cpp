#include "lazy/nn/functional/convolution.hpp"

#include <algorithm>
#include <cstring>

#include "jit/calls/call.hpp"
#include "lazy/core/memory_format.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/nn/functional/channels.hpp"
#include "lazy/nn/functional/complex_products.hpp"
#include "lazy/nn/functional/conv_problem.hpp"
#include "lazy/nn/functional/positions.hpp"
#include "lazy/nn/functional/winograd.hpp"

namespace lazy {
namespace {
using namespace detail;

// A convolution is an intention (jit/calls/call.hpp). Its operands are the image, the weights and the bias,
// if there is one; image and weights may be integers that convert to the result's dtype.
enum ConvOperand : size_t { kConvImage, kConvWeights, kConvBias };

struct ConvAttributes {
  int64_t stride[kMostSpatial]{}, padding[kMostSpatial]{}, dilation[kMostSpatial]{};
  int64_t groups = 1;
  int64_t layout = 0;      // a ChannelLayout
  int64_t result = 0;      // a DType
  int64_t transforms = 0;  // 1: by winograd(), where that is faster

  ConvAttributes() = default;
  ConvAttributes(const ConvLayer& c, DType t)
      : groups(c.groups),
        layout(static_cast<int64_t>(c.layout)),
        result(static_cast<int64_t>(t)),
        transforms(WinogradScope::on()) {
    std::copy(c.stride.begin(), c.stride.end(), stride);
    std::copy(c.padding.begin(), c.padding.end(), padding);
    std::copy(c.dilation.begin(), c.dilation.end(), dilation);
  }
  ConvLayer layer(int spatial) const {
    const auto dims = [&](const int64_t* from) {
      Dims d;
      for (int i = 0; i < spatial; ++i) d.push_back(from[i]);
      return d;
    };
    return {dims(stride), dims(padding), dims(dilation), groups, static_cast<ChannelLayout>(layout)};
  }
};

ConvLayer layer_of(const jit::CallSpec& spec, const Shape& image) {
  return spec.as<ConvAttributes>().layer(image.size() - 2);
}

DType result_of(const jit::CallSpec& spec) { return static_cast<DType>(spec.as<ConvAttributes>().result); }

std::vector<jit::CallOutput> infer_conv(const jit::CallSpec& spec, std::span<const jit::Meta> o) {
  const Shape &image = o[kConvImage].shape, &w = o[kConvWeights].shape;
  const ConvLayer c = layer_of(spec, image);
  const int n = c.spatial();
  const bool first = c.layout == channels_first;
  Shape last{image[0]};
  Dims length;
  for (int i = 0; i < n; ++i) last.push_back(image[c.first() + i]), length.push_back(w[c.kernel() + i]);
  last.push_back(image[first ? 1 : n + 1]);
  const Windows windows(spec.name(), last, length, c.stride, c.padding, c.dilation, Site{});
  Shape y{image[0]};
  if (first) y.push_back(w[0]);
  for (const int64_t count : windows.count) y.push_back(count);
  if (!first) y.push_back(w[n + 1]);
  return {{{result_of(spec), y}, {}}};
}

std::vector<Handle> expand_conv(const jit::Expanding& e) {
  const ConvLayer c = layer_of(e.spec, e[kConvImage]->shape);
  return {conv_expanded({.name = e.spec.name(),
                         .site = e.site,
                         .given = e[kConvImage],
                         .weights = e[kConvWeights],
                         .bias = e.operands.size() > kConvBias ? e[kConvBias] : Handle(),
                         .stride = c.stride,
                         .padding = c.padding,
                         .dilation = c.dilation,
                         .groups = c.groups,
                         .layout = c.layout,
                         .result = result_of(e.spec),
                         .transforms = e.spec.as<ConvAttributes>().transforms != 0,
                         .prefers = e.prefers})};
}

/// Scales and shifts the channels of a convolution by its weights and bias.
std::vector<Handle> conv_with_channels(const jit::Expanding& e, const jit::ChannelMap& map) {
  const ConvLayer c = layer_of(e.spec, e[kConvImage]->shape);
  const Handle &image = e[kConvImage], &w = e[kConvWeights];
  const bool first = c.layout == channels_first;
  const int rank = image->shape.size();
  if (!is_float(w->dtype) || map.axis != (first ? 1 : rank - 1)) return {};
  const Recorder r{e.spec.name(), e.site};
  const Handle bias = e.operands.size() > kConvBias ? e[kConvBias] : Handle();
  return {image, with_factors(r, w, first ? 0 : rank - 1, map), with_shifts(r, bias, w->dtype, map)};
}

/// Gives the derivatives of a convolution from layer to layer.
std::vector<Handle> conv_derivatives(const jit::CallGradients& d) {
  const Handle &x = d.operands[kConvImage], &w = d.operands[kConvWeights], &gradient = d.gradients[0];
  const ConvLayer c = layer_of(d.spec, x->shape);
  std::vector<Handle> g(d.operands.size());
  if (d.wants(kConvImage)) g[kConvImage] = conv_image_gradient(c, gradient, w, x->shape, d.site);
  if (d.wants(kConvWeights)) g[kConvWeights] = conv_weight_gradient(c, gradient, x, w->shape, d.site);
  if (d.wants(kConvBias)) g[kConvBias] = conv_bias_gradient(gradient, c.layout, d.site);
  return g;
}

std::string describe_conv(std::string_view attributes) {
  ConvAttributes a;
  if (attributes.size() != sizeof a) return {};
  std::memcpy(&a, attributes.data(), sizeof a);
  const ConvLayer c = a.layer(kMostSpatial);
  return "stride=" + to_string(c.stride) + ", padding=" + to_string(c.padding) +
         ", dilation=" + to_string(c.dilation) + ", groups=" + std::to_string(c.groups) +
         (c.layout == channels_first ? "" : ", channels last") + (a.transforms ? ", by transforms" : "");
}

constexpr jit::CallDefinition definition(const char* name) {
  return {.name = name,
          .traits = jit::call_trait::kNoThrow,
          .infer = infer_conv,
          .expand = expand_conv,
          .with_channels = conv_with_channels,
          .vjp = conv_derivatives,
          .describe = describe_conv};
}
constinit const jit::CallDefinition kConvolutions[] = {definition("conv"), definition("conv1d"),
                                                       definition("conv2d"), definition("conv3d")};

const jit::CallDefinition& definition_of(std::string_view name) {
  return *std::ranges::find(kConvolutions, name, &jit::CallDefinition::name);
}

}  // namespace

std::optional<ConvLayer> detail::conv_layer_of(const jit::CallSpec& spec, int spatial) {
  for (const jit::CallDefinition& d : kConvolutions)
    if (&spec.definition() == &d) return spec.as<ConvAttributes>().layer(spatial);
  return {};
}

namespace {

/// Pads the image where convolve() cannot: with elements of its own, and by more after an axis than before.
/// `p.padding` is what is left to pad.
void pad_image(Problem& p, const ConvOptions& o) {
  const int n = p.spatial();
  const int first = p.layout == channels_first ? 2 : 1, kernel = p.layout == channels_first ? 2 : 0;
  Dims after = p.padding;
  bool even = true;
  for (int i = 0; o.padding.same && i < n; ++i) {
    if (p.stride[i] != 1) p.mismatch("same_padding is for a stride of 1");
    const int64_t all = std::max<int64_t>(
        narrow(p.name, "an extent of", span_of(p.weights->shape[kernel + i], p.dilation[i]) - 1, p.site), 0);
    p.padding[i] = all / 2;
    after[i] = all - all / 2;
    even = even && all % 2 == 0;
  }
  const bool none = std::all_of(after.begin(), after.end(), [](int64_t e) { return e == 0; });
  if (none || (even && o.padding_mode == PadMode::constant)) return;
  const jit::Purpose purpose(p.purposes.image);
  const Formula f(p.name, p.site);
  p.given =
      detail::padded(f.term(p.given), first, p.padding, after, o.padding_mode, ScalarNumber(0)).handle();
  p.padding = Dims(n, 0);
}

Tensor convolution(const char* name, Arg& x, Arg& w, const ConvOptions& options) {
  if (Tensor y = recorded_by_weights(w, {name, x, options.bias, &options}); y.defined()) return y;
  if (any_complex(x, w)) [[unlikely]]
    return product_of_planes(name, x, w, options.bias, x.site(), [&](Arg a, Arg b, const Tensor& bias) {
      ConvOptions of_planes = options;
      of_planes.bias = bias;
      return convolution(name, a, b, of_planes);
    });
  Problem p = problem(name, x, w, options, true);
  const bool first = options.layout == channels_first;
  const int n = p.spatial();
  const int in = first ? 1 : n, out = first ? 0 : n + 1;
  check_groups(p, p.given->shape[first ? 1 : n + 1], Wide(p.weights->shape[in]) * p.groups,
               p.weights->shape[out]);
  check_bias(p, p.weights->shape[out]);
  const bool last = p.take_format(false);
  pad_image(p, options);
  const Handle* const operands[] = {&p.given, &p.weights, &p.bias};
  const std::span<const Handle* const> some(operands, p.bias ? 3 : 2);
  Handle y = detail::record_call(jit::intern_call(definition_of(name), ConvAttributes(p, p.result)), some,
                                 p.site)[0];
  return Tensor(last ? seen_first(y, p.site) : std::move(y));
}

Tensor of_rank(const char* name, int n, Arg& x, Arg& w, const ConvOptions& options) {
  const Shape shape = shape_of(name, x);
  if (shape.size() != n + 2)
    fail<ShapeError>(name, "takes an image of " + std::to_string(n + 2) + " axes, not " + to_string(shape),
                     x.site());
  return convolution(name, x, w, options);
}

}  // namespace

Tensor conv(Arg x, Arg w, const ConvOptions& options) { return convolution("conv", x, w, options); }

Tensor conv1d(Arg x, Arg w, const ConvOptions& options) { return of_rank("conv1d", 1, x, w, options); }
Tensor conv2d(Arg x, Arg w, const ConvOptions& options) { return of_rank("conv2d", 2, x, w, options); }
Tensor conv3d(Arg x, Arg w, const ConvOptions& options) { return of_rank("conv3d", 3, x, w, options); }

}  // namespace lazy
