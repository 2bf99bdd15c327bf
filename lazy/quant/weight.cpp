#include "lazy/quant/weight.hpp"

#include "lazy/autograd/derivation.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/convolution.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/quant/export.hpp"
#include "lazy/quant/group_linear.hpp"

namespace lazy::quant {
namespace {

using namespace lazy::detail;
using nn::detail::Repr;

enum Parts : size_t { kIntegers, kScales, kZeros };

Tensor with_bias(const Formula& f, const Term& y, const Tensor& bias, const Shape& beside) {
  const Term r = bias.defined() ? y + reshape(f.term(bias), beside) : y;
  return f.tensor(r.as(f.result).handle());
}

}  // namespace

QuantizedWeight::QuantizedWeight(const Scheme& scheme, const Shape& shape, DType dtype, const Inputs& inputs,
                                 bool inputs_first)
    : scheme_(scheme),
      shape_(inputs_first ? Shape{shape[1], shape[0]} : shape),
      dtype_(dtype),
      inputs_(inputs),
      inputs_first_(inputs_first) {}

void QuantizedWeight::members(nn::Visitor& v) {
  v.whole(*this, this, sizeof *this);
  if (inputs_.fixed.scale.defined()) v.member("input_scale", inputs_.fixed.scale);
  if (inputs_.fixed.zero_point.defined()) v.member("input_zero_point", inputs_.fixed.zero_point);
  if (inputs_.factor.defined()) v.member("input_factor", inputs_.factor);
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
  if (inputs_.factor.defined()) h = r.op(Op::multiply, h, r.as(h->dtype, inputs_.factor.handle()));
  const Tensor w = r.tensor(r.as(dtype_, r.reshape(h, shape_)));
  return inputs_first_ ? matrix_transpose(Arg(w, s)) : w;
}

std::optional<std::vector<Tensor>> QuantizedWeight::right_inverse(const Tensor& value, Site s) {
  const Recorder r{"quantize", s};
  Tensor given = inputs_first_ ? matrix_transpose(Arg(value, s)) : value;
  if (inputs_.factor.defined()) {
    const Handle h = Operand(r.name, Arg(given, s)).take();
    given = r.tensor(r.op(Op::divide, h, r.as(h->dtype, inputs_.factor.handle())));
  }
  given = detail::in_rows(given, scheme_, s);
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
  if (inputs_.activations != Activations::none && !gradients_paused && is_tracked(given)) return {};
  return call.conv ? conv(call, x, s) : linear(call, x, s);
}

Tensor QuantizedWeight::linear(const LayerCall& call, const std::vector<Tensor>& x, const Site& s) const {
  Arg given(call.x.handle(), s);
  const Formula f(call.function, {&given});
  Term rows = f.term(given);
  if (shape_.size() != 2 || rows.shape().empty() || rows.shape().back() != shape_[1]) return {};
  if (inputs_.factor.defined()) rows = rows * f.term(inputs_.factor);
  const Affine a = affine_of(x);
  const int64_t n = shape_[0], depth = shape_[1], count = depth ? numel(rows.shape()) / depth : 0;
  if (count == 0 || n == 0) return {};
  Shape result = rows.shape();
  result[result.size() - 1] = n;
  const bool fixed = inputs_.activations == Activations::fixed;
  if (scheme_.granularity == Granularity::group) {
    if (f.work != float32 || !(packed() || scheme_.is_signed)) return {};
    const Tensor flat = f.tensor(reshape(rows, {count, depth}).handle());
    const bool rounds = inputs_.activations != Activations::none && packed();
    const RoundedInputs q =
        rounds ? round_inputs(flat, inputs_, Granularity::channel, s) : RoundedInputs{flat, {}};
    Term y = f.term(detail::group_linear(q.integers, x[kIntegers], a, scheme_, s));
    if (rounds) y = y * reshape(f.term(q.affine.scale), fixed ? Shape{} : Shape{count, 1});
    return with_bias(f, reshape(y, result), call.bias, {n});
  }
  if (inputs_.activations == Activations::none && f.work == float32 && scheme_.is_signed &&
      !a.zero_point.defined()) {
    Handle scale = a.scale.handle();
    scale = scheme_.granularity == Granularity::channel ? f.reshape(scale, {n}) : f.broadcast(scale, {n});
    const Tensor flat = f.tensor(reshape(rows, {count, depth}).handle());
    const Term y = f.term(detail::channel_linear(flat, x[kIntegers], f.tensor(scale), s));
    return with_bias(f, reshape(y, result), call.bias, {n});
  }
  const Term scale =
      scheme_.granularity == Granularity::channel ? reshape(f.term(a.scale), {n}) : f.term(a.scale);
  const Handle& integers = x[kIntegers].handle();
  const auto product = [&](const Handle& left, DType t) {
    return f.term(lazy::linear(f.arg(f.as(t, left)), f.arg(f.as(t, integers))).handle());
  };
  if (inputs_.activations == Activations::none) {
    Term y = product(rows.handle(), f.work);
    if (a.zero_point.defined()) y = y - sum(rows, {-1}) * f.term(a.zero_point);
    return with_bias(f, y * scale, call.bias, {n});
  }
  const Tensor flat = f.tensor(reshape(rows, {count, depth}).handle());
  const RoundedInputs q = round_inputs(flat, inputs_, Granularity::channel, s);
  Shape each = result;
  each[each.size() - 1] = 1;
  const auto of_rows = [&](const Term& t) { return fixed ? t : reshape(t, each); };
  const Term left = reshape(f.term(q.integers.handle()), rows.shape());
  Term y = product(left.handle(), int32), left_sums;
  // (x - z) (w - v) summed is the product, less z times the sum of w, less v times the sum of x - z.
  if (a.zero_point.defined()) left_sums = sum(left.as(int32), {-1});
  if (const Tensor& z = q.affine.zero_point; z.defined()) {
    const Term zero = of_rows(f.term(z.handle()));
    y = y - zero * reshape(sum(f.term(f.as(int32, integers)), {-1}), {n});
    if (a.zero_point.defined()) left_sums = left_sums - zero * static_cast<double>(depth);
  }
  y = y.as(f.work);
  if (a.zero_point.defined()) y = y - left_sums.as(f.work) * f.term(a.zero_point);
  return with_bias(f, y * scale * of_rows(f.term(q.affine.scale)), call.bias, {n});
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
    return f.term(lazy::conv(f.arg(left), f.arg(x[kIntegers].handle()), options).handle());
  };
  Shape channels(shape_.size() - 1, 1);
  channels[0] = shape_[0];
  const Term scale =
      scheme_.granularity == Granularity::channel ? reshape(f.term(a.scale), channels) : f.term(a.scale);
  if (inputs_.activations == Activations::none)
    return with_bias(f, product(image.handle(), f.work) * scale, call.bias, channels);
  const RoundedInputs q = round_inputs(f.tensor(image.handle()), inputs_, Granularity::tensor, s);
  Term y = product(q.integers.handle(), int32);
  if (const Tensor& z = q.affine.zero_point; z.defined()) {
    // Beyond the borders nothing is added, so what the zero point adds is a convolution of ones.
    Shape one = image.shape();
    if (one.size() == shape_.size()) one[0] = 1;
    y = y - f.term(z.handle()) * product(f.filled(1, int8, one, image.handle()), int32);
  }
  return with_bias(f, y.as(f.work) * scale * f.term(q.affine.scale), call.bias, channels);
}

Tensor QuantizedWeight::exported(const LayerCall& call, const std::vector<Tensor>& x, const Site& s) {
  const Affine a = affine_of(x);
  // A node reads integers by channel; all else are ops.
  Tensor w, given(call.x.handle());
  if (scheme_.granularity == Granularity::group || scheme_.is_float8()) {
    w = forward(x, s);
    if (inputs_first_) w = matrix_transpose(Arg(w, s));
    if (inputs_.factor.defined()) w = divide(Arg(w, s), Arg(inputs_.factor, s));
  } else {
    const Tensor integers = x[kIntegers];
    w = detail::dequantize_node(integers, a.scale, a.zero_point, s);
    if (w.dtype(s) != dtype_) w = w.astype(dtype_, s);
  }
  if (inputs_.factor.defined()) given = multiply(Arg(given, s), Arg(inputs_.factor, s));
  const Shape shape = given.shape(s);
  if (inputs_.activations != Activations::none && numel(shape) > 0) {
    const Scheme& integers = inputs_.scheme;
    if (inputs_.fixed.scale.defined() && integers.bits == 8) {
      const Tensor zero =
          inputs_.fixed.zero_point.defined() || integers.is_signed
              ? inputs_.fixed.zero_point
              : full({}, static_cast<double>(integers.middle()), integers.dtype(), given.device(s));
      const Tensor& scale = inputs_.fixed.scale;
      given = detail::dequantize_node(detail::quantize_node(given, scale, zero, s), scale, zero, s);
    } else if (inputs_.fixed.scale.defined()) {
      given = fake_quantize(given, inputs_.fixed, inputs_.by(Granularity::tensor), s);
    } else {
      const bool by_row = !call.conv;
      const Scheme how = inputs_.by(by_row ? Granularity::channel : Granularity::tensor);
      if (by_row) { given = reshape(Arg(given, s), Shape{numel(shape) / shape.back(), shape.back()}); }
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
      .add("activations", kNames[static_cast<size_t>(inputs_.activations)])
      .str();
}

}  // namespace lazy::quant
