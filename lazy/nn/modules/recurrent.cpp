#include "lazy/nn/modules/recurrent.hpp"

#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/functional/recurrent.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn {
namespace {

using lazy::detail::fail;

/// Throws ShapeError with the shape that is and the one that was expected.
void expect(const char* name, const char* what, const Shape& found, const Shape& expected, const Site& s) {
  if (found != expected)
    fail<ShapeError>(
        name, std::string(what) + " has the shape " + to_string(found) + " instead of " + to_string(expected),
        s);
}

void check_positive(const char* name, const char* what, int64_t value, const Site& s) {
  if (value <= 0)
    fail<ShapeError>(name, std::string(what) + " is " + std::to_string(value) + ", not positive", s);
}

}  // namespace

Recurrent::Recurrent(const char* name, Kind kind, IntegerArg inputs, IntegerArg units,
                     const RecurrentOptions& o, const Site& s)
    : name_(name), kind_(kind), inputs_(inputs), units_(units), options_(o) {
  options_.generator = nullptr;  // of these weights alone
  check_positive(name, "input_size", inputs, s);
  check_positive(name, "hidden_size", units, s);
  check_positive(name, "num_layers", o.num_layers, s);
  if (!(o.dropout >= 0 && o.dropout <= 1))
    fail<Error>(name, "dropout is a probability, not " + std::to_string(o.dropout), s);
  if (o.proj_size != 0 && kind != Kind::lstm) fail<Error>(name, "proj_size is for LSTM only", s);
  if (o.proj_size < 0 || o.proj_size >= units)
    fail<ShapeError>(name,
                     "proj_size is " + std::to_string(o.proj_size.value) +
                         ", not below hidden_size, which is " + std::to_string(units.value),
                     s);
  outputs_ = o.proj_size > 0 ? o.proj_size.value : units_;
  const detail::Fresh fresh(o, s);
  const double bound = detail::bound_of(units_);
  const int directions = o.bidirectional ? 2 : 1;
  const int64_t wide = units_ * jit::calls::gates_of(static_cast<lazy::detail::RecurrentKind>(kind));
  for (int64_t layer = 0; layer < o.num_layers; ++layer)
    for (int d = 0; d < directions; ++d) {
      Weights w;
      w.ih = fresh.uniform({wide, layer ? directions * outputs_ : inputs_}, bound);
      w.hh = fresh.uniform({wide, outputs_}, bound);
      if (o.bias) {
        w.b_ih = fresh.uniform({wide}, bound);
        w.b_hh = fresh.uniform({wide}, bound);
      }
      if (o.proj_size > 0) w.hr = fresh.uniform({outputs_, units_}, bound);
      weights_.push_back(std::move(w));
    }
}

void Recurrent::members(Visitor& v) {
  const size_t directions = options_.bidirectional ? 2 : 1;
  for (size_t i = 0; i < weights_.size(); ++i) {
    const std::string end = "_l" + std::to_string(i / directions) + (i % directions ? "_reverse" : "");
    Weights& w = weights_[i];
    v.member("weight_ih" + end, w.ih);
    v.member("weight_hh" + end, w.hh);
    v.member("bias_ih" + end, w.b_ih);
    v.member("bias_hh" + end, w.b_hh);
    v.member("weight_hr" + end, w.hr);
  }
}

std::string Recurrent::extra_repr() const {
  detail::Repr r;
  r.positional(std::to_string(inputs_)).positional(std::to_string(units_));
  if (options_.proj_size > 0) r.add("proj_size", options_.proj_size.value);
  if (options_.num_layers != 1) r.add("num_layers", options_.num_layers.value);
  if (!options_.bias) r.add("bias", false);
  if (options_.batch_first) r.add("batch_first", true);
  if (options_.dropout != 0) r.add("dropout", options_.dropout);
  if (options_.bidirectional) r.add("bidirectional", true);
  return r.str();
}

void Recurrent::check(const Arg& x, const Tensor& h0, const Tensor& c0) const {
  const Site& s = x.site();
  const Shape shape = lazy::detail::Operand(name_, x)->shape;
  const int rank = shape.size();
  const auto number = [](int64_t n) { return std::to_string(n); };
  if (rank != 2 && rank != 3)
    fail<ShapeError>(name_,
                     "x " + to_string(shape) + " has " + number(rank) +
                         " dimensions: 3 are expected, or 2 for one sequence",
                     s);
  if (shape[rank - 1] != inputs_)
    fail<ShapeError>(name_,
                     "x " + to_string(shape) + " has " + number(shape[rank - 1]) +
                         " features: input_size is " + number(inputs_),
                     s);
  if (shape[rank == 3 && options_.batch_first ? 1 : 0] == 0)
    fail<ShapeError>(name_, "x " + to_string(shape) + " has no steps", s);
  const auto expected = [&](int64_t width) {
    const auto layers = static_cast<int64_t>(weights_.size());
    return rank == 2 ? Shape{layers, width} : Shape{layers, shape[options_.batch_first ? 0 : 1], width};
  };
  if (h0.defined()) expect(name_, "h0", h0.shape(s), expected(outputs_), s);
  if (c0.defined()) expect(name_, "c0", c0.shape(s), expected(units_), s);
}

Tensor Recurrent::state(const Tensor& all, size_t which, const Tensor& x, int64_t width,
                        const Site& s) const {
  if (!all.defined()) return zeros({x.size(1, s), width}, x.dtype(s), x.device(s), s);
  const Tensor one = all(Index(static_cast<int64_t>(which), s));
  return one.ndim(s) == 1 ? reshape(Arg(one, s), {1, width}) : one;
}

Recurrent::States Recurrent::run(const Arg& arg, const Tensor& h0, const Tensor& c0) const {
  const Site& s = arg.site();
  check(arg, h0, c0);
  Tensor x(lazy::detail::Operand(name_, arg).take());
  const bool one = x.ndim(s) == 2;
  if (one) x = unsqueeze(Arg(x, s), 1);
  else if (options_.batch_first) x = swapaxes(Arg(x, s), 0, 1);
  const size_t directions = options_.bidirectional ? 2 : 1, layers = weights_.size() / directions;
  std::vector<Tensor> h, c;
  for (size_t layer = 0; layer < layers; ++layer) {
    if (layer && options_.dropout > 0) x = dropout(Arg(x, s), options_.dropout, training());
    std::vector<Tensor> out;
    for (size_t d = 0; d < directions; ++d) {
      const size_t i = layer * directions + d;
      const Weights& w = weights_[i];
      const Tensor cell = kind_ == Kind::lstm ? state(c0, i, x, units_, s) : Tensor();
      const auto r =
          lazy::detail::recurrent(name_, static_cast<lazy::detail::RecurrentKind>(kind_), d == 1, x,
                                  state(h0, i, x, outputs_, s), cell, {w.ih, w.hh, w.b_ih, w.b_hh, w.hr}, s);
      out.push_back(r.y);
      h.push_back(r.h);
      if (kind_ == Kind::lstm) c.push_back(r.c);
    }
    x = directions == 1 ? out[0] : concat(out, 2, s);
  }
  const auto joined = [&](const std::vector<Tensor>& list) {
    if (list.empty()) return Tensor();
    return one ? concat(list, 0, s) : stack(list, 0, s);
  };
  if (one) x = squeeze(Arg(x, s), 1);
  else if (options_.batch_first) x = swapaxes(Arg(x, s), 0, 1);
  return {x, joined(h), joined(c)};
}

RNN::RNN(IntegerArg input_size, IntegerArg hidden_size, const RecurrentOptions& options,
         RecurrentActivation nonlinearity, Site s)
    : Recurrent("RNN", nonlinearity == RecurrentActivation::tanh ? Kind::tanh : Kind::relu, input_size,
                hidden_size, options, s) {}
RNNOutput RNN::operator()(Arg x, const Tensor& h0) const {
  States r = run(x, h0, {});
  return {std::move(r.output), std::move(r.h)};
}

LSTM::LSTM(IntegerArg input_size, IntegerArg hidden_size, const RecurrentOptions& options, Site s)
    : Recurrent("LSTM", Kind::lstm, input_size, hidden_size, options, s) {}
LSTMOutput LSTM::operator()(Arg x, const Tensor& h0, const Tensor& c0) const {
  States r = run(x, h0, c0);
  return {std::move(r.output), std::move(r.h), std::move(r.c)};
}

GRU::GRU(IntegerArg input_size, IntegerArg hidden_size, const RecurrentOptions& options, Site s)
    : Recurrent("GRU", Kind::gru, input_size, hidden_size, options, s) {}
RNNOutput GRU::operator()(Arg x, const Tensor& h0) const {
  States r = run(x, h0, {});
  return {std::move(r.output), std::move(r.h)};
}

RecurrentCell::RecurrentCell(int gates, IntegerArg inputs, IntegerArg units, const RecurrentCellOptions& o,
                             const Site& s) {
  check_positive("RecurrentCell", "input_size", inputs, s);
  check_positive("RecurrentCell", "hidden_size", units, s);
  const detail::Fresh fresh(o, s);
  const double bound = detail::bound_of(units);
  weight_ih = fresh.uniform({gates * units.value, inputs}, bound);
  weight_hh = fresh.uniform({gates * units.value, units}, bound);
  if (!o.bias) return;
  bias_ih = fresh.uniform({gates * units.value}, bound);
  bias_hh = fresh.uniform({gates * units.value}, bound);
}

std::string RecurrentCell::extra_repr() const {
  detail::Repr r;
  r.positional(std::to_string(input_size())).positional(std::to_string(hidden_size()));
  if (!bias_ih.defined()) r.add("bias", false);
  return r.str();
}

Tensor RecurrentCell::start(const char* name, const Arg& x, const Tensor& state) const {
  const Site& s = x.site();
  const lazy::detail::Operand operand(name, x);
  Shape shape = operand->shape;
  if (shape.size() != 1 && shape.size() != 2)
    fail<ShapeError>(name, "x " + to_string(shape) + ": 2 dimensions are expected, or 1", s);
  Shape expected = shape;
  expected[shape.size() - 1] = input_size();
  expect(name, "x", shape, expected, s);
  shape[shape.size() - 1] = hidden_size();
  if (state.defined()) {
    expect(name, "the state", state.shape(s), shape, s);
    return state;
  }
  return zeros(shape, weight_hh.dtype(s), operand->device, s);
}

Tensor RNNCell::operator()(Arg x, const Tensor& h) const {
  const Site s = x.site();
  const Tensor before = start("RNNCell", x, h);
  const Tensor a = linear(std::move(x), weight_ih, bias_ih) + linear(Arg(before, s), weight_hh, bias_hh);
  return nonlinearity == RecurrentActivation::tanh ? tanh(a) : relu(a);
}

LSTMState LSTMCell::operator()(Arg x, const LSTMState& state) const {
  const Site s = x.site();
  const Tensor h = start("LSTMCell", x, state.h), c = start("LSTMCell", x, state.c);
  const int64_t n = hidden_size();
  const Tensor g = linear(std::move(x), weight_ih, bias_ih) + linear(Arg(h, s), weight_hh, bias_hh);
  const auto gate = [&](int64_t i) { return g(ellipsis, slice(i * n, (i + 1) * n)); };
  const Tensor next = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
  return {sigmoid(gate(3)) * tanh(next), next};
}

Tensor GRUCell::operator()(Arg x, const Tensor& h) const {
  const Site s = x.site();
  const Tensor before = start("GRUCell", x, h);
  const int64_t n = hidden_size();
  const Tensor a = linear(std::move(x), weight_ih, bias_ih), b = linear(Arg(before, s), weight_hh, bias_hh);
  const auto gate = [&](const Tensor& t, int64_t i) { return t(ellipsis, slice(i * n, (i + 1) * n)); };
  const Tensor r = sigmoid(gate(a, 0) + gate(b, 0)), z = sigmoid(gate(a, 1) + gate(b, 1));
  const Tensor next = tanh(gate(a, 2) + r * gate(b, 2));
  return (1 - z) * next + z * before;
}

}  // namespace lazy::nn
