#include "lazy/quant/observed.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lazy/autograd/derivation.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/convolution.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::quant {
namespace {

using namespace lazy::detail;
constexpr double kMoved = 0.01;  // share of the present range in a moving average

Tensor number(double v, Device d) { return full({}, v, float32, d); }

/// Returns a step as it is used.
Tensor used(const Parameter& step, const Site& s) { return maximum(Arg(step, s), Arg(kLeastScale, s)); }

/// Returns by what the gradient of a scale that so many numbers share is multiplied, so that scales move in
/// proportion to themselves as weights do (Esser et al., 2020).
double gradient_factor(double numbers, const Scheme& how) {
  return 1 / std::sqrt(numbers * static_cast<double>(how.highest() - how.middle()));
}

}  // namespace

ObservedWeight::ObservedWeight(const Config& config, Prepare prepare, const Tensor& weights,
                               bool inputs_first, const Site& s)
    : config_(config),
      prepare_(prepare),
      inputs_first_(inputs_first),
      least_(number(0, weights.device(s))),
      most_(number(0, weights.device(s))),
      seen_(number(0, weights.device(s))),
      histogram_(weights.device(s)) {
  if (!config.learned_steps) return;
  const no_grad scope;
  const Tensor rows = detail::in_rows(weights, config.weights, s);
  weight_step_ = Parameter(first_steps(rows, config.weights, s).astype(float32, s).eval(s));
  if (config.activations == Activations::fixed) input_step_ = Parameter(number(1, weights.device(s)));
}

void ObservedWeight::members(nn::Visitor& v) {
  v.whole(*this, this, sizeof *this);
  v.member("least", least_);
  v.member("most", most_);
  v.member("seen", seen_);
  if (counts_in_bins(config_.range)) histogram_.visit(v);
  if (products_.defined()) v.member("products", products_), v.member("sums", sums_);
  if (columns_.defined()) v.member("columns", columns_);
  if (weight_step_.defined()) v.member("weight_step", weight_step_);
  if (input_step_.defined()) v.member("input_step", input_step_);
}

Tensor ObservedWeight::means(const Site& s) const {
  if (!sums_.defined()) return {};
  return divide(Arg(sums_, s), Arg(static_cast<double>(rows_), s));
}

Tensor ObservedWeight::weight_scale(const Site& s) const {
  if (!weight_step_.defined()) return {};
  return used(weight_step_, s);
}

Affine ObservedWeight::input_affine(const Site& s) const {
  if (seen_.item<float>(s) == 0)
    lazy::detail::fail<Error>(
        "convert_", "a layer whose activations are to be fixed has seen none: run the model first", s);
  const no_grad scope;
  const Scheme& how = config_.activation_scheme;
  if (input_step_.defined()) return {used(input_step_, s), {}};
  if (!counts_in_bins(config_.range)) return affine_of(least_, most_, how, s);
  const double most = histogram_.magnitude(config_.range, how, s), low = least_.item<float>(s),
               high = most_.item<float>(s);
  const Device d = least_.device(s);
  return affine_of(number(std::max(low, -most), d), number(std::min(high, most), d), how, s);
}

void ObservedWeight::add_products(const Tensor& x, const Site& s) {
  const no_grad scope;
  const Recorder r{"observe", s};
  const Shape& shape = x.handle()->shape;
  const int64_t depth = shape.back();
  const Handle rows = r.as(float32, r.reshape(x.handle(), {numel(shape) / depth, depth}));
  const Handle sums = lazy::detail::matmul(r.name, lazy::detail::matrix_transpose(rows, s), rows, s);
  const auto add = [&](Tensor& to, const Handle& h) {
    to = r.tensor(to.defined() ? r.op(Op::add, to.handle(), h) : h);
  };
  add(products_, sums);
  add(sums_, r.reduce(Op::sum, rows, {0}));
  rows_ += rows->shape[0];
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
  const bool moving = config_.range == Range::moving_average;
  const Term next_low = moving ? low + (least - low) * kMoved : minimum(low, least);
  const Term next_high = moving ? high + (most - high) * kMoved : maximum(high, most);
  least_ = f.tensor(where(none, least, next_low).handle());
  most_ = f.tensor(where(none, most, next_high).handle());
  seen_ = f.tensor(f.filled(1, float32, {}, seen.handle()));
  if (counts_in_bins(config_.range)) histogram_.add(x, s);
}

void ObservedWeight::begin_input_step(const Tensor& x, const Site& s) {
  if (std::exchange(input_step_began_, true) || seen_.item<float>(s) != 0) return;
  const no_grad scope;
  const Scheme how = config_.inputs().by(Granularity::tensor);
  input_step_ = first_steps(x, how, s).astype(float32, s).eval(s);
  seen_ = number(1, least_.device(s));
}

Tensor ObservedWeight::forward(const std::vector<Tensor>& x, Site s) {
  if (prepare_ == Prepare::calibrate) return x[0];
  const Scheme& how = config_.weights;
  const Tensor w = inputs_first_ ? matrix_transpose(Arg(x[0], s)) : x[0];
  const Tensor rows = detail::in_rows(w, how, s);
  Tensor near;
  if (weight_step_.defined()) {
    const auto numbers = static_cast<double>(rows.size(s)) / static_cast<double>(weight_step_.size(s));
    near = fake_quantize_learned(rows, weight_step_, how, gradient_factor(numbers, how), s);
  } else {
    Affine a;
    {
      const no_grad scope;
      a = affine_of(rows, how, s);
    }
    near = fake_quantize(rows, a, how, s);
  }
  near = reshape(Arg(near, s), w.shape(s));
  return inputs_first_ ? matrix_transpose(Arg(near, s)) : near;
}

Tensor ObservedWeight::rounded(const Tensor& x, bool is_image, const Site& s) {
  const Shape shape = x.shape(s);
  Tensor seen = x;
  if (input_step_.defined()) {
    begin_input_step(x, s);
    const Scheme how = config_.inputs().by(Granularity::tensor);
    const auto numbers =
        static_cast<double>(numel(shape)) / static_cast<double>(shape.empty() ? 1 : shape[0]);
    return fake_quantize_learned(x, input_step_, how, gradient_factor(numbers, how), s);
  }
  const bool by_row = config_.activations == Activations::dynamic && !is_image && !shape.empty();
  const Scheme how = config_.inputs().by(by_row ? Granularity::channel : Granularity::tensor);
  if (by_row) seen = reshape(Arg(x, s), Shape{numel(shape) / shape.back(), shape.back()});
  Affine a;
  {
    const no_grad scope;
    a = config_.activations == Activations::fixed ? affine_of(least_, most_, how, s)
                                                  : affine_of(seen, how, s);
  }
  return reshape(Arg(fake_quantize(seen, a, how, s), s), shape);
}

Tensor ObservedWeight::layer(const LayerCall& call, const std::vector<Tensor>& x, Site s) {
  if (call.inputs_first != inputs_first_) return {};
  const Handle& given = call.x.handle();
  if (!given || !is_float(given->dtype) || numel(given->shape) == 0) return {};
  const bool calibrates = prepare_ == Prepare::calibrate;
  const Tensor image(given);
  if (calibrates && !call.conv && !given->shape.empty()) {
    if (config_.rounding == Rounding::second_order) add_products(image, s);
    if (config_.balance > 0) add_columns(image, s);
  }
  if (config_.activations == Activations::none) return {};
  const bool fixed = config_.activations == Activations::fixed && !input_step_.defined();
  if (fixed && (calibrates || training())) observe(image, s);
  if (calibrates) return {};
  const Tensor near = rounded(image, call.conv != nullptr, s), w = forward(x, s);
  if (inputs_first_) return matmul(Arg(near, s), Arg(w, s));
  if (!call.conv) return lazy::linear(Arg(near, s), Arg(w, s), call.bias);
  return lazy::conv(Arg(near, s), Arg(w, s), *call.conv);
}

std::string ObservedWeight::extra_repr() const {
  return nn::detail::Repr()
      .positional(to_string(config_.weights))
      .add("prepared for", prepare_ == Prepare::train ? "training" : "calibration")
      .str();
}

}  // namespace lazy::quant
