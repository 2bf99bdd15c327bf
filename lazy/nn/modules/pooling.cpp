#include "lazy/nn/modules/pooling.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/modules/spatial.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn::detail {

namespace {

/// Calls f, which returns values and positions, with images that have a batch axis.
template <class F>
lazy::MaxPoolResult batched_pair(Arg x, int axes, F&& f) {
  bool added = false;
  const Site s = x.site();
  Tensor images = with_batch(x, axes, added);
  lazy::MaxPoolResult r = f(Arg(std::move(images), s));
  if (!added) return r;
  return {without_batch(r.values, s), without_batch(r.indices, s)};
}

void check_axes(const std::string& layer, const char* what, const Dims& given, int axes, const Site& s) {
  (void)for_each_axis(layer.c_str(), what, given, axes, s);
}

}  // namespace

PoolBase::PoolBase(const char* name, int axes, Axes window, const PoolOptions& o, const Site& s)
    : kernel_size(window), options(o) {
  const std::string layer = with_axes(name, axes);
  check_axes(layer, "kernel_size", kernel_size, axes, s);
  check_axes(layer, "stride", stride(), axes, s);
  check_axes(layer, "padding", o.padding, axes, s);
  check_axes(layer, "dilation", o.dilation, axes, s);
}

Tensor PoolBase::max(Arg x, int axes) const {
  return batched(std::move(x), axes, [&](Arg images) {
    return (axes == 1   ? max_pool1d
            : axes == 2 ? max_pool2d
                        : max_pool3d)(std::move(images), kernel_size, options);
  });
}

lazy::MaxPoolResult PoolBase::max_with_indices(Arg x, int axes) const {
  check_rank(name().c_str(), x, axes + 1, axes + 2);
  return batched_pair(std::move(x), axes, [&](Arg images) {
    return max_pool_with_indices(std::move(images), kernel_size, options);
  });
}

Tensor PoolBase::mean(Arg x, int axes) const {
  return batched(std::move(x), axes, [&](Arg images) {
    return (axes == 1   ? avg_pool1d
            : axes == 2 ? avg_pool2d
                        : avg_pool3d)(std::move(images), kernel_size, options);
  });
}

Tensor PoolBase::norm(Arg x, double p, int axes) const {
  check_rank(name().c_str(), x, axes + 1, axes + 2);
  return batched(std::move(x), axes,
                 [&](Arg images) { return lp_pool(std::move(images), p, kernel_size, options); });
}

Tensor PoolBase::unpool(Arg x, Arg indices, const Axes& extents, int axes) const {
  check_rank(name().c_str(), x, axes + 1, axes + 2);
  return batched(std::move(x), axes, [&](Arg images) {
    bool added = false;
    const Site s = indices.site();
    Tensor where = with_batch(indices, axes, added);
    return max_unpool(std::move(images), Arg(std::move(where), s), kernel_size, options, extents);
  });
}

std::string PoolBase::window_repr(int axes) const {
  const auto shown = [&](const Dims& d) {
    return axes == 0 ? text_of_each(d) : text(for_each_axis("", "", d, axes, Site::current()));
  };
  return Repr()
      .add("kernel_size", shown(kernel_size))
      .add("stride", shown(stride()))
      .add("padding", shown(options.padding))
      .str();
}

std::string PoolBase::max_repr() const {
  return window_repr() + ", " +
         Repr().each("dilation", options.dilation).add("ceil_mode", options.ceil_mode).str();
}

std::string PoolBase::norm_repr(double p) const {
  return Repr()
      .add("norm_type", p)
      .each("kernel_size", kernel_size)
      .add("stride", options.stride.empty() ? "None" : text_of_each(options.stride))
      .add("ceil_mode", options.ceil_mode)
      .str();
}

AdaptivePoolBase::AdaptivePoolBase(const char* name, int axes, Axes size, const Site& s) : output_size(size) {
  check_axes(with_axes(name, axes), "output_size", output_size, axes, s);
}

Tensor AdaptivePoolBase::max(Arg x, int axes) const {
  return batched(std::move(x), axes, [&](Arg images) {
    return (axes == 1   ? adaptive_max_pool1d
            : axes == 2 ? adaptive_max_pool2d
                        : adaptive_max_pool3d)(std::move(images), output_size, channels_first);
  });
}

lazy::MaxPoolResult AdaptivePoolBase::max_with_indices(Arg x, int axes) const {
  check_rank(name().c_str(), x, axes + 1, axes + 2);
  return batched_pair(std::move(x), axes, [&](Arg images) {
    return adaptive_max_pool_with_indices(std::move(images), output_size);
  });
}

Tensor AdaptivePoolBase::mean(Arg x, int axes) const {
  return batched(std::move(x), axes, [&](Arg images) {
    return (axes == 1   ? adaptive_avg_pool1d
            : axes == 2 ? adaptive_avg_pool2d
                        : adaptive_avg_pool3d)(std::move(images), output_size, channels_first);
  });
}

std::string AdaptivePoolBase::extra_repr() const { return Repr().each("output_size", output_size).str(); }

}  // namespace lazy::nn::detail
