// Tests that a program that runs again reuses what it bound in the run before, except for changes: each kind
// of change, in turn, against op by op.
#include <thread>

#include "tests/common/fresh.hpp"
#include "tests/common/needs.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

namespace {

using Values = std::vector<std::vector<double>>;
/// Returns the results of one evaluation.
using Step = std::function<std::vector<Tensor>()>;

Values values_of(const std::vector<Tensor>& t) {
  Values v;
  for (const Tensor& x : t) v.push_back(x.to_vector<double>());
  return v;
}

/// Returns the results of programs that have never run: op by op would run some again as well.
Values at_first(const Step& f) {
  cache::clear();
  return values_of(f());
}

/// Runs each of them several times, in several orders, and compares with programs that have never run.
void in_turn(const std::vector<Step>& steps) {
  std::vector<Values> wanted;
  for (const Step& f : steps) wanted.push_back(at_first(f));
  const size_t n = steps.size();
  const auto check = [&](size_t i, const char* when) {
    const auto made = steps[i]();
    if (!made.empty()) made[0].eval();
    BOOST_TEST((values_of(made) == wanted[i]), when << ", case " << i);
  };
  for (size_t i = 0; i < n; ++i)
    for (int run = 0; run < 5; ++run) check(i, "each by itself");
  for (int run = 0; run < 3; ++run)
    for (size_t i = 0; i < n; ++i) check(i, "one after the other");
  for (int run = 0; run < 24; ++run) check(static_cast<size_t>(run * 7 + run / 3) % n, "mixed");
}

/// Runs several kernels that nothing fuses. Every element of both decides the result.
Tensor kernels(const Tensor& x, const Tensor& y, float c = 2) {
  Tensor t = x;
  for (int i = 0; i < 3; ++i) t = t - (sum(t * y, {0}, keepdims) + c) * 0.01f + cumsum(t + y, 1) * 0.125f;
  return t;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(again, fresh::Fixture)

BOOST_AUTO_TEST_CASE(addresses_and_offsets) {
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f, all = numbers({5, 8, 12});
  b.eval();
  std::vector<Step> steps{[&] { return std::vector{kernels(a, b)}; },
                          [&] { return std::vector{kernels(b, a)}; },
                          [&] { return std::vector{kernels(a, a)}; }};
  for (int i : {0, 1, 4}) steps.push_back([&all, &b, i] { return std::vector{kernels(all(i), b)}; });
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(addresses_that_vectors_cant_take) {
  std::vector<float> data(400);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 37) + 1;
  const Tensor whole = from_span(data, {400}).copy();
  whole.eval();
  std::vector<Step> steps;
  for (int first : {0, 1, 4, 3})
    steps.push_back([&whole, first] {
      const Tensor x = whole(slice(first, first + 96)).reshape({8, 12});
      return std::vector{kernels(x * 2, x)};
    });
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(strides) {
  const Tensor a = numbers({9, 9}), b = numbers({9, 9}) * 0.25f, wide = numbers({9, 27});
  b.eval();
  in_turn({[&] { return std::vector{kernels(a, b)}; },
           [&] {
             return std::vector{kernels(a.permute({1, 0}), b)};
           },
           [&] {
             return std::vector{kernels(a, b.permute({1, 0}))};
           },
           [&] { return std::vector{kernels(wide(ellipsis, slice(2, 11)), b)}; },
           [&] { return std::vector{kernels(wide(ellipsis, slice(0, 27, 3)), b)}; },
           [&] { return std::vector{kernels(wide(ellipsis, slice(0, 18, 2)), b)}; }});
}

BOOST_AUTO_TEST_CASE(extents) {
  std::vector<std::pair<Tensor, Tensor>> inputs;
  for (Shape s :
       {Shape{8, 12}, Shape{12, 8}, Shape{7, 5}, Shape{0, 5}, Shape{6, 0}, Shape{2, 300}, Shape{64, 64}})
    inputs.emplace_back(numbers(s), numbers(s) * 0.125f);
  std::vector<Step> steps;
  for (auto& [x, y] : inputs) {
    y.eval();
    steps.push_back([&x, &y] { return std::vector{kernels(x, y)}; });
  }
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(positions_of_pending_slices) {
  const Tensor a = numbers({10, 20}), b = numbers({10, 20}) * 0.5f;
  b.eval();
  std::vector<Step> steps;
  for (int first : {0, 1, 5, 8})
    for (int step : {first % 2 + 1, 2 - first % 2})  // one of the two changes at a time
      steps.push_back([&a, &b, first, step] {
        const Tensor s = a + b;  // the slice is of a value in the graph
        const Tensor t = s / (sum(s, {1}, keepdims) + 1.0f);
        return std::vector{
            kernels(t(ellipsis, slice(first, first + 6 * step, step)), b(ellipsis, slice(2, 8)))};
      });
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(positions_of_updates) {
  const Tensor a = numbers({10, 20}), row = numbers({1, 20}) * 0.5f;
  row.eval();
  std::vector<Step> steps;
  for (int at : {0, 3, 9})
    steps.push_back([&a, &row, at] {
      Tensor t = a * 2.0f;
      t = t - sum(t, {0}, keepdims);
      const Tensor before = t;
      t(slice(at, at + 1)) = row + 1.0f;
      return std::vector{kernels(t, a), before};
    });
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(scalars) {
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f;
  const Tensor h = a.astype(float16), g = a.astype(bfloat16);
  eval(b, h, g);
  std::vector<Step> steps;
  for (float c : {1.0f, 2.0f, -3.5f, 0.0f})
    steps.push_back([&, c] {
      return std::vector{kernels(a, b, c), kernels(a * c, b), cumsum(h * c, 0) + sum(h, {0}),
                         cumsum(g + c, 0)};
    });
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(shapes_of_sources) {
  std::vector<Step> steps;
  for (int n : {4, 9, 16})
    for (int first : {0, 3})
      steps.push_back([n, first] {
        const Tensor i = arange(first, first + n, 1, int64);
        return std::vector{cumsum(i * i, 0) + sum(i), cumsum(full({n}, 2.0f) * i.astype(float32), 0)};
      });
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(reshapes_and_broadcasts) {
  const Tensor a = numbers({24}), b = numbers({24}) * 0.5f;
  b.eval();
  std::vector<Step> steps;
  for (int rows : {2, 3, 4, 6})
    steps.push_back([&, rows] {
      const Tensor t = cumsum(a * b, 0).reshape({rows, 24 / rows});
      const Tensor wide = broadcast_to(sum(t, {1}, keepdims), {rows, rows + 2});
      return std::vector{kernels(t, t + 1.0f), cumsum(wide, 1)};
    });
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(rows_in_tile_groups) {
  const Override blocks("LAZY_BLOCK_BYTES", "2048");
  std::vector<Tensor> inputs;
  for (Shape s : {Shape{40, 64}, Shape{64, 40}, Shape{3, 200}, Shape{40, 64}})
    inputs.push_back(numbers(s) * 0.01f);
  std::vector<Step> steps;
  for (const Tensor& x : inputs) {
    x.eval();
    for (float c : {1.0f, 0.5f})
      steps.push_back([&x, c] {
        const Tensor e = exp(x * c - max(x * c, {1}, keepdims));
        return std::vector{e / sum(e, {1}, keepdims), kernels(x, x)};
      });
  }
  in_turn(steps);
}

BOOST_AUTO_TEST_CASE(inputs_that_may_be_overwritten_or_not) {
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f;
  b.eval();
  in_turn({[&] {
             Tensor t = a * 1.5f;
             t.eval();
             return std::vector{kernels(std::move(t), b)};
           },
           [&] {
             const Tensor t = a * 1.5f;
             t.eval();
             return std::vector{kernels(t, b), t};
           }});
}

BOOST_AUTO_TEST_CASE(results_stay_what_they_were) {
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f;
  b.eval();
  std::vector<Tensor> kept;
  for (int run = 0; run < 8; ++run) kept.emplace_back(kernels(a, b, static_cast<float>(run))).eval();
  for (int run = 0; run < 8; ++run) {
    const Step alone = [&] { return std::vector{kernels(a, b, static_cast<float>(run))}; };
    BOOST_TEST((values_of({kept[static_cast<size_t>(run)]}) == at_first(alone)), "run " << run);
  }
}

BOOST_AUTO_TEST_CASE(profiled_and_verified) {
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f;
  b.eval();
  const Step f = [&] { return std::vector{kernels(a, b)}; }, g = [&] { return std::vector{kernels(b, a)}; };
  const Values of_f = at_first(f), of_g = at_first(g);
  for (int run = 0; run < 4; ++run) {
    BOOST_TEST((values_of(f()) == of_f));
    const Override verify("LAZY_VERIFY", run % 2 ? "on" : "off");
    BOOST_TEST((values_of(g()) == of_g));
  }
  BOOST_TEST(metrics().verify_failures == 0u);
}

BOOST_AUTO_TEST_CASE(a_run_that_fails_leaves_nothing_stale) {
  auto& probe = fresh::Probe::instance();
  fresh::Fixture::reset();
  const fresh::Probe::Hooks hooks;
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f;
  b.eval();
  const Step f = [&] { return std::vector{kernels(a, b)}; }, g = [&] { return std::vector{kernels(b, a)}; };
  const Values of_f = at_first(f), of_g = at_first(g);
  int left = -1;
  probe.on_launch = [&] {
    if (left >= 0 && left-- == 0) throw Error("enough");
  };
  for (int at = 0; at < 6; ++at) {
    left = -1;
    BOOST_TEST((values_of(f()) == of_f));
    left = at;
    const auto failing = g();
    try {
      failing[0].eval();
    } catch (const Error&) {}
    left = -1;
    BOOST_TEST((values_of(at % 2 ? f() : g()) == (at % 2 ? of_f : of_g)), "failed at " << at);
    BOOST_TEST((values_of(failing) == of_g));
  }
}

BOOST_AUTO_TEST_CASE(threads_share_a_program) {
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f;
  b.eval();
  constexpr int kThreads = 4, kRuns = 30;
  std::vector<std::vector<Values>> got(kThreads);
  const auto make = [&](int t, int run) {
    return std::vector{kernels(t % 2 ? a : b, t / 2 ? a : b, static_cast<float>(run % 5))};
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int run = 0; run < kRuns; ++run) got[static_cast<size_t>(t)].push_back(values_of(make(t, run)));
    });
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t)
    for (int run = 0; run < kRuns; ++run) {
      const Values wanted = at_first([&] { return make(t, run); });
      BOOST_TEST((got[static_cast<size_t>(t)][static_cast<size_t>(run)] == wanted), t << ", run " << run);
    }
}

BOOST_AUTO_TEST_CASE(small_values_share_a_block,
                     *test::needs("the CPU: the probe is its", [] { return default_device() == cpu; })) {
  const Tensor a = numbers({8, 12}), b = numbers({8, 12}) * 0.5f;
  b.eval();
  for (int run = 0; run < 3; ++run) kernels(a, b).eval();
  int allocations = 0;
  auto& probe = fresh::Probe::instance();
  const fresh::Probe::Hooks hooks;
  fresh::Fixture::reset();
  for (int run = 0; run < 3; ++run) {
    allocations = 0;
    probe.on_allocate = [&](size_t) { ++allocations; };
    kernels(a, b).eval();
    probe.on_allocate = nullptr;
    if (run == 0) BOOST_TEST(allocations > 3);
    else BOOST_TEST(allocations <= 2);  // the block, and the result unless it takes over dead memory
  }
}

BOOST_AUTO_TEST_SUITE_END()
