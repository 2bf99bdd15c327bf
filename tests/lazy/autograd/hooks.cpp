// Tests when hooks of marked values are called, and what stands then.
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(hooks_of_leaves)

using Calls = std::vector<std::string>;

/// Notes each call of a hook of x, and x.grad() in those after the sum.
void note(Calls& calls, const Tensor& x, const std::string& name) {
  register_hook(x, [&calls, name](const Tensor&) {
    calls.push_back(name);
    return Tensor();
  });
  register_post_accumulate_grad_hook(
      x, [&calls, name](const Tensor& t) { calls.push_back(name + "=" + to_string(t.grad())); });
}

BOOST_AUTO_TEST_CASE(backward_order) {
  Parameter a = tensor({2.0}), b = tensor({3.0}), c = tensor({5.0});
  Calls calls;
  const Tensor x = a * 7.0, y = x * b, z = y + c;
  const auto passes = [&](const Tensor& t, const std::string& name) {
    register_hook(t, [&calls, name](const Tensor&) {
      calls.push_back(name);
      return Tensor();
    });
  };
  passes(x, "x"), passes(y, "y"), passes(z, "z");
  note(calls, a, "a"), note(calls, b, "b"), note(calls, c, "c");
  register_post_accumulate_grad_hook(c, [&](const Tensor&) {
    BOOST_TEST(!a.grad().defined());
    BOOST_TEST(!b.grad().defined());
  });
  register_post_accumulate_grad_hook(b, [&](const Tensor&) {
    BOOST_TEST(c.grad().defined());
    BOOST_TEST(!a.grad().defined());
  });
  z.backward();
  const Calls expected{"z", "c", "c=[1.]", "y", "b", "b=[14.]", "x", "a", "a=[21.]"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
}

// A value that is read early and late is ready after the last of its terms, and told of once.
BOOST_AUTO_TEST_CASE(several_terms) {
  Parameter early = tensor({2.0}), both = tensor({3.0}), late = tensor({5.0});
  Calls calls;
  note(calls, early, "early"), note(calls, both, "both"), note(calls, late, "late");
  Tensor y = early * both;
  y = y * both(slice(0, 1));
  y = y * late;
  y = y + both;
  sum(y).backward();
  Calls expected{"late", "late=[18.]", "early", "early=[45.]", "both", "both=[61.]"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
  // Operands of one op are ready in their order.
  calls.clear();
  sum(late * early).backward();
  expected = {"late", "late=[20.]", "early", "early=[50.]"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
}

// A derivation that no gradient comes to is gone past all the same.
BOOST_AUTO_TEST_CASE(no_term) {
  Parameter w = tensor({2.5}), v = tensor({1.0});
  Calls calls;
  note(calls, w, "w"), note(calls, v, "v");
  const Tensor h = floor(w * 2.0) * v;
  sum(h + w * 0.0).backward();
  const Calls expected{"v", "v=[5.]", "w", "w=[0.]"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
  w.zero_grad(), v.zero_grad(), calls.clear();
  sum(floor(w)).backward();
  BOOST_TEST(calls == Calls{"w=[0.]"}, boost::test_tools::per_element());
  w.set_grad(tensor({4.0}));
  sum(floor(w)).backward();
  BOOST_TEST(calls.back() == "w=[4.]");
}

BOOST_AUTO_TEST_CASE(the_value_itself) {
  Tensor w = tensor(3.0);
  w.requires_grad_();
  Calls calls;
  note(calls, w, "w");
  w.backward();
  w.backward(tensor(2.0));
  const Calls expected{"w", "w=1.0", "w", "w=3.0"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
}

// The first kind sees the gradient of a pass before it is added, the second the sum.
BOOST_AUTO_TEST_CASE(two_passes) {
  Parameter w = tensor({1.0, 2.0});
  std::vector<std::vector<double>> seen, before, after;
  register_hook(w, [&](const Tensor& g) {
    seen.push_back(g.to_vector<double>());
    before.push_back(w.grad().defined() ? w.grad().to_vector<double>() : std::vector<double>());
    return g * 10;
  });
  register_hook(w, [&](const Tensor& g) { return g + 1; });
  register_post_accumulate_grad_hook(w, [&](const Tensor& x) {
    after.push_back(x.grad().to_vector<double>());
    BOOST_TEST(!is_grad_enabled());
  });
  const Tensor y = sum(w * w);
  y.backward({}, true);
  y.backward();
  BOOST_TEST((seen == std::vector<std::vector<double>>{{2, 4}, {2, 4}}));
  BOOST_TEST((before == std::vector<std::vector<double>>{{}, {21, 41}}));
  BOOST_TEST((after == std::vector<std::vector<double>>{{21, 41}, {42, 82}}));
}

BOOST_AUTO_TEST_CASE(create_graph) {
  Parameter w = tensor({3.0});
  Tensor first;
  register_post_accumulate_grad_hook(w, [&](const Tensor& x) {
    if (!first.defined()) first = x.grad();
    BOOST_TEST(is_grad_enabled());
  });
  sum(w * w * w).backward({}, false, true);
  check::equal(first.detach(), float32, {1}, {27});
  w.zero_grad();
  sum(first).backward({}, false, true);
  check::equal(w.grad().detach(), float32, {1}, {18});
}

// Gradients of functions are nobody's: the sum is not added to, but what goes through a value is seen.
BOOST_AUTO_TEST_CASE(gradients_of_functions) {
  Parameter w = tensor({3.0});
  Calls calls;
  note(calls, w, "w");
  const auto f = [&](const Tensor& x) { return sum(x * w); };
  check::equal(grad(f)(tensor({2.0})).detach(), float32, {1}, {3});
  check::equal(grad(f)(w).detach(), float32, {1}, {3});
  BOOST_TEST(calls.empty());
  const Tensor y = checkpoint([&](const std::vector<Tensor>& x) { return x[0] * w * w; }, {tensor({2.0})});
  sum(y * w).backward();
  const Calls expected{"w", "w=[54.]"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
}

// A variable that is updated between two reads has one gradient.
BOOST_AUTO_TEST_CASE(two_values_of_one_variable) {
  Tensor w = tensor({3.0});
  w.requires_grad_();
  Calls calls;
  note(calls, w, "w");
  Tensor y = w * 2.0;
  {
    const no_grad scope;
    w += 1;
  }
  y = y * w;
  sum(y).backward();
  const Calls expected{"w", "w=[14.]"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(backward_within) {
  Parameter w = tensor({3.0}), v = tensor({2.0});
  int depth = 0;
  const Tensor y = sum(w * v * w);
  register_post_accumulate_grad_hook(w, [&](const Tensor&) {
    if (depth++ > 0) return;
    y.backward();  // the same once more
    const enable_grad scope;
    sum(square(v)).backward();  // something else
  });
  y.backward();
  check::equal(w.grad(), float32, {1}, {24});
  check::equal(v.grad(), float32, {1}, {22});
  BOOST_TEST(depth == 2);
}

// What a hook was told of stays; the rest is as it was, and the pass can be begun again.
BOOST_AUTO_TEST_CASE(a_hook_that_throws) {
  Parameter a = tensor({2.0}), b = tensor({3.0}), c = tensor({5.0}), d = tensor({7.0});
  for (Parameter* p : {&a, &b, &c, &d}) p->set_grad(tensor({100.0}));
  bool fails = true;
  int told = 0;
  register_post_accumulate_grad_hook(d, [&](const Tensor&) { ++told; });
  register_post_accumulate_grad_hook(b, [&](const Tensor&) {
    if (fails) throw std::runtime_error("no more");
  });
  const Tensor y = a * b * c * d;
  const auto gradients = [&] {
    std::vector<double> all;
    for (const Parameter* p : {&a, &b, &c, &d}) all.push_back(p->grad().item<double>());
    return all;
  };
  BOOST_CHECK_EXCEPTION(y.backward(), std::runtime_error,
                        [](const std::exception& e) { return std::string(e.what()) == "no more"; });
  BOOST_TEST((gradients() == std::vector<double>{100, 170, 100, 130}));
  BOOST_TEST(is_grad_enabled());
  fails = false;
  for (Parameter* p : {&a, &b, &c, &d}) p->zero_grad();
  y.backward();
  BOOST_TEST((gradients() == std::vector<double>{105, 70, 42, 30}));
  BOOST_TEST(told == 2);
  BOOST_CHECK_THROW(y.backward(), Error);  // given up now
  // The first kind: nothing was told of anything but d.
  for (Parameter* p : {&a, &b, &c, &d}) p->zero_grad();
  register_hook(b, [](const Tensor&) -> Tensor { throw std::runtime_error("no more"); });
  BOOST_CHECK_THROW((a * b * c * d).backward(), std::runtime_error);
  BOOST_TEST(!a.grad().defined());
  BOOST_TEST(!b.grad().defined());
  BOOST_TEST(!c.grad().defined());
  check::equal(d.grad(), float32, {1}, {30});
}

// A hook may register others, which are called from the next pass on, and end the mark.
BOOST_AUTO_TEST_CASE(hooks_that_change_the_value) {
  Parameter w = tensor({3.0});
  int first = 0, later = 0;
  register_post_accumulate_grad_hook(w, [&](const Tensor&) {
    ++first;
    for (int i = 0; i < 10; ++i) register_post_accumulate_grad_hook(w, [&](const Tensor&) { ++later; });
  });
  register_hook(w, [&](const Tensor& g) {
    for (int i = 0; i < 10; ++i) register_hook(w, [&](const Tensor&) { return ++later, Tensor(); });
    return g;
  });
  sum(w * w).backward();
  BOOST_TEST(first == 1);
  BOOST_TEST(later == 0);
  sum(w * w).backward();
  BOOST_TEST(later == 20);

  Parameter once = tensor({3.0});
  register_post_accumulate_grad_hook(once, [&](const Tensor&) { once.requires_grad_(false); });
  sum(once * once).backward();
  BOOST_TEST(!once.requires_grad());
  // Hooks follow what a parameter is moved to, and a copy has none.
  int calls = 0;
  Parameter p = tensor({3.0});
  register_post_accumulate_grad_hook(p, [&](const Tensor&) { ++calls; });
  Parameter moved = std::move(p);
  const Parameter copied(moved);
  sum(moved * copied).backward();
  BOOST_TEST(calls == 1);
}

// Each weight is stepped, and its gradient given back, while the pass goes on: the losses are those of steps
// after it.
BOOST_AUTO_TEST_CASE(an_optimizer_in_the_pass) {
  const auto losses = [](bool within, bool evaluates) {
    Parameter w1 = reshape(linspace(-1.0, 1.0, 12), {3, 4}), b1 = zeros({4}),
              w2 = reshape(linspace(1.0, -0.5, 8), {4, 2});
    Parameter* const all[] = {&w1, &b1, &w2};
    const auto step = [](Parameter& p) {
      const no_grad scope;
      p -= 0.1 * p.grad();
      p.zero_grad();
    };
    if (within)
      for (Parameter* p : all)
        register_post_accumulate_grad_hook(*p, [&, p](const Tensor&) {
          for (Parameter* other : all) BOOST_TEST((other == p || !other->grad().defined()));
          step(*p);
          if (evaluates) p->eval();
        });
    const Tensor x = reshape(linspace(0.0, 1.0, 15), {5, 3}), y = reshape(linspace(1.0, 2.0, 10), {5, 2});
    std::vector<double> seen;
    for (int i = 0; i < 10; ++i) {
      const Tensor loss = mse_loss(matmul(tanh(matmul(x, w1) + b1), w2), y);
      loss.backward();
      if (!within)
        for (Parameter* p : all) step(*p);
      for (Parameter* p : all) BOOST_TEST(!p->grad().defined());
      seen.push_back(loss.item<double>());
    }
    return seen;
  };
  const std::vector<double> after = losses(false, false);
  BOOST_TEST(after.back() < 0.5 * after.front());
  BOOST_TEST(losses(true, false) == after, boost::test_tools::per_element());
  BOOST_TEST(losses(true, true) == after, boost::test_tools::tolerance(1e-5)
                                              << boost::test_tools::per_element());
}

// Threads that go back to one value: its hook is called for each pass, and nothing is lost.
BOOST_AUTO_TEST_CASE(from_threads) {
  constexpr int kThreads = 4, kTimes = 50;
  Tensor w = full({8}, 2.0, float64).eval();
  w.requires_grad_();
  std::atomic<int> seen = 0, told = 0;
  register_hook(w, [&](const Tensor&) { return ++seen, Tensor(); });
  register_post_accumulate_grad_hook(w, [&](const Tensor& x) { told += x.grad().defined(); });
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; ++t)
    all.emplace_back([&] {
      for (int k = 0; k < kTimes; ++k) sum(w * 3.0).backward();
    });
  for (std::thread& t : all) t.join();
  BOOST_TEST(seen == kThreads * kTimes);
  BOOST_TEST(told == kThreads * kTimes);
  BOOST_TEST(w.grad()(5).item<double>() == 3.0 * kThreads * kTimes);
}

BOOST_AUTO_TEST_CASE(errors) {
  const Parameter w = tensor({3.0});
  THROWS(Error, register_post_accumulate_grad_hook(ones({1}), {}),
         "register_post_accumulate_grad_hook: the value does not require a gradient");
  THROWS(Error, register_post_accumulate_grad_hook(w * 2.0, {}),
         "register_post_accumulate_grad_hook: the value is computed from others: only a marked one has a "
         "gradient");
}

BOOST_AUTO_TEST_SUITE_END()
