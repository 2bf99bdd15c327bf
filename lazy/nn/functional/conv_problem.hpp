// Shares the operands and options of convolutions, their checks, and their gradients: a convolution y(x, w)
// is linear in each operand, and so are its gradients x'(y, w) and w'(y, x). The derivatives of all three are
// these three again. Internal to lazy/.
#pragma once
#include <optional>
#include "jit/backend/backend.hpp"
#include "lazy/nn/functional/spatial.hpp"

namespace lazy::detail {

/// Says what the steps of a convolution are recorded for, by the name that the user called.
struct Purposes {
  const char *name, *weights, *windows, *products, *image;
};
/// Returns them; of a node of a model's file that is recorded while somebody wants a trace with the node
/// before them.
Purposes purposes_of(std::string_view name);

/// Holds a call's operands, of the result's dtype or integers that convert to it, and its options for each
/// spatial axis.
struct Problem {
  const char* name;
  Site site;
  Handle given, weights;
  Handle bias;  // (O), or none
  Dims stride, padding, dilation;
  int64_t groups;
  ChannelLayout layout;
  DType result;                // in which products are summed
  bool transforms = false;     // it may be computed by winograd() (winograd.hpp)
  jit::Preferences prefers{};  // of the backend, once the convolution is expanded
  const Purposes purposes = purposes_of(name);

  int spatial() const { return given->shape.size() - 2; }
  /// Has the convolution be computed channels last, where channels first are asked for but its image or
  /// weights lie in that format (lazy/core/memory_format.hpp). Returns true if so: its result is to be seen
  /// as channels first.
  bool take_format(bool transposed);
  [[noreturn]] void mismatch(const std::string& why) const;
};

constexpr int kMostSpatial = 3;  // spatial axes of an image

// A depthwise convolution with more elements in a window than this is computed by grouped products, a row or
// a column each, which take up to a hundred times as long: its body has one fused multiply-add for each
// element, and what is recorded and compiled grows with them.
constexpr int64_t kMostDepthwiseTaps = 1024;

/// Checks and promotes the operands of a call. Integers of 8 bits of which the result is to be of more stay
/// as they are if the caller `converts` them: a quarter of the bytes is copied then.
Problem problem(const char* name, Arg& x, Arg& w, const ConvOptions&, bool converts = false);
/// Throws ShapeError unless the image has the channels that weights take, and `divided` channels make groups.
void check_groups(const Problem&, int64_t channels, Wide expected, int64_t divided);
/// Throws ShapeError unless the bias, if there is one, has an element for each of the channels.
void check_bias(const Problem&, int64_t channels);
/// Records what computes a convolution with its bias, by its shapes and Problem::prefers.
Handle conv_expanded(Problem);
/// Adds the bias to the channels of a result, which are its axis `axis`; -1: that of the layout.
Handle biased(const Problem&, const Handle& y, int axis = -1);

Dims range(int first, int last);
Dims joined(std::initializer_list<Dims> parts);

/// Holds the options of a convolution, those of each spatial axis, without its operands.
struct ConvLayer {
  Dims stride, padding, dilation;
  int64_t groups;
  ChannelLayout layout;

  ConvLayer(const Problem& p)
      : stride(p.stride), padding(p.padding), dilation(p.dilation), groups(p.groups), layout(p.layout) {}
  ConvLayer(const Dims& s, const Dims& p, const Dims& d, int64_t g, ChannelLayout l)
      : stride(s), padding(p), dilation(d), groups(g), layout(l) {}
  int spatial() const { return stride.size(); }
  /// Returns the axis of an image at which its spatial axes begin.
  int first() const { return layout == channels_first ? 2 : 1; }
  /// Returns the axis of weights at which theirs begin.
  int kernel() const { return layout == channels_first ? 2 : 0; }
  ConvOptions options() const;
};

/// Returns what a call of conv() or conv1d() to conv3d() says; nothing for another call. Its operands are
/// image, weights and perhaps a bias.
std::optional<ConvLayer> conv_layer_of(const jit::CallSpec&, int spatial);

// Operands have one dtype and are as the layer's conv() would take them. Windows that begin beyond those of
// `g` do not count: x' and y may be larger than what the convolution gives.

/// Returns y, of the spatial extents `count`: those of conv(), or fewer.
Handle conv_result(const ConvLayer&, const Handle& x, const Handle& w, const Shape& result, const Site&);
/// Returns x', of shape `image`.
Handle conv_image_gradient(const ConvLayer&, const Handle& g, const Handle& w, const Shape& image,
                           const Site&);
/// Returns w', of shape `weights`.
Handle conv_weight_gradient(const ConvLayer&, const Handle& g, const Handle& x, const Shape& weights,
                            const Site&);
/// Returns sums over all axes but the channels.
Handle conv_bias_gradient(const Handle& g, ChannelLayout, const Site&);

}  // namespace lazy::detail
