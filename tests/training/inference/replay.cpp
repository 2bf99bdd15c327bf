// Tests replays: what a function recorded runs again with other values, and gives what recording gives, to
// the bit.
#include "lazy/inference/replay.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <new>
#include <sstream>
#include <thread>

#include "jit/flush/flush.hpp"
#include "lazy/autograd/gradient.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/training/models/cases.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor numbers(Shape shape, float factor = 1) {
  return (sin(arange(1, numel(shape) + 1, 1, float32)) * factor).reshape(shape).copy().eval();
}
std::vector<float> all_of(const Tensor& t) { return t.to_vector<float>(); }
uint64_t recorded() { return metrics().nodes_recorded; }
uint64_t replays() { return metrics().replays; }

/// Checks that the call throws Error at this line with that text.
template <class F>
void fails(F&& call, uint32_t line, const std::string& part) {
  test::fails_at<Error>("replay.cpp", line, part, call);
}

Tensor mlp(const Tensor& x, const Tensor& w, const Tensor& b) { return softmax(tanh(linear(x, w, b)), -1); }

}  // namespace

BOOST_AUTO_TEST_SUITE(replays_of_functions)

BOOST_AUTO_TEST_CASE(the_second_call_records_nothing) {
  const Tensor w = numbers({7, 5}), b = numbers({7});
  const auto step = replay([w, b](const Tensor& x) { return mlp(x, w, b); });
  const Tensor x = numbers({3, 5}), y = numbers({3, 5}, 0.3f);
  BOOST_TEST(all_of(step(x)) == all_of(mlp(x, w, b)), boost::test_tools::per_element());
  const uint64_t before = recorded(), flushes = metrics().flushes, hits = metrics().program_hits;
  const Tensor z = step(y);
  BOOST_TEST(recorded() == before);
  BOOST_TEST(metrics().flushes == flushes);
  BOOST_TEST(metrics().program_hits == hits);
  BOOST_TEST(z.handle().get() != nullptr);
  BOOST_TEST(all_of(z) == all_of(mlp(y, w, b)), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shapes_dtypes_and_strides_are_told_apart) {
  const auto f = [](const Tensor& x) { return sum(exp(x * 0.1f), {0}) + x; };
  const auto step = replay(f);
  const auto same = [&](const Tensor& x) {
    for (int i = 0; i < 3; ++i) BOOST_TEST(all_of(step(x)) == all_of(f(x)), boost::test_tools::per_element());
  };
  for (const int64_t n : {0, 1, 2, 7, 64, 1000}) same(numbers({n, 3}));
  const Tensor square = numbers({6, 6}), wide = numbers({12, 12});
  same(square);
  same(square.T());
  same(wide(slice(0, 12, 2), slice(1, 12, 2)));
  same(wide(slice(3, 9), slice(2, 8)));
  same(flip(square, 0).eval());
  same(broadcast_to(numbers({6}), {6, 6}));
  same(full({6, 6}, 2.0f));
  same((square + 1));  // pending
  same(square.astype(float16));
  const uint64_t before = recorded();
  step(square);
  step(square.astype(float16).eval());
  BOOST_TEST(recorded() - before == 1u);  // the cast
}

BOOST_AUTO_TEST_CASE(results_of_all_kinds) {
  const Tensor x = numbers({4, 5}), y = numbers({4, 5}, 2);
  const auto three = replay([](const Tensor& a, Tensor b) { return std::tuple(a + b, a, sum(b)); });
  const auto two = replay([](Arg a, const Tensor& b) { return std::pair(Tensor(a.handle()) * 2, b.T()); });
  const auto list = replay([](std::span<const Tensor> all) {
    std::vector<Tensor> r;
    for (const Tensor& t : all) r.push_back(t * t);
    r.push_back(r.front());
    r.push_back(full({2}, 3.0f));
    r.push_back(reshape(all[0], {20})(slice(3, 9)));
    return r;
  });
  const auto none = replay([] { return arange(0, 10, 1, float32) * 2; });
  for (int i = 0; i < 3; ++i) {
    const Tensor a = (x + static_cast<float>(i)).eval();
    const auto [s, same, total] = three(a, y);
    BOOST_TEST(all_of(s) == all_of(a + y));
    BOOST_TEST(all_of(same) == all_of(a));
    BOOST_TEST(total.item<float>() == sum(y).item<float>());
    const auto [twice, turned] = two(a, a);
    BOOST_TEST(all_of(twice) == all_of(a * 2));
    BOOST_TEST(all_of(turned) == all_of(a.T()));
    BOOST_TEST((turned.shape() == Shape{5, 4}));
    for (const size_t n : {1, 2, 3}) {
      const std::vector<Tensor> in(n, a);
      const std::vector<Tensor> out = list(in);
      BOOST_REQUIRE(out.size() == n + 3);
      for (size_t k = 0; k <= n; ++k) BOOST_TEST(all_of(out[k]) == all_of(a * a));
      BOOST_TEST(all_of(out[n + 1]) == std::vector<float>({3, 3}));
      BOOST_TEST(all_of(out[n + 2]) == all_of(reshape(a, {20})(slice(3, 9))));
    }
    BOOST_TEST(all_of(none()) == all_of(arange(0, 10, 1, float32) * 2));
  }
}

// Results are values like others: they outlive the replay, are updated, and later calls don't touch them.
BOOST_AUTO_TEST_CASE(results_are_the_callers) {
  std::vector<Tensor> results;
  std::vector<std::vector<float>> expected;
  {
    const auto step = replay([](const Tensor& x) { return cumsum(x, 0) * 2; });
    for (int i = 0; i < 5; ++i) {
      const Tensor x = numbers({300, 3}, static_cast<float>(i + 1));
      results.push_back(step(x));
      expected.push_back(all_of(cumsum(x, 0) * 2));
    }
  }
  for (size_t i = 0; i < 5; ++i) BOOST_TEST((all_of(results[i]) == expected[i]));
  Tensor first = std::move(results[0]);
  first = first * 3 + 1;
  BOOST_TEST(all_of(first)[0] == expected[0][0] * 3 + 1);
  const auto view = replay([](const Tensor& x) { return x.T(); });
  Tensor alias;
  {
    const Tensor x = numbers({3, 4});
    view(x);
    alias = view(x);
  }
  BOOST_TEST(all_of(alias) == all_of(numbers({3, 4}).T()));
}

BOOST_AUTO_TEST_CASE(parameters_are_what_they_are_at_each_call) {
  nn::Linear layer(6, 4);
  optim::SGD optimizer(layer.parameters(), {.lr = 0.1});
  const auto step = replay([&](const Tensor& x) { return relu(layer(x)); });
  const Tensor x = numbers({5, 6});
  uint64_t records = 1;
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = recorded();
    const Tensor y = step(x);
    // Of the other calls the parameters are pending: what they are computed from is expanded meanwhile.
    if (i == 2) records = recorded() - before;
    const no_grad scope;
    BOOST_TEST(all_of(y) == all_of(relu(layer(x))), boost::test_tools::per_element());
    {
      const enable_grad on;
      optimizer.zero_grad();
      sum(layer(x) * layer(x)).backward();
      optimizer.step();
    }
    if (i % 2) eval(layer.weight, layer.bias);  // else they are pending
  }
  BOOST_TEST(records == 0u);
  // A moved parameter is followed.
  nn::Linear moved(6, 4);
  const auto by_move = replay([&](const Tensor& v) { return linear(v, moved.weight); });
  by_move(x);
  moved.weight = numbers({4, 6});
  BOOST_TEST(all_of(by_move(x)) == all_of(linear(x, numbers({4, 6}))));
}

BOOST_AUTO_TEST_CASE(named_variables_are_what_they_are_at_each_call) {
  Tensor w = numbers({4, 6}), scale = full({}, 2.0f), bias = numbers({4});
  const auto f = [&](const Tensor& x) { return linear(x, w, bias) * scale; };
  const auto step = replay(f, w, scale, bias);
  const Tensor x = numbers({5, 6});
  const auto same = [&] { BOOST_TEST(all_of(step(x)) == all_of(f(x)), boost::test_tools::per_element()); };
  same();
  w = w * 2 + 1;
  same();
  Tensor old = bias;
  bias += 1.0f;
  same();
  scale = full({}, 3.0f);  // a constant is part of the graph
  same();
  scale = numbers({4});
  same();
  w = numbers({6, 4}).T();
  same();
  w = old = numbers({4, 6});
  same();
  BOOST_TEST(replays() > 0u);
}

// Two variables that have one value are told apart once they have two.
BOOST_AUTO_TEST_CASE(tied_variables) {
  Tensor a = numbers({3, 4}), b = a;
  const auto f = [&](const Tensor& x) { return x * a + b; };
  const auto step = replay(f, a, b);
  const Tensor x = numbers({3, 4});
  BOOST_TEST(all_of(step(x)) == all_of(f(x)));
  b = numbers({3, 4}, 3);
  BOOST_TEST(all_of(step(x)) == all_of(f(x)));
  a = b;
  BOOST_TEST(all_of(step(x)) == all_of(f(x)));
}

BOOST_AUTO_TEST_CASE(what_it_reads_must_be_known) {
  Tensor w = numbers({4, 6});
  const Tensor x = numbers({5, 6});
  const auto unnamed = replay([&](const Tensor& v) { return linear(v, w); });
  fails([&] { unnamed(x); }, __LINE__ - 1, "name the variable");
  std::vector<Tensor> list{w};
  const auto copied = replay([&](const Tensor& v) {
    const Tensor mine = list[0];
    return linear(v, mine);
  });
  fails([&] { copied(x); }, __LINE__ - 2, "name the variable");
  // A copy of a named variable, of which nobody else has the value, is that variable's.
  Tensor own = numbers({4, 6}, 2);
  const auto known = replay(
      [&](const Tensor& v) {
        const Tensor mine = own;
        return linear(v, mine);
      },
      own);
  BOOST_TEST(all_of(known(x)) == all_of(linear(x, own)));
  own = own + 1;
  BOOST_TEST(all_of(known(x)) == all_of(linear(x, own)));
  // Where others have its value too, that is so as long as nobody changes.
  Tensor other = own;
  own.eval();
  const auto doubtful = replay(
      [&](const Tensor& v) {
        const Tensor mine = own;
        return linear(v, mine) + 1;
      },
      own);
  const auto same = [&] { BOOST_TEST(all_of(doubtful(x)) == all_of(linear(x, own) + 1)); };
  for (int i = 0; i < 2; ++i) same();
  other = Tensor();
  same();
  own = own * 2;
  for (int i = 0; i < 2; ++i) same();
  // Tensors of numbers of the function's are constants.
  const auto literal = replay([](const Tensor& v) {
    return v * tensor({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}) + 2;
  });
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(all_of(literal(x)) == all_of(x * tensor({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}) + 2));
  std::vector<float> memory(6, 2.0f);
  const auto foreign = replay([&](const Tensor& v) {
    const Tensor blob = from_blob(memory.data(), {6});
    return v * blob;
  });
  fails([&] { foreign(x); }, __LINE__ - 2, "memory of its own");
}

BOOST_AUTO_TEST_CASE(no_value_is_read_in_between) {
  const Tensor x = numbers({5, 6});
  const auto reading = [&](auto read, uint32_t line, const char* cause) {
    const auto step = replay([&](const Tensor& v) {
      const Tensor h = exp(v);
      read(h, v);
      return h;
    });
    fails([&] { step(x); }, line, cause);
    fails([&] { step(x); }, line, "a replay reads no values");
  };
  reading([](auto& h, auto&) { (void)sum(h).template item<float>(); }, __LINE__, "item");
  reading([](auto& h, auto&) { (void)h.template to_vector<float>(); }, __LINE__, "to_vector");
  std::ostringstream out;
  reading([&](auto& h, auto&) { out << h; }, __LINE__, "print");
  reading([](auto& h, auto&) { h.eval(); }, __LINE__, "eval");
  reading([](auto&, auto& v) { (void)v.template to_vector<float>(); }, __LINE__, "to_vector");
  reading([](auto&, auto& v) { (void)v.template data<float>(); }, __LINE__, "data");
  const auto branches = replay([&](const Tensor& v) {
    if (max(v) > 0.5f) return v + 1;
    return v;
  });
  fails([&] { branches(x); }, __LINE__ - 3, "truth");
  const auto counted = replay([&](const Tensor& v) { return masked_select(v, v > 0); });
  fails([&] { counted(x); }, __LINE__ - 1, "count");
  // All goes on.
  BOOST_TEST(all_of(replay([](const Tensor& v) { return v + 1; })(x)) == all_of(x + 1));
}

BOOST_AUTO_TEST_CASE(nothing_outlives_the_call_but_its_results) {
  const Tensor x = numbers({5, 6});
  Tensor total = zeros({5, 6}).eval(), seen;
  const auto sums = replay(
      [&](const Tensor& v) {
        total += v;
        return v * 2;
      },
      total);
  fails([&] { sums(x); }, __LINE__ - 4, "held by something else");
  BOOST_TEST(all_of(total) == all_of(x));  // what it did is done
  const auto keeps = replay([&](const Tensor& v) {
    seen = exp(v);
    return seen * 2;
  });
  fails([&] { keeps(x); }, __LINE__ - 3, "held by something else");
  BOOST_TEST(all_of(seen) == all_of(exp(x)));
  const auto keeps_a_view = replay([&](const Tensor& v) {
    seen = v.T();
    return v * 2;
  });
  fails([&] { keeps_a_view(x); }, __LINE__ - 3, "held by something else");
  BOOST_TEST(all_of(seen) == all_of(x.T()));
  const auto keeps_a_constant = replay([&](const Tensor& v) {
    seen = zeros({2});
    return v * 2;
  });
  fails([&] { keeps_a_constant(x); }, __LINE__ - 3, "held by something else");
  nn::BatchNorm1d norm(6);
  const auto trains = replay([&](const Tensor& v) { return norm(v); }, norm);
  BOOST_CHECK_THROW(trains(x), Error);
  norm.eval();
  BOOST_TEST(all_of(trains(x)) == all_of(norm(x).detach()));
}

BOOST_AUTO_TEST_CASE(no_numbers_are_drawn) {
  const Tensor x = numbers({5, 6});
  const auto noisy = replay([](const Tensor& v) { return v + randn({5, 6}); });
  fails([&] { noisy(x); }, __LINE__ - 1, "same numbers");
  nn::Dropout drop(0.5);
  const auto drops = replay([&](const Tensor& v) { return drop(v); });
  BOOST_CHECK_THROW(drops(x), Error);
  drop.eval();
  BOOST_TEST(all_of(drops(x)) == all_of(x));
}

// train() and eval() are noticed, in modules that are not named, too.
BOOST_AUTO_TEST_CASE(modes_are_noticed) {
  nn::Sequential model{nn::Linear(6, 4), nn::BatchNorm1d(4)};
  const Tensor x = numbers({5, 6});
  model.eval();
  const auto step = replay([&](const Tensor& v) { return model(v); }, model);
  const auto here = [&] {
    const no_grad scope;
    return all_of(model(x));
  };
  for (int i = 0; i < 2; ++i) BOOST_TEST(all_of(step(x)) == here());
  model.train();
  BOOST_CHECK_THROW(step(x), Error);
  model.eval();
  BOOST_TEST(all_of(step(x)) == here());
}

BOOST_AUTO_TEST_CASE(gradients_do_not_go_through) {
  Tensor x = numbers({5, 6});
  x.requires_grad_();
  nn::Linear layer(6, 4);
  const auto step = replay([&](const Tensor& v) { return layer(v); });
  fails([&] { step(x); }, __LINE__, "requires one");
  {
    const no_grad scope;
    BOOST_TEST(!step(x).requires_grad());
  }
  BOOST_TEST(!step(x.detach()).requires_grad());
  // Gradients within the function are values like others.
  const auto slope = replay([](const Tensor& v) {
    const enable_grad on;
    return grad([](const Tensor& u) { return sum(u * u * u); })(v);
  });
  for (int i = 0; i < 2; ++i) {
    const Tensor v = numbers({4}, static_cast<float>(i + 1));
    BOOST_TEST(all_of(slope(v)) == all_of(grad([](const Tensor& u) { return sum(u * u * u); })(v)));
  }
}

BOOST_AUTO_TEST_CASE(indices_out_of_range) {
  const Tensor table = numbers({10, 3});
  const auto look = [table](const Tensor& at) { return take(table, at, 0) * 2; };
  const auto step = replay(look);
  const Tensor good = tensor({1, 2, 9}), bad = tensor({1, 10, 2});
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(all_of(step(good)) == all_of(look(good)));
    try {
      step(bad);
      BOOST_ERROR("nothing was thrown");
    } catch (const IndexError& e) {
      const std::string text = e.what();
      BOOST_TEST(text.find("index 10 is out of range") != text.npos, text);
      BOOST_TEST(text.find("replay.cpp:" + std::to_string(__LINE__ - 11)) != text.npos, text);
    }
  }
  BOOST_TEST(all_of(step(good)) == all_of(look(good)));
}

BOOST_AUTO_TEST_CASE(errors_of_the_function_are_the_functions) {
  const auto step = replay([](const Tensor& x, const Tensor& y) { return x + y; });
  BOOST_CHECK_THROW(step(numbers({3}), numbers({4})), ShapeError);
  BOOST_TEST(all_of(step(numbers({3}), numbers({3}))) == all_of(numbers({3}) * 2));
  const auto empty = replay([](const Tensor&) { return Tensor(); });
  BOOST_CHECK_THROW(empty(numbers({3})), Error);
  int calls = 0;
  const auto throws = replay([&](const Tensor& x) -> Tensor {
    if (++calls == 1) throw std::runtime_error("mine");
    return x + 1;
  });
  BOOST_CHECK_THROW(throws(numbers({3})), std::runtime_error);
  BOOST_TEST(all_of(throws(numbers({3}))) == all_of(numbers({3}) + 1));
}

BOOST_AUTO_TEST_CASE(settings) {
  const Tensor x = numbers({40, 6});
  const auto f = [](const Tensor& v) { return exp(v) * 2 + sum(v, {1}, keepdims); };
  const auto step = replay(f);
  for (const auto& [name, value] :
       {std::pair{"LAZY_EAGER", "1"}, std::pair{"LAZY_VERIFY", "1"}, std::pair{"LAZY_CHECK_NAN", "1"},
        std::pair{"LAZY_ACCURACY", "fast"}, std::pair{"LAZY_FP_CONTRACT", "1"},
        std::pair{"LAZY_DYNAMIC", "never"}, std::pair{"LAZY_NUM_THREADS", "1"},
        std::pair{"LAZY_KEEP_MB", "0"}, std::pair{"LAZY_MAX_GRAPH", "100"}}) {
    step(x);
    const Override setting(name, value);
    for (int i = 0; i < 2; ++i) BOOST_TEST(all_of(step(x)) == all_of(f(x)), boost::test_tools::per_element());
  }
  const accuracy_scope fast(Accuracy::fast);
  BOOST_TEST(all_of(step(x)) == all_of(f(x)), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_shapes_go) {
  const auto step = replay([](const Tensor& x) { return x + 1; });
  for (int64_t n = 1; n <= 100; ++n) {
    step(numbers({n}));
    step(numbers({1}));
  }
  const Tensor first = numbers({1}), last = numbers({100}), early = numbers({2});
  uint64_t before = recorded();
  step(first);
  step(last);
  BOOST_TEST(recorded() == before);
  step(early);
  BOOST_TEST(recorded() > before);
}

BOOST_AUTO_TEST_CASE(replays_nest) {
  const auto inner = replay([](const Tensor& x) { return x * 2; });
  const auto outer = replay([&](const Tensor& x) { return inner(x) + 1; });
  const Tensor x = numbers({5});
  for (int i = 0; i < 3; ++i) BOOST_TEST(all_of(outer(x)) == all_of(x * 2 + 1));
  BOOST_TEST(all_of(inner(x)) == all_of(x * 2));
}

BOOST_AUTO_TEST_CASE(any_number_of_threads) {
  nn::Linear layer(32, 16);
  const auto step = replay([&](const Tensor& x) { return softmax(relu(layer(x)), -1); });
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const Tensor x = numbers({1 + (i + static_cast<int64_t>(t)) % 5, 32}, static_cast<float>(i % 7));
        const no_grad scope;
        good[t] += all_of(step(x)) == all_of(softmax(relu(layer(x)), -1));
      }
    });
  for (std::thread& t : threads) t.join();
  for (int g : good) BOOST_TEST(g == 60);
}

// What is computed of weights that stay is found by replays as well.
BOOST_AUTO_TEST_CASE(with_weights_that_stay) {
  const Tensor w = numbers({64, 80});
  detail::mark_unchanging(w);
  const auto step = replay([w](const Tensor& x) { return linear(x, w); });
  const Tensor x = numbers({128, 80});
  const std::vector<float> expected = all_of(matmul(x, w.T().copy()));
  step(x);
  const uint64_t reused = metrics().results_reused;
  for (int i = 0; i < 3; ++i) BOOST_TEST((all_of(step(x)) == expected));
  BOOST_TEST(metrics().results_reused >= reused + 3);
}

BOOST_AUTO_TEST_CASE(all_models) {
  for (const std::string& name : parity::kNames) BOOST_TEST_CONTEXT(name) {
      parity::Case c = parity::build(name, false);
      c.model->eval();
      const auto step = replay(
          [&](std::span<const Tensor> a) {
            return c.run({a.begin(), a.end()});
          },
          *c.model);
      const no_grad scope;
      std::vector<Tensor> arguments = c.arguments;
      for (int i = 0; i < 3; ++i) {
        for (Tensor& t : arguments)
          if (is_float(t.dtype())) t = (t * 0.5f + 0.1f).eval();
        const std::vector<float> expected = all_of(c.run(arguments));
        const uint64_t before = recorded();
        const Tensor y = step(arguments);
        if (i > 0) BOOST_TEST(recorded() == before);
        BOOST_TEST((all_of(y) == expected));
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
