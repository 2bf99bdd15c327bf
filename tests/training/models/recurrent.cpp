// Compares the derivatives of recurrent layers with differences, to the third order, and sequences in a batch
// with the same ones alone.
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

/// Compares outputs and gradients of a batch with those of some of its sequences.
void alone_and_in_a_batch(const Case& c, DType t) {
  constexpr int64_t kMany = 150, kWide = 37;
  const int64_t outputs = c.projected ? 21 : kWide, wide = jit::calls::gates_of(c.kind) * kWide;
  std::mt19937 random(3);
  // Sums of a few products of these are exact in any order: the product with the inputs is not what is
  // compared.
  const auto coarse = [&](const Shape& s) {
    return (round(check::random_values(random, s, -4, 4)) / 8).astype(t).eval();
  };
  const auto values = [&](const Shape& s) {
    return check::random_values(random, s, -0.5, 0.5).astype(t).eval();
  };
  const Tensor w_ih = coarse({wide, 3}), w_hh = values({wide, outputs}), b = coarse({wide});
  const Tensor w_hr = c.projected ? values({outputs, kWide}) : Tensor();
  const auto layer = [&](const std::vector<Tensor>& x) {
    const int64_t n = x[0].size(1);
    const Tensor c0 = c.kind == RecurrentKind::lstm ? zeros({n, kWide}, t) : Tensor();
    return lazy::detail::recurrent("test", c.kind, c.reverse, x[0], zeros({n, outputs}, t), c0,
                                   {w_ih, w_hh, b, b, w_hr}, Site::current())
        .y;
  };
  const auto run = [&](const Tensor& x) {
    const Pullback back = vjp(layer, std::vector<Tensor>{x});
    return std::vector<Tensor>{back.value, back(ones(back.value.shape(), t))[0]};
  };
  const Tensor x = coarse({3, kMany, 3});
  const std::vector<Tensor> whole = run(x);
  for (const auto& [from, count] : {std::pair<int64_t, int64_t>{0, 1}, {7, 3}, {64, 13}, {149, 1}}) {
    const auto some = slice(from, from + count);
    const std::vector<Tensor> alone = run(x(_, some).eval());
    BOOST_TEST(all(alone[0] == whole[0](_, some)).item<bool>());
    BOOST_TEST(max(abs(alone[1] - whole[1](_, some))).item<double>() <= (t == float32 ? 1e-5 : 1e-13));
  }
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

// How many sequences a tile, a thread or a piece of the batch has changes no bit.
BOOST_DATA_TEST_CASE(a_sequence_knows_nothing_of_its_batch, boost::unit_test::data::make(kCases), c) {
  for (const DType t : {float32, float64}) alone_and_in_a_batch(c, t);
}

BOOST_AUTO_TEST_SUITE_END()
