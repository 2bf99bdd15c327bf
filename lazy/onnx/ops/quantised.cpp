#include <algorithm>
#include <limits>

#include "lazy/core/promotion.hpp"
#include "lazy/nn/functional/convolution.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "lazy/onnx/ops/integers.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/onnx/ops/window.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

/// Returns a scale or zero point such that it broadcasts to x: one number, one for each index of an axis, or
/// one for each block of elements along it.
Tensor along(Call& c, const Tensor& t, const Shape& x, int64_t axis, int64_t block) {
  const Shape shape = t.shape(c.site());
  if (numel(shape) == 1 && shape.size() <= 1) return reshape(c.arg(t), ShapeArg(Shape()));
  const int a = c.axis(axis, x.size());
  if (block > 0) return narrow(c.arg(repeat(c.arg(t), block, a)), a, 0, x[a]);
  if (shape.size() != 1) return t;
  Shape places(x.size(), 1);
  places[a] = shape[0];
  return reshape(c.arg(t), ShapeArg(places));
}

/// Rounds to the nearest integer, half to even, adds a zero point and keeps to the range of a dtype.
Tensor saturated(Call& c, const Tensor& scaled, const Tensor& zero_point, DType dtype) {
  const IInfo limits = iinfo(dtype, c.site());
  Tensor r = round(c.arg(scaled));
  if (zero_point.defined()) r = add(c.arg(r), c.arg(zero_point.astype(scaled.dtype(c.site()), c.site())));
  return clip(c.arg(r), Arg(static_cast<double>(limits.min), c.site()),
              Arg(static_cast<double>(limits.max), c.site()))
      .astype(dtype, c.site());
}

void quantize_linear_op(Call& c) {
  const Shape shape = c.shape(0);
  const int64_t axis = c.integer("axis", 1), block = c.integer("block_size", 0);
  DType dtype = c.has(2) ? c.dtype(2) : uint8;
  if (c.integer("output_dtype", 0)) dtype = *dtype_of(static_cast<DataType>(c.integer("output_dtype", 0)));
  const Tensor scale = along(c, c.tensor(1), shape, axis, block),
               zero = c.has(2) ? along(c, c.tensor(2), shape, axis, block) : Tensor();
  const Tensor x = is_float(c.dtype(0)) ? c.tensor(0) : c.tensor(0).astype(float32, c.site());
  // 16 bits hold neither quotients nor zero points exactly: they are computed in 32.
  const Tensor quotient = divide(c.arg(x), c.arg(scale)).astype(float32, c.site());
  c.give(saturated(c, quotient, zero, dtype));
}
std::string check_quantized(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute) {
    const auto type = static_cast<DataType>(a.i);
    if (a.name == "output_dtype" && a.i && (!dtype_of(type) || !is_int(*dtype_of(type))))
      return "type " + name_of(type) + " is not supported";
  }
  return {};
}

void dequantize_linear_op(Call& c) {
  const Shape shape = c.shape(0);
  const int64_t axis = c.integer("axis", 1), block = c.integer("block_size", 0);
  const Tensor scale = along(c, c.tensor(1), shape, axis, block);
  Tensor x = c.tensor(0).astype(int32, c.site());
  if (c.has(2))
    x = subtract(c.arg(x), c.arg(along(c, c.tensor(2), shape, axis, block).astype(int32, c.site())));
  const DType dtype = c.dtype(1);
  // 16 bits don't hold all differences of 16-bit integers: products are those of 32.
  const Tensor product = multiply(c.arg(x.astype(float32, c.site())), c.arg(scale.astype(float32, c.site())));
  Value v(product.astype(dtype, c.site()));
  if (block == 0) {
    const bool several = numel(c.shape(1)) > 1;  // else the axis may be none of x's
    v.set_dequantised(
        {c.value(0), c.value(1), c.has(2) ? c.value(2) : Value(), several ? c.axis(axis, shape.size()) : 0});
  }
  c.give(std::move(v));
}

void dynamic_quantize_linear_op(Call& c) {
  const Tensor high = maximum(c.arg(max(c[0])), 0.0), low = minimum(c.arg(min(c[0])), 0.0);
  const Tensor scale = divide(c.arg(subtract(c.arg(high), c.arg(low))), 255.0);
  const Tensor zero =
      round(c.arg(clip(c.arg(divide(c.arg(negative(c.arg(low))), c.arg(scale))), 0.0, 255.0)));
  c.give(0, saturated(c, divide(c[0], c.arg(scale)), zero, uint8));
  c.give(1, scale);
  c.give(2, zero.astype(uint8, c.site()));
}

/// Returns an operand less its zero point, as int32. A zero point of one dimension is one for each index of
/// `axis`, counted from the end.
Tensor shifted(Call& c, size_t operand, size_t zero_point, int axis) {
  const Tensor x = c.tensor(operand).astype(int32, c.site());
  if (!c.has(zero_point)) return x;
  Tensor zero = c.tensor(zero_point).astype(int32, c.site());
  if (c.rank(zero_point) == 1 && c.shape(zero_point)[0] > 1 && c.rank(operand) > 1) {
    Shape places(-axis, 1);
    places[0] = c.shape(zero_point)[0];
    zero = reshape(c.arg(zero), ShapeArg(places));
  } else if (c.rank(zero_point) <= 1) {
    zero = reshape(c.arg(zero), ShapeArg(Shape()));
  }
  return subtract(c.arg(x), c.arg(zero));
}

/// Returns a zero point as int32 that broadcasts over matrices: one of one dimension has a number for each
/// index of `axis`, counted from the end. Undefined if there is none, or 0 is all it is known to be.
Tensor zero_point_of(Call& c, size_t i, int axis) {
  if (!c.has(i)) return {};
  if (const Known* const k = c.value(i).known();
      k && std::all_of(k->integers.begin(), k->integers.end(), [](int64_t n) { return n == 0; }))
    return {};
  const Tensor zero = c.tensor(i).astype(int32, c.site());
  if (c.rank(i) > 1) return zero;
  Shape places;
  if (c.rank(i) == 1 && c.shape(i)[0] > 1) {
    places = Shape(-axis, 1);
    places[0] = c.shape(i)[0];
  }
  return reshape(c.arg(zero), ShapeArg(places));
}

/// Multiplies matrices of 8 bits less their zero points, exactly.
Tensor integer_product(Call& c, size_t a, size_t a_zero, size_t b, size_t b_zero) {
  if (c.rank(a) < 2 || c.rank(b) < 2)
    return matmul(c.arg(shifted(c, a, a_zero, -2)), c.arg(shifted(c, b, b_zero, -1)));
  return product_less_zeros(c, c.tensor(a), zero_point_of(c, a_zero, -2), c.tensor(b),
                            zero_point_of(c, b_zero, -1));
}

void matmul_integer_op(Call& c) { c.give(integer_product(c, 0, 2, 1, 3)); }

/// Returns a scale of one dimension as one for each index of `axis`, counted from the end.
Tensor scale_along(Call& c, size_t i, int axis) {
  const Tensor& t = c.tensor(i);
  if (c.rank(i) > 1) return t;
  if (c.rank(i) == 0 || c.shape(i)[0] == 1) return reshape(c.arg(t), ShapeArg(Shape()));
  Shape places(-axis, 1);
  places[0] = c.shape(i)[0];
  return reshape(c.arg(t), ShapeArg(places));
}

void qlinear_matmul_op(Call& c) {
  const Tensor sums = integer_product(c, 0, 2, 3, 5);
  const Tensor product = multiply(c.arg(scale_along(c, 1, -2)), c.arg(scale_along(c, 4, -1)));
  const Tensor factor = divide(c.arg(product), c.arg(scale_along(c, 6, -2))).astype(float32, c.site());
  const Tensor scaled = multiply(c.arg(sums.astype(float32, c.site())), c.arg(factor));
  Tensor zero = c.tensor(7);
  if (c.rank(7) <= 1)
    zero = c.rank(7) == 0 || c.shape(7)[0] == 1 ? reshape(c.arg(zero), ShapeArg(Shape()))
                                                : reshape(c.arg(zero), {-1, 1});
  c.give(saturated(c, scaled, zero, c.dtype(7)));
}

/// Convolves integers exactly, without their zero points: what is padded then is 0.
Tensor conv_integers(Call& c, size_t x, size_t x_zero, size_t w, size_t w_zero) {
  const Shape shape = c.shape(x), weights = c.shape(w);
  const Windows windows(c, shape, {weights.begin() + 2, weights.end()});
  const ConvOptions options{
      .stride = windows.strides(), .dilation = windows.dilations(), .groups = c.integer("group", 1)};
  const auto zero = [&](size_t i) { return c.has(i) ? c.value(i) : Value(); };
  if (const auto sums =
          sums_of_convolution(c, c.value(x), zero(x_zero), c.value(w), zero(w_zero), windows, options))
    return *sums;
  Tensor image = shifted(c, x, x_zero, -1);
  Tensor kernel = c.tensor(w).astype(int32, c.site());
  if (c.has(w_zero)) {
    Shape places(weights.size(), 1);
    places[0] = numel(c.shape(w_zero));
    const Tensor zero = reshape(c.arg(c.tensor(w_zero).astype(int32, c.site())), ShapeArg(places));
    kernel = subtract(c.arg(kernel), c.arg(zero));
  }
  if (!all_zero(windows.before) || !all_zero(windows.after))
    image = pad_image(c, image, windows.before, windows.after, 0);
  return conv(c.arg(image), c.arg(kernel), options);
}

void conv_integer_op(Call& c) { c.give(conv_integers(c, 0, 2, 1, 3)); }

void qlinear_conv_op(Call& c) {
  Tensor sums = conv_integers(c, 0, 2, 3, 5);
  const int channels = c.rank(0) - 1;
  const auto by_channel = [&](size_t i) {
    if (numel(c.shape(i)) == 1) return reshape(c[i], ShapeArg(Shape()));
    Shape places(channels, 1);
    places[0] = c.shape(i)[0];
    return reshape(c[i], ShapeArg(places));
  };
  if (c.has(8)) sums = add(c.arg(sums), c.arg(by_channel(8)));
  const Tensor product = multiply(c.arg(by_channel(1)), c.arg(by_channel(4))),
               factor = divide(c.arg(product), c.arg(by_channel(6))),
               scaled = multiply(c.arg(sums.astype(float32, c.site())), c.arg(factor));
  c.give(saturated(c, scaled, by_channel(7), c.dtype(7)));
}

constexpr const char* kConvolution = "auto_pad dilations group kernel_shape pads strides";

const Operator kQuantised[] = {
    {"QuantizeLinear", 10, 21, "axis block_size output_dtype saturate", quantize_linear_op, nullptr,
     check_quantized},
    {"DequantizeLinear", 10, 21, "axis block_size", dequantize_linear_op},
    {"DynamicQuantizeLinear", 11, 21, "", dynamic_quantize_linear_op},
    {"MatMulInteger", 10, 21, "", matmul_integer_op},
    {"QLinearMatMul", 10, 21, "", qlinear_matmul_op},
    {"ConvInteger", 10, 21, kConvolution, conv_integer_op, nullptr, check_auto_pad},
    {"QLinearConv", 10, 21, kConvolution, qlinear_conv_op, nullptr, check_auto_pad},
};

}  // namespace

std::span<const Operator> quantised_operators() { return kQuantised; }

}  // namespace lazy::onnx
