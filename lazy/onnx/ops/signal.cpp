#include <algorithm>
#include <cmath>
#include <numbers>

#include "lazy/onnx/model/tensor.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

/// Holds real and imaginary parts; the imaginary one is undefined for real numbers.
struct Complex {
  Tensor re, im;
};

/// Returns the angles 2 pi k n / length of a discrete Fourier transform, rows by n, columns by k. Products
/// are taken modulo the length first, so that large ones lose no digits.
Tensor angles(Call& c, int64_t length, int64_t columns) {
  const Tensor n = arange(0, length, 1, int64, c.device(), c.site()),
               k = arange(0, columns, 1, int64, c.device(), c.site());
  const Tensor place = remainder(c.arg(outer(c.arg(n), c.arg(k))), Arg(length, c.site()));
  return multiply(c.arg(place.astype(float64, c.site())), 2 * std::numbers::pi / static_cast<double>(length));
}

/// Transforms the last axis of numbers.
Complex transformed(Call& c, const Complex& x, int64_t length, int64_t columns, bool inverse, DType dtype) {
  const Tensor angle = angles(c, length, columns);
  const Tensor cosine = cos(c.arg(angle)).astype(dtype, c.site());
  Tensor sine = sin(c.arg(angle)).astype(dtype, c.site());
  if (!inverse) sine = negative(c.arg(sine));
  const auto times = [&](const Tensor& t, const Tensor& m) { return matmul(c.arg(t), c.arg(m)); };
  Complex y{times(x.re, cosine), times(x.re, sine)};
  if (x.im.defined()) {
    y.re = subtract(c.arg(y.re), c.arg(times(x.im, sine)));
    y.im = add(c.arg(y.im), c.arg(times(x.im, cosine)));
  }
  if (!inverse) return y;
  const double share = 1 / static_cast<double>(length);
  return {multiply(c.arg(y.re), share), multiply(c.arg(y.im), share)};
}

/// Returns an axis with exactly so many elements: cut, or with zeros behind.
Tensor fitted(Call& c, const Tensor& x, int axis, int64_t length) {
  const int64_t extent = x.size(axis, c.site());
  if (extent == length) return x;
  if (extent > length) return narrow(c.arg(x), axis, 0, length);
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.ndim(c.site())), {0, 0});
  widths[static_cast<size_t>(axis)].second = length - extent;
  return pad(c.arg(x), PadWidths(widths));
}

/// Takes numbers apart whose last axis has the real part, or the real and the imaginary one.
Complex parts_of_numbers(Call& c, const Tensor& x) {
  const int last = x.ndim(c.site()) - 1;
  const auto part = [&](int64_t i) { return squeeze(c.arg(narrow(c.arg(x), last, i, 1)), last); };
  return {part(0), x.size(last, c.site()) > 1 ? part(1) : Tensor()};
}

void dft_op(Call& c) {
  const int rank = c.rank(0);
  const int64_t given = c.version() >= 20 ? (c.has(2) ? c.integer(2) : -2) : c.integer("axis", 1);
  const int axis = c.axis(given, rank);
  const bool inverse = c.integer("inverse", 0) != 0;
  const int64_t length = c.has(1) ? c.integer(1) : c.shape(0)[axis];
  const int64_t columns = c.integer("onesided", 0) ? length / 2 + 1 : length;
  // The axis goes to the end, where products sum.
  const Tensor moved = moveaxis(c.arg(fitted(c, c.tensor(0), axis, length)), axis, rank - 2);
  const Complex y = transformed(c, parts_of_numbers(c, moved), length, columns, inverse, c.dtype(0));
  const Tensor both = stack({y.re, y.im}, -1, c.site());
  c.give(moveaxis(c.arg(both), rank - 2, axis));
}

void stft_op(Call& c) {
  const int64_t step = c.integer(1);
  const int64_t length = c.has(3) ? c.integer(3) : c.shape(2)[0];
  const int64_t columns = c.integer("onesided", 1) ? length / 2 + 1 : length;
  Tensor signal = c.tensor(0);
  if (c.rank(0) == 2) signal = unsqueeze(c[0], 2);
  const Complex x = parts_of_numbers(c, signal);
  const auto frames = [&](const Tensor& t) {
    if (!t.defined()) return t;
    const Tensor all = sliding_window_view(c.arg(t), length, 1, step);
    return c.has(2) ? multiply(c.arg(all), c[2]) : all;
  };
  const Complex y = transformed(c, {frames(x.re), frames(x.im)}, length, columns, false, c.dtype(0));
  c.give(stack({y.re, y.im}, -1, c.site()));
}

/// Gives a window that is a sum of cosines.
void cosine_window(Call& c, std::initializer_list<double> factors) {
  const int64_t size = c.integer(0);
  const int64_t period = c.integer("periodic", 1) ? size : size - 1;
  const DType dtype =
      c.has("output_datatype") ? *dtype_of(static_cast<DataType>(c.integer("output_datatype", 1))) : float32;
  const Tensor n = arange(0, size, 1, float64, c.device(), c.site());
  Tensor sum = zeros(ShapeArg(size), float64, c.device(), c.site());
  double k = 0;
  for (const double f : factors) {
    const Tensor angle = multiply(c.arg(n), 2 * std::numbers::pi * k++ / static_cast<double>(period));
    sum = add(c.arg(sum), c.arg(multiply(c.arg(cos(c.arg(angle))), f)));
  }
  c.give(sum.astype(dtype, c.site()));
}
void hann_window_op(Call& c) { cosine_window(c, {0.5, -0.5}); }
void hamming_window_op(Call& c) { cosine_window(c, {25.0 / 46, -21.0 / 46}); }
void blackman_window_op(Call& c) { cosine_window(c, {0.42, -0.5, 0.08}); }
std::string check_window(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute)
    if (a.name == "output_datatype" && !dtype_of(static_cast<DataType>(a.i)))
      return "type " + name_of(static_cast<DataType>(a.i)) + " is not supported";
  return {};
}

void mel_weight_matrix_op(Call& c) {
  const int64_t bins = c.integer(0), length = c.integer(1), rate = c.integer(2), rows = length / 2 + 1;
  if (bins < 1 || length < 1 || rate < 1) c.fail<ShapeError>("bins, length and sample rate are 1 or more");
  const DType dtype =
      c.has("output_datatype") ? *dtype_of(static_cast<DataType>(c.integer("output_datatype", 1))) : float32;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(c.number(3)), step = (mel(c.number(4)) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> at;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    at.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  std::vector<double> all(static_cast<size_t>(rows * bins), 0);
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t left = at[static_cast<size_t>(i)], centre = at[static_cast<size_t>(i) + 1],
                  right = at[static_cast<size_t>(i) + 2];
    const auto set = [&](int64_t row, double v) {
      if (row >= 0 && row < rows) all[static_cast<size_t>(row * bins + i)] = v;
    };
    if (centre == left) set(centre, 1);
    for (int64_t j = left; centre != left && j <= centre; ++j)
      set(j, static_cast<double>(j - left) / static_cast<double>(centre - left));
    for (int64_t j = centre; right != centre && j < right; ++j)
      set(j, static_cast<double>(right - j) / static_cast<double>(right - centre));
  }
  c.give(from_span(all, {rows, bins}, c.device(), c.site()).astype(dtype, c.site()));
}

const Operator kSignals[] = {
    {"DFT", 17, 21, "axis inverse onesided", dft_op},
    {"STFT", 17, 21, "onesided", stft_op},
    {"HannWindow", 17, 21, "output_datatype periodic", hann_window_op, nullptr, check_window},
    {"HammingWindow", 17, 21, "output_datatype periodic", hamming_window_op, nullptr, check_window},
    {"BlackmanWindow", 17, 21, "output_datatype periodic", blackman_window_op, nullptr, check_window},
    {"MelWeightMatrix", 17, 21, "output_datatype", mel_weight_matrix_op, nullptr, check_window},
};

}  // namespace

std::span<const Operator> signal_operators() { return kSignals; }

}  // namespace lazy::onnx
