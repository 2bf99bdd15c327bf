#include "lazy/quant/weight.hpp"

#include "lazy/autograd/derivation.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/convolution.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/quant/export.hpp"
#include "lazy/quant/group_linear.hpp"

namespace lazy::quant {
namespace {

using namespace lazy::detail;
using nn::detail::Repr;

enum Parts : size_t { kIntegers, kScales, kZeros };

/// Holds what a layer is given as int8, and its scales.
struct Rounded {
  Tensor integers, scale;
};

/// Rounds by a scale that is there, else by one for all or for each row.
Rounded rounded(const Tensor& x, const Tensor& fixed, Granularity granularity, const Site& s) {
  Scheme how = kActivationScheme;
  if (!fixed.defined()) how.granularity = granularity;
  const Affine a = fixed.defined() ? Affine{fixed, {}} : affine_of(x, how, s);
  return {quantize(x, a, how, s), a.scale};
}

Tensor with_bias(const Formula& f, const Term& y, const Tensor& bias, const Shape& beside) {
  const Term r = bias.defined() ? y + reshape(f.term(bias), beside) : y;
  return f.tensor(r.as(f.result).handle());
}

}  // namespace

QuantizedWeight::QuantizedWeight(const Scheme& scheme, const Shape& shape, DType dtype,
                                 Activations activations, const Tensor& input_scale,
                                 const Tensor& input_factor, bool inputs_first)
    : scheme_(scheme),
      shape_(inputs_first ? Shape{shape[1], shape[0]} : shape),
      dtype_(dtype),
      activations_(activations),
      input_scale_(input_scale),
      input_factor_(input_factor),
      inputs_first_(inputs_first) {}

void QuantizedWeight::members(nn::Visitor& v) {
  v.whole(*this, this, sizeof *this);
  if (activations_ == Activations::fixed) v.member("input_scale", input_scale_);
  if (input_factor_.defined()) v.member("input_factor", input_factor_);
}

Affine QuantizedWeight::affine_of(const std::vector<Tensor>& x) const {
  return {x[kScales], x.size() > kZeros ? x[kZeros] : Tensor()};
}

Tensor QuantizedWeight::forward(const std::vector<Tensor>& x, Site s) {
  const Tensor q = packed() ? unpack_4(x[kIntegers], s) : x[kIntegers];
  const Tensor all = dequantize(q, affine_of(x), scheme_, s);
  const Recorder r{"dequantize", s};
  Handle h = all.handle();
  if (scheme_.granularity == Granularity::group) h = r.part(h, 1, 0, row_length());
  if (input_factor_.defined()) h = r.op(Op::multiply, h, r.as(h->dtype, input_factor_.handle()));
  const Tensor w = r.tensor(r.as(dtype_, r.reshape(h, shape_)));
  return inputs_first_ ? matrix_transpose(Arg(w, s)) : w;
}

std::optional<std::vector<Tensor>> QuantizedWeight::right_inverse(const Tensor& value, Site s) {
  const Recorder r{"quantize", s};
  Tensor given = inputs_first_ ? matrix_transpose(Arg(value, s)) : value;
  if (input_factor_.defined()) {
    const Handle h = Operand(r.name, Arg(given, s)).take();
    given = r.tensor(r.op(Op::divide, h, r.as(h->dtype, input_factor_.handle())));
  }
  if (scheme_.granularity == Granularity::group) {
    const Handle h = Operand(r.name, Arg(given, s)).take();
    given = r.tensor(r.reshape(h, {shape_[0], row_length()}));
  }
  const Affine a = quant::affine_of(given, scheme_, s);
  const Tensor q = quantize(given, a, scheme_, s);
  const Tensor scale = r.tensor(r.as(float32, a.scale.handle()));
  std::vector<Tensor> parts{packed() ? pack_4(q, s) : q, scale};
  if (a.zero_point.defined()) parts.push_back(a.zero_point);
  return parts;
}

Tensor QuantizedWeight::layer(const LayerCall& call, const std::vector<Tensor>& x, Site s) {
  const Handle& given = call.x.handle();
  if (!given || !is_float(given->dtype) || call.inputs_first != inputs_first_) return {};
  if (detail::RecordsForExport::on()) return exported(call, x, s);
  if (scheme_.is_float8()) return {};
  if (activations_ != Activations::none && !gradients_paused && is_tracked(given)) return {};
  return call.conv ? conv(call, x, s) : linear(call, x, s);
}

Tensor QuantizedWeight::linear(const LayerCall& call, const std::vector<Tensor>& x, const Site& s) const {
  Arg given(call.x.handle(), s);
  const Formula f(call.function, {&given});
  Term rows = f.term(given);
  if (shape_.size() != 2 || rows.shape().empty() || rows.shape().back() != shape_[1]) return {};
  if (input_factor_.defined()) rows = rows * f.term(input_factor_);
  const Affine a = affine_of(x);
  const int64_t n = shape_[0], depth = shape_[1], count = depth ? numel(rows.shape()) / depth : 0;
  if (count == 0 || n == 0) return {};
  Shape result = rows.shape();
  result[result.size() - 1] = n;
  if (scheme_.granularity == Granularity::group) {
    if (f.work != float32 || !(packed() || scheme_.is_signed)) return {};
    const Tensor flat = f.tensor(reshape(rows, {count, depth}).handle());
    const bool rounds = activations_ != Activations::none && packed();
    const Rounded q = rounds ? rounded(flat, input_scale_, Granularity::channel, s) : Rounded{flat, {}};
    Term y = f.term(detail::group_linear(q.integers, x[kIntegers], a, scheme_, s));
    if (rounds) y = y * (input_scale_.defined() ? f.term(q.scale) : reshape(f.term(q.scale), {count, 1}));
    return with_bias(f, reshape(y, result), call.bias, {n});
  }
  if (activations_ == Activations::none && f.work == float32 && scheme_.is_signed &&
      !a.zero_point.defined()) {
    Handle scale = a.scale.handle();
    scale = scheme_.granularity == Granularity::channel ? f.reshape(scale, {n}) : f.broadcast(scale, {n});
    const Tensor flat = f.tensor(reshape(rows, {count, depth}).handle());
    const Term y = f.term(detail::channel_linear(flat, x[kIntegers], f.tensor(scale), s));
    return with_bias(f, reshape(y, result), call.bias, {n});
  }
  const Term scale =
      scheme_.granularity == Granularity::channel ? reshape(f.term(a.scale), {n}) : f.term(a.scale);
  const auto product = [&](const Handle& left, DType t) {
    const Handle w = f.as(t, x[kIntegers].handle());
    return f.term(f.as(f.work, lazy::linear(f.arg(f.as(t, left)), f.arg(w)).handle()));
  };
  Term y, sums, left_scale;
  if (activations_ == Activations::none) {
    y = product(rows.handle(), f.work);
    if (a.zero_point.defined()) sums = sum(rows, {-1});
  } else {
    const Tensor flat = f.tensor(reshape(rows, {count, depth}).handle());
    const Rounded q = rounded(flat, input_scale_, Granularity::channel, s);
    const Handle integers = f.reshape(q.integers.handle(), rows.shape());
    y = product(integers, int32);
    Shape each = result;
    each[each.size() - 1] = 1;
    left_scale = f.term(q.scale);
    if (!input_scale_.defined()) left_scale = reshape(left_scale, each);
    if (a.zero_point.defined()) sums = sum(f.term(f.as(f.work, integers)), {-1});
  }
  if (a.zero_point.defined()) y = y - sums * f.term(a.zero_point);
  y = y * scale;
  if (activations_ != Activations::none) y = y * left_scale;
  return with_bias(f, y, call.bias, {n});
}

Tensor QuantizedWeight::conv(const LayerCall& call, const std::vector<Tensor>& x, const Site& s) const {
  const Affine a = affine_of(x);
  if (scheme_.granularity == Granularity::group || a.zero_point.defined() || !scheme_.is_signed ||
      call.conv->layout != channels_first || call.conv->padding_mode != PadMode::constant)
    return {};
  Arg given(call.x.handle(), s);
  const Formula f(call.function, {&given});
  const Term image = f.term(given);
  ConvOptions options = *call.conv;
  options.bias = {};
  const auto product = [&](const Handle& left, DType t) {
    options.dtype = t;
    return f.term(f.as(f.work, lazy::conv(f.arg(left), f.arg(x[kIntegers].handle()), options).handle()));
  };
  Shape channels(shape_.size() - 1, 1);
  channels[0] = shape_[0];
  const Term scale =
      scheme_.granularity == Granularity::channel ? reshape(f.term(a.scale), channels) : f.term(a.scale);
  if (activations_ == Activations::none)
    return with_bias(f, product(image.handle(), f.work) * scale, call.bias, channels);
  const Rounded q = rounded(f.tensor(image.handle()), input_scale_, Granularity::tensor, s);
  const Term y = product(q.integers.handle(), int32) * scale * f.term(q.scale);
  return with_bias(f, y, call.bias, channels);
}

Tensor QuantizedWeight::exported(const LayerCall& call, const std::vector<Tensor>& x, const Site& s) {
  const Affine a = affine_of(x);
  // A node reads integers by channel; all else are ops.
  Tensor w, given(call.x.handle());
  if (scheme_.granularity == Granularity::group || scheme_.is_float8()) {
    w = forward(x, s);
    if (inputs_first_) w = matrix_transpose(Arg(w, s));
    if (input_factor_.defined()) w = divide(Arg(w, s), Arg(input_factor_, s));
  } else {
    const Tensor integers = x[kIntegers];
    w = detail::dequantize_node(integers, a.scale, a.zero_point, s);
    if (w.dtype(s) != dtype_) w = w.astype(dtype_, s);
  }
  if (input_factor_.defined()) given = multiply(Arg(given, s), Arg(input_factor_, s));
  const Shape shape = given.shape(s);
  if (activations_ != Activations::none && numel(shape) > 0) {
    if (input_scale_.defined()) {
      given = detail::dequantize_node(detail::quantize_node(given, input_scale_, s), input_scale_, {}, s);
    } else {
      const bool by_row = !call.conv;
      Scheme how = kActivationScheme;
      if (by_row) {
        how.granularity = Granularity::channel;
        given = reshape(Arg(given, s), Shape{numel(shape) / shape.back(), shape.back()});
      }
      given = reshape(Arg(fake_quantize(given, quant::affine_of(given, how, s), how, s), s), shape);
    }
  }
  if (!call.conv) return lazy::linear(Arg(given, s), Arg(w, s), call.bias);
  return lazy::conv(Arg(given, s), Arg(w, s), *call.conv);
}

std::string QuantizedWeight::extra_repr() const {
  constexpr const char* kNames[] = {"none", "dynamic", "fixed"};
  return Repr()
      .positional(to_string(scheme_))
      .add("activations", kNames[static_cast<size_t>(activations_)])
      .str();
}

}  // namespace lazy::quant
