#include "lazy/nn/functional/recurrent.hpp"

#include <algorithm>

#include "lazy/indexing/gathering.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {
using detail::RecurrentKind;

enum class Cell : uint8_t { rnn, gru, lstm };
constexpr int kGates[] = {1, 3, 4}, kFunctions[] = {1, 2, 3};

/// Holds a function of gates with its parameters.
struct GateFunction {
  std::string name;
  double alpha, beta;
};

std::string lower_case(std::string_view text) {
  std::string r;
  for (const char ch : text) r += ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
  return r;
}

/// Returns the parameters that a function has unless attributes say others.
GateFunction with_defaults(std::string_view name) {
  const std::string n = lower_case(name);
  if (n == "leakyrelu") return {n, 0.01, 0};
  if (n == "hardsigmoid") return {n, 0.2, 0.5};
  return {n, 1, n == "affine" ? 0.0 : 1.0};
}

Tensor applied(Call& c, const GateFunction& f, const Tensor& x) {
  if (f.name == "sigmoid") return sigmoid(c.arg(x));
  if (f.name == "tanh") return tanh(c.arg(x));
  if (f.name == "relu") return relu(c.arg(x));
  if (f.name == "affine") return add(c.arg(multiply(c.arg(x), f.alpha)), f.beta);
  if (f.name == "leakyrelu") return leaky_relu(c.arg(x), f.alpha);
  if (f.name == "thresholdedrelu") return threshold(c.arg(x), f.alpha, 0);
  if (f.name == "scaledtanh") return multiply(c.arg(tanh(c.arg(multiply(c.arg(x), f.beta)))), f.alpha);
  if (f.name == "hardsigmoid") return clip(c.arg(add(c.arg(multiply(c.arg(x), f.alpha)), f.beta)), 0.0, 1.0);
  if (f.name == "elu") return elu(c.arg(x), f.alpha);
  if (f.name == "softsign") return softsign(c.arg(x));
  return softplus(c.arg(x));
}
std::string check_recurrent(const NodeProto& n) {
  constexpr std::string_view kNames =
      "sigmoid tanh relu affine leakyrelu thresholdedrelu scaledtanh hardsigmoid elu softsign softplus";
  for (const AttributeProto& a : n.attribute) {
    if (a.name == "activations")
      for (const std::string_view f : a.strings)
        if (!has_word(kNames, lower_case(f))) return "activation '" + std::string(f) + "' is not supported";
    if (a.name == "direction" && a.s != "forward" && a.s != "reverse" && a.s != "bidirectional")
      return "direction '" + std::string(a.s) + "' is not supported";
  }
  return {};
}

/// Holds one direction of a layer.
struct Direction {
  Tensor w, r, b;  // (G R, I), (G R, R), (2 G R) or undefined, gates in ONNX's order
  Tensor h, c, p;  // (N, R), likewise, and the peepholes (3 R) or undefined
  std::vector<GateFunction> functions;
  bool reverse = false;
};
struct Results {
  Tensor y, h, c;  // (T, N, R), (N, R), (N, R)
};

/// Returns part i of n equal ones along axis 0.
Tensor gate(Call& c, const Tensor& t, int i, int n) {
  const int64_t size = t.size(0, c.site()) / n;
  return narrow(c.arg(t), 0, i * size, size);
}

bool plain(Call& c, Cell cell, const Direction& d) {
  const std::vector<const char*> names = cell == Cell::lstm
                                             ? std::vector<const char*>{"sigmoid", "tanh", "tanh"}
                                         : cell == Cell::gru ? std::vector<const char*>{"sigmoid", "tanh"}
                                                             : std::vector<const char*>{"tanh"};
  for (size_t i = 0; i < names.size(); ++i)
    if (d.functions[i].name != names[i] && !(cell == Cell::rnn && d.functions[i].name == "relu"))
      return false;
  if (cell == Cell::gru && !c.integer("linear_before_reset", 0)) return false;
  return !d.p.defined() && !c.has("clip") && !c.integer("input_forget", 0);
}

/// Computes all steps by the layer that networks have.
Results as_layer(Call& c, Cell cell, const Direction& d, const Tensor& x) {
  detail::RecurrentWeights w{d.w, d.r, {}, {}, {}};
  if (d.b.defined()) w.b_ih = gate(c, d.b, 0, 2), w.b_hh = gate(c, d.b, 1, 2);
  if (cell == Cell::gru) w.order = {1, 0, 2};
  if (cell == Cell::lstm) w.order = {0, 2, 3, 1};
  const RecurrentKind kind = cell == Cell::lstm              ? RecurrentKind::lstm
                             : cell == Cell::gru             ? RecurrentKind::gru
                             : d.functions[0].name == "relu" ? RecurrentKind::relu
                                                             : RecurrentKind::tanh;
  detail::RecurrentResult r = detail::recurrent("onnx", kind, d.reverse, x, d.h, d.c, w, c.site());
  return {r.y, r.h, r.c};
}

/// Computes one step of a layer that networks don't have; returns the new state.
class Steps {
 public:
  Steps(Call& c, Cell cell, const Direction& d)
      : c_(c), cell_(cell), d_(d), gates_(kGates[static_cast<int>(cell)]) {
    w_ = matrix_transpose(c.arg(d.w));
    r_ = matrix_transpose(c.arg(d.r));
    if (d.b.defined()) {
      of_input_ = gate(c, d.b, 0, 2);
      of_state_ = gate(c, d.b, 1, 2);
    }
  }

  void step(const Tensor& x, Tensor& h, Tensor& cell) {
    const Tensor input = biased(matmul(c_.arg(x), c_.arg(w_)), of_input_);
    if (cell_ == Cell::gru) return gru(input, h);
    const Tensor sum = add(c_.arg(input), c_.arg(biased(matmul(c_.arg(h), c_.arg(r_)), of_state_)));
    if (cell_ == Cell::rnn) h = function(0, sum);
    else lstm(sum, h, cell);
  }

 private:
  Tensor biased(const Tensor& t, const Tensor& b) { return b.defined() ? add(c_.arg(t), c_.arg(b)) : t; }
  Tensor function(size_t i, const Tensor& x) { return applied(c_, d_.functions[i], clipped(x)); }
  Tensor clipped(const Tensor& x) {
    if (!c_.has("clip")) return x;
    const double most = c_.real("clip", 0);
    return clip(c_.arg(x), -most, most);
  }
  /// Returns the columns of gate i.
  Tensor columns(const Tensor& t, int i, int count = 1) {
    const int last = t.ndim(c_.site()) - 1;
    const int64_t size = t.size(last, c_.site()) / gates_;
    return narrow(c_.arg(t), last, i * size, size * count);
  }
  Tensor product(const Tensor& a, const Tensor& b) { return multiply(c_.arg(a), c_.arg(b)); }
  Tensor sum(const Tensor& a, const Tensor& b) { return add(c_.arg(a), c_.arg(b)); }

  void gru(const Tensor& input, Tensor& h) {
    const auto state = [&](const Tensor& from, int i) {
      const Tensor p = matmul(c_.arg(from), c_.arg(columns(r_, i)));
      return of_state_.defined() ? sum(p, columns(of_state_, i)) : p;
    };
    const Tensor z = function(0, sum(columns(input, 0), state(h, 0))),
                 r = function(0, sum(columns(input, 1), state(h, 1)));
    const Tensor hidden =
        c_.integer("linear_before_reset", 0) ? product(r, state(h, 2)) : state(product(r, h), 2);
    const Tensor n = function(1, sum(columns(input, 2), hidden));
    const Tensor rest = subtract(Arg(1, c_.site()), c_.arg(z));
    h = sum(product(rest, n), product(z, h));
  }

  void lstm(const Tensor& all, Tensor& h, Tensor& cell) {
    // Peepholes are in the order i, o, f.
    const auto peeped = [&](const Tensor& t, int i, const Tensor& state) {
      return d_.p.defined() ? sum(t, product(gate(c_, d_.p, i, 3), state)) : t;
    };
    const Tensor i = function(0, peeped(columns(all, 0), 0, cell));
    const Tensor f = c_.integer("input_forget", 0) ? subtract(Arg(1, c_.site()), c_.arg(i))
                                                   : function(0, peeped(columns(all, 2), 2, cell));
    const Tensor g = function(1, columns(all, 3));
    cell = sum(product(f, cell), product(i, g));
    const Tensor o = function(0, peeped(columns(all, 1), 1, cell));
    h = product(o, applied(c_, d_.functions[2], cell));
  }

  Call& c_;
  const Cell cell_;
  const Direction& d_;
  const int gates_;
  Tensor w_, r_, of_input_, of_state_;
};

/// Computes step by step; sequences that are over keep their state and give zeros.
Results by_steps(Call& c, Cell cell, const Direction& d, const Tensor& x, const Tensor& lengths) {
  Steps steps(c, cell, d);
  const int64_t count = x.size(0, c.site());
  std::vector<Tensor> all(static_cast<size_t>(count));
  Tensor h = d.h, state = d.c;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t t = d.reverse ? count - 1 - i : i;
    Tensor h_before = h, state_before = state;
    steps.step(squeeze(c.arg(narrow(c.arg(x), 0, t, 1)), 0), h, state);
    Tensor y = h;
    if (lengths.defined()) {
      const Tensor on = unsqueeze(c.arg(greater(c.arg(lengths), Arg(t, c.site()))), 1);
      y = where(c.arg(on), c.arg(h), Arg(0, c.site()));
      h = where(c.arg(on), c.arg(h), c.arg(h_before));
      if (cell == Cell::lstm) state = where(c.arg(on), c.arg(state), c.arg(state_before));
    }
    all[static_cast<size_t>(t)] = y;
  }
  return {stack(all, 0, c.site()), h, state};
}

std::vector<GateFunction> functions_of(Call& c, Cell cell, size_t direction) {
  const auto count = static_cast<size_t>(kFunctions[static_cast<int>(cell)]);
  const std::vector<std::string_view> names = c.texts("activations");
  std::vector<double> alphas = c.reals("activation_alpha"), betas = c.reals("activation_beta");
  std::vector<GateFunction> all;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = direction * count + i;
    const char* const otherwise = cell != Cell::rnn && i == 0 ? "sigmoid" : "tanh";
    GateFunction f = with_defaults(at < names.size() ? names[at] : otherwise);
    if (at < alphas.size()) f.alpha = alphas[at];
    if (at < betas.size()) f.beta = betas[at];
    all.push_back(f);
  }
  return all;
}

template <Cell cell>
void recurrent_op(Call& c) {
  if (c.rank(0) != 3 || c.rank(1) != 3 || c.rank(2) != 3)
    c.fail<ShapeError>("expected sequences and weights of 3 dimensions");
  const bool batch_first = c.integer("layout", 0) != 0;
  const std::string_view direction = c.text("direction", "forward");
  const Tensor x = batch_first ? swapaxes(c[0], 0, 1) : c.tensor(0);
  const int64_t steps = x.size(0, c.site()), batch = x.size(1, c.site()), units = c.shape(2)[2];
  const size_t directions = direction == "bidirectional" ? 2 : 1;
  const Tensor lengths = c.tensor_or_none(4);
  if (steps == 0) c.fail<ShapeError>("a sequence of no steps is not supported");
  std::vector<Tensor> y, h, state;
  for (size_t i = 0; i < directions; ++i) {
    const auto part = [&](size_t input, int axis) {
      if (!c.has(input)) return Tensor();
      return squeeze(c.arg(narrow(c[input], axis, static_cast<int64_t>(i), 1)), axis);
    };
    const auto initial = [&](size_t input) {
      if (!c.has(input)) return zeros({batch, units}, c.dtype(0), c.device(), c.site());
      return part(input, batch_first ? 1 : 0);
    };
    Direction d{part(1, 0),
                part(2, 0),
                part(3, 0),
                initial(5),
                cell == Cell::lstm ? initial(6) : Tensor(),
                cell == Cell::lstm ? part(7, 0) : Tensor(),
                functions_of(c, cell, i),
                direction == "reverse" || i == 1};
    const Results r =
        !lengths.defined() && plain(c, cell, d) ? as_layer(c, cell, d, x) : by_steps(c, cell, d, x, lengths);
    y.push_back(r.y);
    h.push_back(r.h);
    state.push_back(r.c);
  }
  // (T, N, R) of each direction become (T, D, N, R), or (N, T, D, R) with the batch first.
  const int axis = batch_first ? 1 : 0;
  Tensor all = stack(y, 1, c.site());
  if (batch_first) all = permute_dims(c.arg(all), {2, 0, 1, 3});
  c.give(0, std::move(all));
  c.give(1, stack(h, axis, c.site()));
  if (cell == Cell::lstm) c.give(2, stack(state, axis, c.site()));
}

constexpr const char* kCellAttributes =
    "activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset "
    "input_forget "
    "output_sequence";

const Operator kRecurrent[] = {
    {"RNN", 1, 21, kCellAttributes, recurrent_op<Cell::rnn>, nullptr, check_recurrent},
    {"GRU", 1, 21, kCellAttributes, recurrent_op<Cell::gru>, nullptr, check_recurrent},
    {"LSTM", 1, 21, kCellAttributes, recurrent_op<Cell::lstm>, nullptr, check_recurrent},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRecurrent; }

}  // namespace lazy::onnx
