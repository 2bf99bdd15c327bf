#include "lazy/onnx/ops/integers.hpp"

#include <algorithm>

#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

bool is_small(DType t) { return t == int8 || t == uint8; }
int64_t middle_of(DType t) { return t == uint8 ? 128 : 0; }

/// Returns the number that all elements are known to be.
std::optional<int64_t> same_number(const Value& v) {
  if (!v.defined()) return 0;
  if (!v.known()) return {};
  const std::vector<int64_t>& all = v.known()->integers;
  const bool same = std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end();
  return all.empty() || !same ? std::nullopt : std::optional(all[0]);
}

/// Holds both sides of a product of integers.
struct Sides {
  Tensor x, w;   // int8 or uint8, and int8 without a zero point
  int64_t zero;  // of x
};
std::optional<Sides> sides_of(Call& c, const Value& x, const Value& x_zero, const Value& w,
                              const Value& w_zero) {
  const Site& s = c.site();
  const DType right = w.dtype(s);
  if (!is_small(x.dtype(s)) || !is_small(right) || !w.of_weights()) return {};
  const std::optional<int64_t> of_x = same_number(x_zero), of_w = same_number(w_zero);
  if (!of_x || of_w != middle_of(right)) return {};
  Sides r{x.tensor(c.device(), s), w.tensor(c.device(), s), *of_x};
  if (right == uint8) r.w = subtract(c.arg(r.w.astype(int32, s)), Arg(128, s)).astype(int8, s);
  return r;
}

/// Holds them with the product of their scales, () or (n).
struct ScaledSides : Sides {
  Tensor scale;
};
/// Returns what inputs 0 and 1 were computed of, if w has its outputs along `axis`.
std::optional<ScaledSides> dequantised_sides(Call& c, int axis) {
  const Dequantised *const x = c.value(0).dequantised(), *const w = c.value(1).dequantised();
  if (!x || !w) return {};
  const Site& s = c.site();
  const Shape scales = w->scale.shape(s);
  if (x->scale.dtype(s) != float32 || w->scale.dtype(s) != float32 || scales.size() > 1 ||
      numel(x->scale.shape(s)) != 1 || (numel(scales) != 1 && w->axis != axis))
    return {};
  std::optional<Sides> sides = sides_of(c, x->integers, x->zero_point, w->integers, w->zero_point);
  if (!sides) return {};
  const auto number = [&](const Tensor& t) { return reshape(c.arg(t), ShapeArg(Shape())); };
  const Tensor of_x = number(x->scale.tensor(c.device(), s)), of_w = w->scale.tensor(c.device(), s);
  return ScaledSides{*std::move(sides),
                     multiply(c.arg(of_x), c.arg(numel(scales) == 1 ? number(of_w) : of_w))};
}

Tensor convolved(Call& c, const Sides& sides, const Windows& windows, ConvOptions options) {
  Tensor image = sides.x;
  options.dtype = int32;
  if (sides.zero == 0 && windows.symmetric()) options.padding = windows.padding();
  else if (!all_zero(windows.before) || !all_zero(windows.after))
    image = pad_image(c, image, windows.before, windows.after, ScalarNumber(sides.zero));
  const Tensor sums = conv(c.arg(image), c.arg(sides.w), options);
  if (sides.zero == 0) return sums;
  const int64_t n = sides.w.size(0, c.site());
  const Tensor of_w = sum(c.arg(reshape(c.arg(sides.w), {n, -1})), 1, dropdims, int32);
  Shape channels(sides.w.ndim(c.site()) - 1, 1);
  channels[0] = n;
  const Tensor placed = reshape(c.arg(of_w), ShapeArg(channels));
  return subtract(c.arg(sums), c.arg(multiply(c.arg(placed), Arg(sides.zero, c.site()))));
}

}  // namespace

Tensor product_less_zeros(Call& c, const Tensor& a, const Tensor& a_zero, const Tensor& b,
                          const Tensor& b_zero) {
  Tensor r = matmul(c.arg(a), c.arg(b), int32);
  if (a_zero.defined())
    r = subtract(c.arg(r), c.arg(multiply(c.arg(a_zero), c.arg(sum(c.arg(b), -2, keepdims, int32)))));
  if (!b_zero.defined()) return r;
  Tensor rows = sum(c.arg(a), -1, keepdims, int32);
  if (a_zero.defined()) {
    const int64_t length = a.size(-1, c.site());
    rows = subtract(c.arg(rows), c.arg(multiply(c.arg(a_zero), Arg(length, c.site()))));
  }
  return subtract(c.arg(r), c.arg(multiply(c.arg(rows), c.arg(b_zero))));
}

std::optional<Tensor> product_of_integers(Call& c, bool transposed) {
  if (c.rank(0) < 2 || c.rank(1) != 2) return {};
  const std::optional<ScaledSides> sides = dequantised_sides(c, transposed ? 0 : 1);
  if (!sides) return {};
  const Tensor w = transposed ? matrix_transpose(c.arg(sides->w)) : sides->w;
  const Tensor zero = sides->zero ? full({}, sides->zero, int32, c.device(), c.site()) : Tensor();
  const Tensor sums = product_less_zeros(c, sides->x, zero, w, {});
  return multiply(c.arg(sums.astype(float32, c.site())), c.arg(sides->scale));
}

std::optional<Tensor> convolution_of_integers(Call& c, const Windows& windows, const ConvOptions& options) {
  const std::optional<ScaledSides> sides = dequantised_sides(c, 0);
  if (!sides) return {};
  ConvOptions own = options;
  own.bias = {};
  const Tensor sums = convolved(c, *sides, windows, own);
  Shape channels(sides->w.ndim(c.site()) - 1, 1);
  channels[0] = sides->w.size(0, c.site());
  const auto placed = [&](const Tensor& t) {
    return t.ndim(c.site()) == 0 ? t : reshape(c.arg(t), ShapeArg(channels));
  };
  const Tensor y = multiply(c.arg(sums.astype(float32, c.site())), c.arg(placed(sides->scale)));
  return options.bias.defined() ? add(c.arg(y), c.arg(placed(options.bias))) : y;
}

std::optional<Tensor> sums_of_convolution(Call& c, const Value& x, const Value& x_zero, const Value& w,
                                          const Value& w_zero, const Windows& windows,
                                          const ConvOptions& options) {
  const std::optional<Sides> sides = sides_of(c, x, x_zero, w, w_zero);
  return sides ? std::optional(convolved(c, *sides, windows, options)) : std::nullopt;
}

}  // namespace lazy::onnx
