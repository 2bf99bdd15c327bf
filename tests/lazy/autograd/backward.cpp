// Tests backward(): what gradients add up to, what is kept for them and for how long, parameters, checkpoints
// and functions with derivatives of their own.
#include <optional>
#include <thread>
#include <utility>

#include "lazy/core/record.hpp"
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;

namespace {

/// True if nothing in the process is differentiated by any more.
bool nobody_derives() { return detail::observers.load() == 0; }

}  // namespace

BOOST_AUTO_TEST_SUITE(backward)

BOOST_AUTO_TEST_CASE(gradients_add_up) {
  Tensor w = tensor({1.0, 2.0, 3.0});
  BOOST_TEST(!w.requires_grad());
  w.requires_grad_();
  BOOST_TEST(w.requires_grad());
  BOOST_TEST(!w.grad().defined());
  sum(w * w).backward();
  check::equal(w.grad(), float32, {3}, {2, 4, 6});
  sum(w * 3).backward();
  check::equal(w.grad(), float32, {3}, {5, 7, 9});
  w.zero_grad();
  BOOST_TEST(!w.grad().defined());
  const Tensor same = w;  // the same variable's value
  (w * same).backward(tensor({1.0, 0.0, 2.0}));
  check::equal(w.grad(), float32, {3}, {2, 0, 12});
  check::equal(same.grad(), float32, {3}, {2, 0, 12});
  // No gradient, which is not the same as zeros: the value does not depend on it.
  Tensor other = ones({2});
  other.requires_grad_();
  sum(w).backward();
  BOOST_TEST(!other.grad().defined());
  sum(w.detach() * other(0)).backward();
  check::equal(other.grad(), float32, {2}, {6, 0});
}

BOOST_AUTO_TEST_CASE(updates_stay_leaves) {
  Tensor w = tensor({1.0, 2.0});
  w.requires_grad_();
  for (int i = 0; i < 3; ++i) {
    sum(w * w).backward();
    const no_grad scope;
    w -= 0.25 * w.grad();
    w.zero_grad();
  }
  check::equal(w, float32, {2}, {0.125, 0.25});
  {
    const no_grad scope;
    w(0) = 4;
    w(w > 3) += 1;
    BOOST_TEST(w.requires_grad());
    BOOST_TEST(!(w * 2).requires_grad());
    const enable_grad within;
    BOOST_TEST((w * 2).requires_grad());
  }
  sum(w * w).backward();
  check::equal(w.grad(), float32, {2}, {10, 0.5});
  THROWS(Error, w += 1,
         "+=: the value requires a gradient and would be updated in place: do it in a scope with a no_grad");
  THROWS(
      Error, w(0) = 1,
      "assign: the value requires a gradient and would be updated in place: do it in a scope with a no_grad");
  check::equal(w, float32, {2}, {5, 0.25});
  // The values that were read of the old one stay as they were.
  const Tensor y = sum(w * w * w);
  {
    const no_grad scope;
    w *= 0;
  }
  w.zero_grad();
  y.backward();
  check::equal(w.grad(), float32, {2}, {75, 0.1875});
  w.requires_grad_(false);
  w += 1;
  BOOST_TEST(!w.requires_grad());
}

BOOST_AUTO_TEST_CASE(what_is_given_up) {
  Tensor w = tensor({1.0, 2.0});
  w.requires_grad_();
  const Tensor trunk = exp(w), one = sum(trunk), two = sum(trunk * trunk);
  one.backward({}, true);
  one.backward();
  check::close(w.grad(), {2 * std::exp(1.0), 2 * std::exp(2.0)}, 1e-6);
  const std::string again = " was given up by an earlier backward(): pass it retain_graph";
  BOOST_CHECK_EXCEPTION(one.backward(), Error, [&](const Error& e) {
    return std::string(e.what()).find(again) != std::string::npos;
  });
  BOOST_CHECK_THROW(two.backward(), Error);  // through the trunk
  BOOST_TEST(!(one + 1).requires_grad());    // a running total of losses keeps nothing
  THROWS(Error, ones({1}).backward(),
         "backward: the value does not depend on anything that requires a gradient: requires_grad_() marks "
         "what does");
  THROWS(ShapeError, (w * 2).backward(),
         "backward: a value of shape [2] needs a gradient to begin with: give one, or make one number of it "
         "first, by sum() or mean()");
  THROWS(ShapeError, (w * 2).backward(ones({3})),
         "backward: a gradient of [3], float32 for a value of [2], float32");
  Tensor integers = arange(3);
  THROWS(DtypeError, integers.requires_grad_(),
         "requires_grad_: a value of int64: gradients are of floating point");
  Tensor computed = w * 2;
  BOOST_CHECK_THROW(computed.requires_grad_(), Error);
}

BOOST_AUTO_TEST_CASE(higher_orders) {
  Tensor a = tensor(2.0, float64);
  a.requires_grad_();
  (a * a * a * a).backward({}, false, true);
  const Tensor first = a.grad();
  BOOST_TEST(first.item<double>() == 32.0);
  a.zero_grad();
  first.backward({}, false, true);
  const Tensor second = a.grad();
  BOOST_TEST(second.item<double>() == 48.0);
  a.zero_grad();
  second.backward();
  BOOST_TEST(a.grad().item<double>() == 48.0);
  // A penalty on a gradient, which is a function's own.
  a.zero_grad();
  const Tensor x = tensor({1.0, 2.0}, float64);
  const Tensor slope = grad([&](const Tensor& t) { return sum(t * t * a); })(x);
  sum(slope * slope).backward();
  BOOST_TEST(a.grad().item<double>() == 2 * 2.0 * 4 * (1 + 4));
}

BOOST_AUTO_TEST_CASE(directions) {
  std::mt19937 random(3);
  const Tensor x = check::random_values(random, {4}, -1, 1), v = check::random_values(random, {4}, -1, 1),
               a = check::random_values(random, {3, 4}, -1, 1);
  const TensorFunction f = [&](const std::vector<Tensor>& t) { return tanh(matmul(a, t[0])); };
  const auto [y, along] = jvp(f, {x}, {v});
  check::same(y, f({x}));
  const Tensor slope = 1 - square(tanh(matmul(a, x)));
  check::close(along, (slope * matmul(a, v)).to_vector<double>(), 1e-12);
  // No more kernels than the value and its derivative take: nothing is left of the way back.
  const Explanation e = explain([&] {
    const auto [value, tangent] = jvp(f, {x}, {v});
    eval(value, tangent);
  });
  BOOST_REQUIRE_EQUAL(e.flushes.size(), 1u);
  BOOST_TEST(e.flushes[0].kernels <= 3u);
  const auto [total, product] =
      hessian_vector([&](const std::vector<Tensor>& t) { return sum(exp(t[0] * t[1])); }, {x, x}, {v, v * 0});
  BOOST_TEST(std::abs(total.item<double>() - sum(exp(x * x)).item<double>()) < 1e-12);
  check::close(product[0], (x * x * exp(x * x) * v).to_vector<double>(), 1e-12);
  check::close(product[1], ((1 + x * x) * exp(x * x) * v).to_vector<double>(), 1e-12);
  BOOST_CHECK_THROW(jvp(f, {x}, {ones({3})}), ShapeError);
}

BOOST_AUTO_TEST_CASE(parameters) {
  std::vector<Parameter> all;
  all.emplace_back(tensor({1.0, 2.0}));
  const ParameterRef first = all[0].ref();
  for (int i = 0; i < 20; ++i) all.emplace_back(ones({1}));
  BOOST_TEST(first.get() == &all[0]);
  sum(all[0] * 3).backward();
  check::equal(first->grad(), float32, {2}, {3, 3});
  // A copy is another parameter with the same value.
  Parameter copy(all[0]);
  sum(copy * copy).backward();
  check::equal(copy.grad(), float32, {2}, {2, 4});
  check::equal(all[0].grad(), float32, {2}, {3, 3});
  *first = *first * 2;  // detached
  check::equal(all[0], float32, {2}, {2, 4});
  check::equal(copy, float32, {2}, {1, 2});
  check::equal(all[0].grad(), float32, {2}, {3, 3});
  BOOST_TEST(all[0].requires_grad());
  copy = all[0];
  check::equal(copy, float32, {2}, {2, 4});
  check::equal(copy.grad(), float32, {2}, {2, 4});
  THROWS(ShapeError, all[0] = ones({3}), "Parameter: a value of shape [3] for one of [2]");
  THROWS(DtypeError, all[0] = ones({2}, float64), "Parameter: a value of float64 for one of float32");
  THROWS(ShapeError, all[0].set_grad(ones({3})),
         "set_grad: a gradient of [3], float32 for a parameter of [2], float32");
  all[0].reset(ones({3}, float64));
  BOOST_TEST(!all[0].grad().defined());
  BOOST_TEST(all[0].requires_grad());
  // Frozen ones are values like others.
  copy.requires_grad_(false);
  BOOST_TEST(!(copy * 2).requires_grad());
  copy += 1;
  check::equal(copy, float32, {2}, {3, 5});
  all.clear();
  BOOST_TEST(first.get() == nullptr);
  Parameter none;
  BOOST_TEST(!none.defined());
  const Parameter copied(none);
  BOOST_TEST(!copied.defined());
  BOOST_CHECK_THROW(none + 1, Error);
  BOOST_CHECK_THROW(Parameter(arange(3)), DtypeError);
  // A value that somebody else has stays somebody else's.
  const Tensor shared = ones({2});
  Parameter p = shared, q = shared;
  BOOST_TEST(!shared.requires_grad());
  sum(p * 2 + q).backward();
  check::equal(p.grad(), float32, {2}, {2, 2});
  check::equal(q.grad(), float32, {2}, {1, 1});
}

BOOST_AUTO_TEST_CASE(hooks) {
  Tensor w = tensor({1.0, 2.0});
  w.requires_grad_();
  std::vector<double> seen;
  Tensor h = w * 2;
  register_hook(h, [&](const Tensor& g) { return g * 10; });
  register_hook(w, [&](const Tensor& g) {
    seen = g.to_vector<double>();
    return Tensor();
  });
  sum(h * h).backward();
  BOOST_TEST(seen == (std::vector<double>{80, 160}), boost::test_tools::per_element());
  check::equal(w.grad(), float32, {2}, {80, 160});
  THROWS(Error, register_hook(ones({1}), {}), "register_hook: the value does not require a gradient");
}

BOOST_AUTO_TEST_CASE(checkpoints) {
  Parameter p = tensor({2.0, 3.0}), q = tensor({5.0, 7.0});
  const Tensor x = tensor({0.1, 0.2});
  const auto block = [&](const std::vector<Tensor>& t) { return tanh(t[0] * p) * q; };
  sum(block({x * q})).backward();
  const std::vector<double> dp = p.grad().to_vector<double>(), dq = q.grad().to_vector<double>();
  p.zero_grad(), q.zero_grad();
  int calls = 0;
  const Tensor y = sum(checkpoint(
      [&](const std::vector<Tensor>& t) {
        ++calls;
        return block(t);
      },
      {x * q}));
  y.backward();
  BOOST_TEST(calls == 2);
  BOOST_TEST(p.grad().to_vector<double>() == dp, boost::test_tools::per_element());
  BOOST_TEST(q.grad().to_vector<double>() == dq, boost::test_tools::per_element());
  // The numbers are drawn again, and once more for the derivative.
  const Tensor v = tensor({1.0, 2.0, 3.0, 4.0}, float64);
  const auto noisy = [](const std::vector<Tensor>& t) { return dropout(sin(t[0]), 0.5); };
  const auto cubed = [&](const Tensor& a) { return sum(power(checkpoint(noisy, {a * a}), 3)); };
  const auto plain = [&](const Tensor& a) { return sum(power(noisy({a * a}), 3)); };
  manual_seed(5);
  const Tensor second = grad([&](const Tensor& a) { return sum(grad(cubed)(a)); })(v);
  manual_seed(5);
  const Tensor expected = grad([&](const Tensor& a) { return sum(grad(plain)(a)); })(v);
  check::close(second, expected.to_vector<double>(), 1e-12);
  // Nothing depends on it: the function's value.
  check::equal(checkpoint([](const std::vector<Tensor>& t) { return t[0] + 1; }, {ones({2})}), float32, {2},
               {2, 2});
}

// A chain of blocks keeps the blocks' inputs only: memory grows by one value a block.
// As of vjp() and jvp(): functions of a tensor, of a structure of tensors, and modules.
BOOST_AUTO_TEST_CASE(checkpoints_of_one_tensor) {
  struct Layer {
    Parameter w = tensor({2.0, 3.0});
    Tensor operator()(const Tensor& x) const { return tanh(x * w); }
    std::vector<ParameterRef> parameters() { return {}; }
  } layer;
  Tensor x = tensor({0.1, 0.2});
  x.requires_grad_();
  const auto gradients = [&](auto&& value) {
    layer.w.zero_grad(), x.zero_grad();
    sum(square(value())).backward();
    auto all = layer.w.grad().to_vector<double>();
    for (const double v : x.grad().to_vector<double>()) all.push_back(v);
    return all;
  };
  const auto f = [&](const Tensor& t) { return layer(t); };
  const auto expected = gradients([&] { return layer(x); });
  const auto same = [&](const std::vector<double>& got) {
    BOOST_TEST(got == expected, boost::test_tools::per_element());
  };
  same(gradients([&] { return checkpoint(f, x); }));
  same(gradients([&] { return checkpoint(layer, x); }));
  const auto of_pair = [&](const std::tuple<Tensor, Tensor>& t) {
    return tanh(std::get<0>(t) * std::get<1>(t));
  };
  const auto product = [&](const Tensor& t) { return sum(square(t)); };
  const std::tuple<Tensor, Tensor> pair(tensor({0.1, 0.2}), tensor({2.0, 3.0}));
  const auto by_pair = grad([&](const Tensor& t) {
    return product(checkpoint(of_pair, std::tuple(t, std::get<1>(pair))));
  })(std::get<0>(pair));
  const auto plain = grad(
      [&](const Tensor& t) { return product(of_pair(std::tuple(t, std::get<1>(pair)))); })(std::get<0>(pair));
  BOOST_TEST(by_pair.to_vector<double>() == plain.to_vector<double>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(checkpoints_save_memory) {
  const auto peak = [](bool checked) {
    Parameter w = ones({64, 64}) * 0.01;
    Tensor x = ones({2048, 64});
    eval(w, x);
    const auto block = [&](const std::vector<Tensor>& t) {
      Tensor h = t[0];
      for (int i = 0; i < 4; ++i) h = tanh(matmul(h, w));
      return h;
    };
    reset_metrics();
    const uint64_t before = metrics().bytes_live;
    Tensor h = x;
    for (int i = 0; i < 6; ++i) h = checked ? checkpoint(block, {h}) : block({h});
    sum(h).backward();
    h = Tensor();
    w.grad().eval();
    return metrics().bytes_peak - before;
  };
  const uint64_t kept = peak(false), computed_again = peak(true);
  BOOST_TEST_MESSAGE(kept << " bytes, with checkpoints " << computed_again);
  BOOST_TEST(computed_again < kept * 0.6);
}

// Values of steps that are joined: each takes its part of one gradient, which nothing copies for each step.
BOOST_AUTO_TEST_CASE(the_gradient_of_joined_values_is_in_memory_once) {
  Parameter w = (asarray(std::vector<float>(64 * 64, 0.01f)).reshape({64, 64})).eval();
  const auto peak = [&](int steps) {
    w.zero_grad();
    reset_metrics();
    const uint64_t before = metrics().bytes_live;
    Tensor h = zeros({16, 64});
    std::vector<Tensor> all;
    for (int i = 0; i < steps; ++i) all.push_back(expand_dims(h = tanh(matmul(h, w) + 1), 0));
    h = Tensor();
    const Tensor y = concat(all, 0);
    all.clear();
    sum(y * y).backward();
    w.grad().eval();
    return metrics().bytes_peak - before;
  };
  const uint64_t few = peak(16), many = peak(64);
  BOOST_TEST_MESSAGE(few << " bytes for 16 steps, " << many << " for 64");
  BOOST_TEST(many < few * 6);
}

BOOST_AUTO_TEST_CASE(own_derivatives) {
  Parameter w = tensor({1.0, 2.0});
  const BackwardFunction tenfold = [](const std::vector<Tensor>& x, const Tensor& y, const Tensor& g) {
    return std::vector<Tensor>{g * y * 10 + x[0] * 0};
  };
  const TensorFunction f = [](const std::vector<Tensor>& x) { return exp(x[0]); };
  sum(custom_function(f, tenfold, {w})).backward();
  check::close(w.grad(), {10 * std::exp(1.0), 10 * std::exp(2.0)}, 1e-5);
  // The identity with a gradient of its own; straight through a rounding.
  w.zero_grad();
  const auto same = [](const std::vector<Tensor>& x) { return x[0]; };
  const auto reversed = [](const auto&, const Tensor&, const Tensor& g) { return std::vector<Tensor>{-g}; };
  sum(custom_function(same, reversed, {w})).backward();
  check::equal(w.grad(), float32, {2}, {-1, -1});
  const auto none = [](const auto&, const Tensor&, const Tensor&) { return std::vector<Tensor>{}; };
  const Tensor y = sum(custom_function(same, none, {w}));
  BOOST_CHECK_THROW(y.backward(), Error);
}

// Nothing is left of what nobody can differentiate any more.
BOOST_AUTO_TEST_CASE(nothing_is_left) {
  {
    Parameter w = ones({3});
    BOOST_TEST(!nobody_derives());
    Tensor total = zeros({});
    for (int i = 0; i < 3; ++i) {
      Tensor loss = sum(exp(w));
      total += loss;  // before backward: depends on w
      loss.backward({}, true);
    }
    total.backward();
  }
  BOOST_TEST(nobody_derives());
  {
    const auto [value, g] = value_and_grad([](const Tensor& x) { return sum(x * x); })(ones({2}));
    BOOST_TEST(!value.requires_grad());
    BOOST_TEST(!g.requires_grad());
  }
  BOOST_TEST(nobody_derives());
}

// A long chain of derivations is neither gone through nor given up recursively.
BOOST_AUTO_TEST_CASE(long_chains) {
  Parameter w = ones({1}, float64);
  Tensor y = w;
  for (int i = 0; i < 100000; ++i) y = y * 1.0000001;
  Tensor dropped = y * 2;
  dropped = Tensor();
  y.backward();
  BOOST_TEST(std::abs(w.grad().item<double>() - std::pow(1.0000001, 100000)) < 1e-6);
  Tensor again = w;
  for (int i = 0; i < 100000; ++i) again = again + 1;
  again = Tensor();  // destroyed unread
}

// Threads differentiate by the same parameter, each its own value.
BOOST_AUTO_TEST_CASE(backward_within_a_hook) {
  for (const bool retain : {false, true}) {
    Tensor w = ones({5});
    w.requires_grad_();
    const Tensor h = w * 3.0f, y = sum(h * h);
    int depth = 0;
    register_hook(h, [&](const Tensor& g) {
      if (depth++ == 0) y.backward({}, retain);
      return g;
    });
    y.backward({}, retain);
    BOOST_TEST(w.grad().to_vector<float>() == std::vector<float>(5, 36));
  }
}

BOOST_AUTO_TEST_CASE(threads) {
  const Tensor w = ones({64}).eval();
  std::vector<double> sums(4);
  std::vector<std::thread> all;
  for (size_t t = 0; t < sums.size(); ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        Parameter p = w;
        sum(p * p * static_cast<double>(t + 1)).backward();
        sums[t] = sum(p.grad()).item<double>();
      }
    });
  for (std::thread& t : all) t.join();
  for (size_t t = 0; t < sums.size(); ++t) BOOST_TEST(sums[t] == 128.0 * static_cast<double>(t + 1));
}

// Forward, backward and update are one flush; rates change, sizes change, nothing is compiled.
BOOST_AUTO_TEST_CASE(training) {
  std::mt19937 random(1);
  Parameter w1 = check::random_values(random, {8, 16}, -1, 1), b1 = zeros({16}, float64),
            w2 = check::random_values(random, {16, 1}, -1, 1);
  Parameter* const all[] = {&w1, &b1, &w2};
  const Tensor x = check::random_values(random, {40, 8}, -1, 1), y = sin(sum(x, {1}, keepdims));
  eval(w1, b1, w2, x, y);
  double first = 0, last = 0;
  uint64_t misses = 0;
  for (int i = 0; i < 60; ++i) {
    const uint64_t flushes = metrics().flushes;
    const int64_t n = 40 - 3 * (i % 2);
    Tensor loss = mse_loss(matmul(tanh(matmul(x(slice(0, n)), w1) + b1), w2), y(slice(0, n)));
    loss.backward();
    {
      const no_grad scope;
      for (Parameter* p : all) {
        *p -= 0.2 / (1 + 0.01 * i) * p->grad();
        p->zero_grad();
      }
    }
    last = loss.item<double>();
    eval(w1, b1, w2);
    BOOST_TEST(metrics().flushes == flushes + 1);
    if (i == 0) first = last;
    if (i == 3) misses = metrics().program_misses;
  }
  BOOST_TEST(metrics().program_misses == misses);
  BOOST_TEST(last < 0.2 * first);
}

// A program that looks at the loss before backward() stores what the rules read, at first also what they
// never do; after a few steps no more than that.
BOOST_AUTO_TEST_CASE(a_look_in_between) {
  const auto peaks = [](bool look) {
    Parameter w = rand({64, 64}) - 0.5, v = rand({64, 64}) - 0.5;
    const Tensor x = rand({4096, 64});
    eval(w, v, x);
    std::vector<uint64_t> all;
    for (int i = 0; i < 12; ++i) {
      reset_metrics();
      const uint64_t before = metrics().bytes_live;
      Tensor h = gelu(matmul(x, w) + 0.1);
      h = tanh(h) * sigmoid(h) + h;
      Tensor loss = mean(square(gelu(matmul(h, v))));
      h = Tensor();
      if (look) (void)loss.item<float>();
      loss.backward();
      {
        const no_grad scope;
        for (Parameter* p : {&w, &v}) {
          *p -= 0.1 * p->grad();
          p->zero_grad();
        }
      }
      eval(w, v, loss);
      BOOST_TEST(metrics().flushes == (look ? 2u : 1u));
      if (i > 5) BOOST_TEST(metrics().program_misses == 0u);
      all.push_back(metrics().bytes_peak - before);
    }
    return all;
  };
  const std::vector<uint64_t> one = peaks(false), two = peaks(true);
  BOOST_TEST_MESSAGE("one flush " << one.back() << " bytes, two " << two.front() << ", then " << two.back());
  BOOST_TEST(two.back() < two.front());
  BOOST_TEST(two.back() < 1.5 * static_cast<double>(one.back()));
}

BOOST_AUTO_TEST_SUITE_END()
