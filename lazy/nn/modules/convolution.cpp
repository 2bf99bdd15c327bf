#include "lazy/nn/modules/convolution.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/spatial.hpp"
#include "lazy/nn/modules/text.hpp"

namespace lazy::nn::detail {

namespace {

void check_channels(const char* name, const char* what, int64_t channels, int64_t groups, const Site& s) {
  if (groups < 1 || channels < 1 || channels % groups != 0)
    lazy::detail::fail<ShapeError>(
        name, std::to_string(channels) + " " + what + " do not make " + std::to_string(groups) + " groups",
        s);
}

}  // namespace

ConvBase::ConvBase(const char* name, bool transposed, int axes, int64_t in, int64_t out, const Axes& kernel,
                   const ConvLayerOptions& o, const Site& s)
    : in_channels(in), out_channels(out), groups(o.groups), padding(o.padding), padding_mode(o.padding_mode) {
  const std::string layer = with_axes(name, axes);
  const auto each = [&](const char* what, const Dims& given) {
    return for_each_axis(layer.c_str(), what, given, axes, s);
  };
  kernel_size = each("kernel_size", kernel);
  stride = each("stride", o.stride);
  dilation = each("dilation", o.dilation);
  output_padding = each("output_padding", o.output_padding);
  if (!padding.same) padding = ConvPadding(Axes(each("padding", o.padding)));
  check_channels(layer.c_str(), "in_channels", in, groups, s);
  check_channels(layer.c_str(), "out_channels", out, groups, s);
  Shape shape = transposed ? Shape{in, out / groups} : Shape{out, in / groups};
  for (const int64_t k : kernel_size) {
    if (k < 1)
      lazy::detail::fail<ShapeError>(layer.c_str(), "kernel_size is " + lazy::to_string(kernel_size), s);
    shape.push_back(k);
  }
  const Fresh fresh(o, s);
  const double bound = bound_of(numel(shape) / shape[0]);
  weight = fresh.uniform(shape, bound);
  if (o.bias) bias = fresh.uniform({out}, bound);
}

Tensor ConvBase::convolve(Arg x, int axes) const {
  const lazy::ConvOptions o{.stride = Axes(stride),
                            .padding = padding,
                            .dilation = Axes(dilation),
                            .groups = groups,
                            .bias = bias,
                            .padding_mode = padding_mode};
  return batched(std::move(x), axes, [&](Arg image) {
    return (axes == 1 ? conv1d : axes == 2 ? conv2d : conv3d)(std::move(image), weight, o);
  });
}

Tensor ConvBase::transpose(Arg x, int axes, const char* name) const {
  check_rank(with_axes(name, axes).c_str(), x, axes + 1, axes + 2);
  const lazy::ConvOptions o{.stride = Axes(stride),
                            .padding = padding,
                            .dilation = Axes(dilation),
                            .groups = groups,
                            .output_padding = Axes(output_padding),
                            .bias = bias,
                            .padding_mode = padding_mode};
  return batched(std::move(x), axes, [&](Arg image) { return conv_transpose(std::move(image), weight, o); });
}

std::string ConvBase::extra_repr() const {
  Repr r;
  r.positional(std::to_string(in_channels)).positional(std::to_string(out_channels));
  r.add("kernel_size", kernel_size).add("stride", stride);
  const int axes = kernel_size.size();
  if (padding.same) r.add("padding", "same");
  else if (padding != Dims(axes, 0)) r.add("padding", static_cast<const Dims&>(padding));
  if (dilation != Dims(axes, 1)) r.add("dilation", dilation);
  if (output_padding != Dims(axes, 0)) r.add("output_padding", output_padding);
  if (groups != 1) r.add("groups", groups);
  if (!bias.defined()) r.add("bias", false);
  if (padding_mode != PadMode::constant) r.add("padding_mode", text(padding_mode));
  return r.str();
}

}  // namespace lazy::nn::detail
