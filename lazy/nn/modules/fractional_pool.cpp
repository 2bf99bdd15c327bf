#include "lazy/nn/modules/fractional_pool.hpp"

#include <cmath>

#include "lazy/core/build.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/nn/modules/spatial.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"

namespace lazy::nn::detail {

namespace {

/// Returns (N, C, count window): the positions of the elements of each window along an axis of `extent`
/// elements. `sample` (N, C, 1) moves the windows; the last one ends with the axis.
Tensor positions(const Tensor& sample, int64_t extent, int64_t count, int64_t window, const Site& s) {
  const double step = count > 1 ? static_cast<double>(extent - window) / static_cast<double>(count - 1) : 0.0;
  const Device device = sample.device(s);
  const Tensor number = arange(count, int64, device, s);
  const Tensor moved = floor((number + sample) * step) - floor(sample * step);
  const Tensor begin = where(number == count - 1, extent - window, moved.to(int64, s));
  const Shape shape = sample.shape(s);
  return reshape(begin.unsqueeze(-1, s) + arange(window, int64, device, s),
                 {shape[0], shape[1], count * window});
}

/// Returns x with extents of 1 for the spatial axes but `axis`, along which it goes.
Tensor along(const Tensor& x, int axis, int axes) {
  Shape shape = x.shape();
  const int64_t n = shape[2];
  shape.resize(2);
  for (int a = 0; a < axes; ++a) shape.push_back(a == axis ? n : 1);
  return reshape(x, shape);
}

/// Returns (N, C, R..., elements of a window) of (N, C, count window, ...).
Tensor windows(const Tensor& x, const Dims& count, const Dims& window) {
  Shape apart = {x.size(0), x.size(1)}, together = apart;
  Axes order = {0, 1};
  const int axes = count.size();
  int64_t taps = 1;
  for (int a = 0; a < axes; ++a) {
    apart.push_back(count[a]);
    apart.push_back(window[a]);
    together.push_back(count[a]);
    order.push_back(2 + 2 * a);
    taps *= window[a];
  }
  for (int a = 0; a < axes; ++a) order.push_back(3 + 2 * a);
  together.push_back(taps);
  return reshape(transpose(reshape(x, apart), order), together);
}

}  // namespace

FractionalPoolBase::FractionalPoolBase(int axes, const Axes& window, const FractionalPoolOptions& o,
                                       const Site& s)
    : options(o) {
  const std::string layer = with_axes("FractionalMaxPool", axes);
  const auto fail = [&](const std::string& what) { lazy::detail::fail<Error>(layer.c_str(), what, s); };
  kernel_size = for_each_axis(layer.c_str(), "kernel_size", window, axes, s);
  if (o.output_size.empty() == o.output_ratio.empty()) fail("takes either output_size or output_ratio");
  if (!o.output_size.empty())
    options.output_size = Axes(for_each_axis(layer.c_str(), "output_size", o.output_size, axes, s));
  else if (o.output_ratio.size() == 1)
    options.output_ratio.assign(static_cast<size_t>(axes), o.output_ratio[0]);
  else if (o.output_ratio.size() != static_cast<size_t>(axes))
    fail("output_ratio has " + std::to_string(o.output_ratio.size()) + " numbers");
  for (const double r : options.output_ratio)
    if (!(r > 0 && r < 1)) fail("output_ratio is between 0 and 1");
}

Dims FractionalPoolBase::extents(const Shape& image, const Site& s) const {
  Dims r = options.output_size;
  for (size_t a = 0; a < options.output_ratio.size(); ++a)
    r.push_back(
        static_cast<int64_t>(static_cast<double>(image[2 + static_cast<int>(a)]) * options.output_ratio[a]));
  for (int a = 0; a < r.size(); ++a)
    if (kernel_size[a] < 1 || r[a] < 1 || r[a] + kernel_size[a] - 1 > image[2 + a])
      lazy::detail::fail<ShapeError>(name().c_str(),
                                     "windows " + lazy::to_string(kernel_size) + " for a result of " +
                                         lazy::to_string(r) + " do not fit x " + lazy::to_string(image),
                                     s);
  return r;
}

lazy::MaxPoolResult FractionalPoolBase::pool(Arg given, int axes) const {
  check_rank(name().c_str(), given, axes + 1, axes + 2);
  const Site s = given.site();
  bool added = false;
  const Tensor image = with_batch(given, axes, added);
  const Shape shape = image.shape(s);
  const Dims count = extents(shape, s);
  const Shape drawn = {shape[0], shape[1], axes};
  const DType work = is_float(image.dtype(s)) ? image.dtype(s) : get_default_dtype();
  const Tensor samples = options.random_samples.defined()
                             ? options.random_samples
                             : lazy::rand(options.generator ? *options.generator : default_generator(), drawn,
                                          work, image.device(s), s);
  if (samples.shape(s) != drawn)
    lazy::detail::fail<ShapeError>(
        name().c_str(),
        "random_samples have shape " + lazy::to_string(samples.shape(s)) + ", not " + lazy::to_string(drawn),
        s);
  Tensor taken = image, flat;
  for (int a = 0; a < axes; ++a) {
    // Two axes have their numbers the other way round, as in torch.
    const int64_t which = axes == 2 ? 1 - a : a;
    const Tensor sample = samples(_, _, slice(which, which + 1));
    const Tensor at = along(positions(sample, shape[2 + a], count[a], kernel_size[a], s), a, axes);
    taken = take_along_axis(Arg(taken, s), Arg(at, s), 2 + a);
    flat = flat.defined() ? flat * shape[2 + a] + at : at;
  }
  const Tensor values = windows(taken, count, kernel_size);
  const Tensor best = argmax(Arg(values, s), Axes(-1), keepdims);
  const Tensor where_best = take_along_axis(windows(flat, count, kernel_size), best, -1).squeeze(-1, s);
  lazy::MaxPoolResult r{take_along_axis(values, best, -1).squeeze(-1, s), where_best};
  return added ? lazy::MaxPoolResult{without_batch(r.values, s), without_batch(r.indices, s)} : r;
}

}  // namespace lazy::nn::detail
