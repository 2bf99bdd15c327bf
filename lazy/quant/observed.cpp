#include "lazy/quant/observed.hpp"

#include "lazy/autograd/derivation.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/convolution.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::quant {
namespace {

using namespace lazy::detail;
constexpr double kMoved = 0.01;  // share of the present range in a moving average

Tensor number(double v, Device d) { return full({}, v, float32, d); }

}  // namespace

ObservedWeight::ObservedWeight(const Scheme& weights, Activations activations, Prepare prepare, Range range,
                               Rounding rounding, double balance, Device device, bool inputs_first)
    : scheme_(weights),
      activations_(activations),
      prepare_(prepare),
      range_(range),
      rounding_(rounding),
      balance_(balance),
      inputs_first_(inputs_first),
      least_(number(0, device)),
      most_(number(0, device)),
      seen_(number(0, device)),
      histogram_(device) {}

void ObservedWeight::members(nn::Visitor& v) {
  v.whole(*this, this, sizeof *this);
  v.member("least", least_);
  v.member("most", most_);
  v.member("seen", seen_);
  if (counts_in_bins(range_)) histogram_.visit(v);
  if (products_.defined()) v.member("products", products_);
  if (columns_.defined()) v.member("columns", columns_);
}

Affine ObservedWeight::input_affine() const { return affine_of(least_, most_, kActivationScheme); }

Tensor ObservedWeight::input_scale(const Site& s) const {
  if (seen_.item<float>(s) == 0)
    lazy::detail::fail<Error>(
        "convert_", "a layer whose activations are to be fixed has seen none: run the model first", s);
  const no_grad scope;
  if (!counts_in_bins(range_)) return affine_of(least_, most_, kActivationScheme, s).scale;
  const Tensor most = number(histogram_.magnitude(range_, kActivationScheme, s), least_.device(s));
  return affine_of(most, most, kActivationScheme, s).scale;
}

void ObservedWeight::add_products(const Tensor& x, const Site& s) {
  const no_grad scope;
  const Recorder r{"observe", s};
  const Shape& shape = x.handle()->shape;
  const int64_t depth = shape.back();
  const Handle rows = r.as(float32, r.reshape(x.handle(), {numel(shape) / depth, depth}));
  const Handle sums = detail::matmul(r.name, detail::matrix_transpose(rows, s), rows, s);
  products_ = r.tensor(products_.defined() ? r.op(Op::add, products_.handle(), sums) : sums);
}

void ObservedWeight::add_columns(const Tensor& x, const Site& s) {
  const no_grad scope;
  const Recorder r{"observe", s};
  const Shape& shape = x.handle()->shape;
  const int64_t depth = shape.back();
  const Handle rows = r.as(float32, r.reshape(x.handle(), {numel(shape) / depth, depth}));
  const Handle most = r.reduce(Op::max, r.op(Op::abs, rows), {0});
  columns_ = r.tensor(columns_.defined() ? r.op(Op::maximum, columns_.handle(), most) : most);
}

void ObservedWeight::observe(const Tensor& x, const Site& s) {
  const no_grad scope;
  Arg a(x, s), l(least_, s), m(most_, s), n(seen_, s);
  const Formula f("observe", {&l});
  const Term all = f.term(f.as(f.work, a.handle())), low = f.term(l), high = f.term(m), seen = f.term(n);
  const Term none = seen == 0.0, most = reshape(max(all, {}), {}), least = reshape(-max(-all, {}), {});
  const bool moving = range_ == Range::moving_average;
  const Term next_low = moving ? low + (least - low) * kMoved : minimum(low, least);
  const Term next_high = moving ? high + (most - high) * kMoved : maximum(high, most);
  least_ = f.tensor(where(none, least, next_low).handle());
  most_ = f.tensor(where(none, most, next_high).handle());
  seen_ = f.tensor(f.filled(1, float32, {}, seen.handle()));
  if (counts_in_bins(range_)) histogram_.add(x, s);
}

Tensor ObservedWeight::forward(const std::vector<Tensor>& x, Site s) {
  if (prepare_ == Prepare::calibrate) return x[0];
  Tensor w = inputs_first_ ? matrix_transpose(Arg(x[0], s)) : x[0];
  const Shape shape = w.shape(s);
  if (scheme_.granularity == Granularity::group)
    w = reshape(Arg(w, s), Shape{shape[0], numel(shape) / shape[0]});
  Affine a;
  {
    const no_grad scope;
    a = affine_of(w, scheme_, s);
  }
  const Tensor near = reshape(Arg(fake_quantize(w, a, scheme_, s), s), shape);
  return inputs_first_ ? matrix_transpose(Arg(near, s)) : near;
}

Tensor ObservedWeight::layer(const LayerCall& call, const std::vector<Tensor>& x, Site s) {
  if (call.inputs_first != inputs_first_) return {};
  const Handle& given = call.x.handle();
  if (prepare_ == Prepare::calibrate && given && !call.conv && is_float(given->dtype) &&
      !given->shape.empty() && numel(given->shape) > 0) {
    if (rounding_ == Rounding::second_order) add_products(Tensor(given), s);
    if (balance_ > 0) add_columns(Tensor(given), s);
  }
  if (activations_ == Activations::none || !given || !is_float(given->dtype) || numel(given->shape) == 0)
    return {};
  const Tensor image(given);
  if (activations_ == Activations::fixed && (prepare_ == Prepare::calibrate || training())) observe(image, s);
  if (prepare_ == Prepare::calibrate) return {};
  Affine a;
  Scheme how = kActivationScheme;
  Tensor seen = image;
  const Shape shape = image.shape(s);
  {
    const no_grad scope;
    if (activations_ == Activations::fixed) {
      a = affine_of(least_, most_, how, s);
    } else if (!call.conv && shape.size() > 0) {  // a scale for each row
      how.granularity = Granularity::channel;
      const int64_t rows = numel(shape) / shape.back();
      seen = reshape(Arg(image, s), Shape{rows, shape.back()});
      a = affine_of(seen, how, s);
    } else {
      a = affine_of(image, how, s);
    }
  }
  if (how.granularity == Granularity::channel)
    seen = reshape(Arg(image, s), Shape{numel(shape) / shape.back(), shape.back()});
  const Tensor rounded = reshape(Arg(fake_quantize(seen, a, how, s), s), shape);
  const Tensor w = forward(x, s);
  if (inputs_first_) return matmul(Arg(rounded, s), Arg(w, s));
  if (!call.conv) return lazy::linear(Arg(rounded, s), Arg(w, s), call.bias);
  return lazy::conv(Arg(rounded, s), Arg(w, s), *call.conv);
}

std::string ObservedWeight::extra_repr() const {
  return nn::detail::Repr()
      .positional(to_string(scheme_))
      .add("prepared for", prepare_ == Prepare::train ? "training" : "calibration")
      .str();
}

}  // namespace lazy::quant
