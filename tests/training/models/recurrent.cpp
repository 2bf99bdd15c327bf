// Compares the derivatives of recurrent layers with differences, to the second order, and with torch's rule
// for those of higher order: they are those of the steps.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "lazy/nn/functional/recurrent.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using lazy::detail::RecurrentKind;

namespace {

struct Case {
  const char* name;
  RecurrentKind kind;
  bool reverse, biased, projected;
  int64_t steps;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

const Case kCases[] = {{"rnn", RecurrentKind::tanh, false, true, false, 3},
                       {"rnn of relu, reverse", RecurrentKind::relu, true, true, false, 3},
                       {"lstm", RecurrentKind::lstm, false, true, false, 3},
                       {"lstm of one step, without biases", RecurrentKind::lstm, true, false, false, 1},
                       {"lstm, projected, reverse", RecurrentKind::lstm, true, true, true, 3},
                       {"gru", RecurrentKind::gru, false, true, false, 3},
                       {"gru, reverse, without biases", RecurrentKind::gru, true, false, false, 2}};

constexpr int64_t kBatch = 2, kInputs = 2, kUnits = 3;

/// Returns all operands of a layer's direction: x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, as far as it has
/// them.
std::vector<Tensor> operands(const Case& c) {
  std::mt19937 random(11);
  const auto values = [&](const Shape& s) { return check::random_values(random, s, -0.9, 0.9).eval(); };
  const int64_t wide = jit::calls::gates_of(c.kind) * kUnits, outputs = c.projected ? 2 : kUnits;
  std::vector<Tensor> all{values({c.steps, kBatch, kInputs}), values({kBatch, outputs})};
  if (c.kind == RecurrentKind::lstm) all.push_back(values({kBatch, kUnits}));
  all.push_back(values({wide, kInputs}));
  all.push_back(values({wide, outputs}));
  if (c.biased) all.push_back(values({wide})), all.push_back(values({wide}));
  if (c.projected) all.push_back(values({outputs, kUnits}));
  return all;
}
/// Returns what the direction gives, as one vector.
Tensor outputs(const Case& c, const std::vector<Tensor>& x) {
  size_t i = 0;
  const auto next = [&](bool there) { return there ? x[i++] : Tensor(); };
  const Tensor in = next(true), h0 = next(true), c0 = next(c.kind == RecurrentKind::lstm);
  lazy::detail::RecurrentWeights w;
  w.w_ih = next(true), w.w_hh = next(true), w.b_ih = next(c.biased), w.b_hh = next(c.biased);
  w.w_hr = next(c.projected);
  const auto r = lazy::detail::recurrent("test", c.kind, c.reverse, in, h0, c0, w, Site::current());
  std::vector<Tensor> all{r.y.reshape({-1}), r.h.reshape({-1})};
  if (r.c.defined()) all.push_back(r.c.reshape({-1}));
  return concat(all);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recurrent_derivatives)

BOOST_DATA_TEST_CASE(to_the_second_order, boost::unit_test::data::make(kCases), c) {
  check::two_orders(
      c.name, [&](const std::vector<Tensor>& x) { return outputs(c, x); }, operands(c));
}

// Both ways of a layer on layers, batch first, with dropout between them.
BOOST_AUTO_TEST_CASE(of_layers_on_layers) {
  const nn::GRU layer(
      2, 3, {.num_layers = 2, .batch_first = true, .dropout = 0.5, .bidirectional = true, .dtype = float64});
  std::mt19937 random(5);
  const Tensor x = check::random_values(random, {2, 3, 2}, -1, 1).eval();
  check::two_orders("layers",
                    [&](const std::vector<Tensor>& in) {
                      manual_seed(3);
                      return layer(in[0]).output;
                    },
                    {x});
}

// Forward mode, and a third derivative, by those of the steps.
BOOST_AUTO_TEST_CASE(of_higher_order) {
  const Case c{"lstm", RecurrentKind::lstm, false, true, false, 2};
  const std::vector<Tensor> at = operands(c);
  const auto f = [&](const Tensor& x) {
    std::vector<Tensor> all = at;
    all[0] = x;
    return sum(square(outputs(c, all)));
  };
  const auto second = [&](const Tensor& x) { return sum(square(grad(f)(x))); };
  check::gradients(
      "the third", [&](const std::vector<Tensor>& x) { return grad(second)(x[0]); }, {at[0]}, 1e-5);
}

BOOST_AUTO_TEST_SUITE_END()
