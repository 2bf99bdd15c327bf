// Tests recurrences recorded for many steps and evaluated at once: work and kernels grow with the number of
// steps, memory does not, and the bits are those of a flush a step.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/common/fresh.hpp"

using namespace lazy;
using config::Override;
using fresh::Probe;

namespace {

using State = std::vector<Tensor>;
struct Recurrence {
  const char* name;
  std::function<State()> begin;
  std::function<void(State&, int)> step;
};
std::ostream& operator<<(std::ostream& out, const Recurrence& r) { return out << r.name; }

/// Returns values of both signs, none of them an integer.
Tensor wave(const Shape& shape, float scale, float phase) {
  return (sin(reshape(arange(0, numel(shape), 1, float32), shape) * 0.7f + phase) * scale).eval();
}

constexpr int64_t n = 24;

const std::vector<Recurrence>& recurrences() {
  static const std::vector<Recurrence> all = [] {
    std::vector<Recurrence> r;
    const Tensor a = wave({n, n}, 0.05f, 1), w = wave({n, 4 * n}, 0.2f, 2), u = wave({n, 4 * n}, 0.2f, 3);
    const Tensor bias = wave({4 * n}, 0.1f, 4), input = wave({8, n}, 1, 5), wanted = wave({8, n}, 1, 6);
    const auto two = [] { return State{wave({n, n}, 1, 7), wave({n, n}, 0.1f, 8)}; };
    r.push_back({"momentum", two, [=](State& s, int) {
                   s[1] = 0.9f * s[1] - 0.1f * matmul(a, s[0]);
                   s[0] = s[0] + s[1];
                 }});
    r.push_back({"nesterov", two, [=](State& s, int) {
                   const Tensor before = s[1];
                   s[1] = 0.9f * s[1] - 0.1f * matmul(a, s[0]);
                   s[0] = s[0] - 0.9f * before + 1.9f * s[1];
                 }});
    r.push_back({"leapfrog", two, [=](State& s, int) {
                   const Tensor half = s[1] - 0.005f * matmul(a, s[0]);
                   s[0] = s[0] + 0.01f * half;
                   s[1] = half - 0.005f * matmul(a, s[0]);
                 }});
    r.push_back({"wave with a copied edge", two, [](State& s, int) {
                   Tensor next = 1.9f * s[0] - s[1];
                   next(0, _) = next(1, _);
                   s[1] = s[0];
                   s[0] = next;
                 }});
    r.push_back({"joined edges", two, [](State& s, int) {
                   const Tensor next = 1.9f * s[0] - s[1];
                   s[1] = s[0];
                   s[0] = concat({next(slice(1, 2)), next(slice(1, none))});
                 }});
    r.push_back({"rk4", two, [=](State& s, int) {
                   const auto f = [&](const Tensor& x) { return matmul(a, x) - 0.1f * x; };
                   const Tensor k1 = f(s[0]), k2 = f(s[0] + 0.5f * k1), k3 = f(s[0] + 0.5f * k2),
                                k4 = f(s[0] + k3);
                   s[0] = s[0] + (k1 + 2 * k2 + 2 * k3 + k4) / 6.0f;
                 }});
    r.push_back({"belief propagation", two, [=](State& s, int) {
                   const Tensor up = matmul(abs(s[0]) + 1, exp(a)), down = matmul(exp(a).T(), abs(s[1]) + 1);
                   s[0] = up / sum(up, {-1}, keepdims);
                   s[1] = down / sum(down, {-1}, keepdims);
                 }});
    r.push_back({"lstm",
                 [] {
                   return State{zeros({8, n}), zeros({8, n})};
                 },
                 [=](State& s, int) {
                   const Tensor z = matmul(input, w) + matmul(s[0], u) + bias;
                   const auto gate = [&](int64_t i) { return z(_, slice(i * n, (i + 1) * n)); };
                   s[1] = sigmoid(gate(1)) * s[1] + sigmoid(gate(0)) * tanh(gate(2));
                   s[0] = sigmoid(gate(3)) * tanh(s[1]);
                 }});
    r.push_back({"adam",
                 [] {
                   return State{wave({n, n}, 0.1f, 9), zeros({n, n}), zeros({n, n})};
                 },
                 [=](State& s, int t) {
                   const Tensor h = tanh(matmul(input, s[0]));
                   const Tensor g = matmul(input.T(), (h - wanted) * (1 - h * h));
                   s[1] = 0.9f * s[1] + 0.1f * g;
                   s[2] = 0.999f * s[2] + 0.001f * g * g;
                   const auto k = static_cast<float>(t + 1);
                   s[0] -= 1e-3f * (s[1] / (1 - std::pow(0.9f, k))) /
                           (sqrt(s[2] / (1 - std::pow(0.999f, k))) + 1e-8f);
                 }});
    r.push_back({"running sum", two, [=](State& s, int) {
                   s[0] = matmul(a, s[0]);
                   s[1] = s[1] + exp(s[0]);
                 }});
    r.push_back({"noise that is used twice", two, [=](State& s, int t) {
                   const Tensor noise = sin(arange(0, n, 1, float32) * static_cast<float>(t)) * 0.1f;
                   s[0] = matmul(a, s[0]) + noise;
                   s[1] = s[1] + s[0] * noise;
                 }});
    return r;
  }();
  return all;
}

/// Returns all values of the state after `steps` steps, evaluated every `each` of them.
std::vector<float> run(const Recurrence& r, int steps, int each) {
  State s = r.begin();
  for (Tensor& t : s) t.eval();
  for (int t = 0; t < steps; ++t) {
    r.step(s, t);
    if ((t + 1) % each == 0)
      for (Tensor& x : s) x.eval();
  }
  std::vector<float> all;
  for (const Tensor& t : s) {
    const std::vector<float> v = t.to_vector<float>();
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}

struct Cost {
  uint64_t fused_ops = 0, kernels = 0, compiled = 0, peak = 0, code = 0;
};
Cost cost_of(const Recurrence& r, int steps) {
  cache::clear();
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  jit::FlushListener listener;
  run(r, steps, steps);
  Cost c;
  for (const jit::FlushReport& f : listener.flushes) c.fused_ops += f.fused_ops, c.kernels += f.kernels;
  c.compiled = metrics().kernels_compiled;
  c.peak = metrics().bytes_peak - before;
  return c;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(recurrences_in_one_flush, fresh::Fixture)

BOOST_AUTO_TEST_CASE(work_grows_with_the_steps_and_memory_does_not) {
  const Override whole("LAZY_MAX_GRAPH", "1000000");
  for (const Recurrence& r : recurrences()) {
    BOOST_TEST_CONTEXT(r) {
      const Cost few = cost_of(r, 80), many = cost_of(r, 160);
      BOOST_TEST(many.fused_ops <= 2 * few.fused_ops + few.fused_ops / 5);
      BOOST_TEST(many.kernels <= 2 * few.kernels + few.kernels / 5);
      BOOST_TEST(many.compiled <= few.compiled + 4);
      BOOST_TEST(many.compiled <= 24u);
      // A value that is no matrix, as a step's noise, may be made long before its step.
      BOOST_TEST(many.peak <= few.peak + few.peak / 10 + 80 * n * sizeof(float));
      BOOST_TEST(few.peak <= 64u * n * n * sizeof(float));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_bits_are_those_of_a_flush_a_step) {
  const Override whole("LAZY_MAX_GRAPH", "1000000");
  for (const Recurrence& r : recurrences()) BOOST_TEST_CONTEXT(r) {
      const std::vector<float> each = run(r, 50, 1);
      BOOST_TEST(run(r, 50, 50) == each, boost::test_tools::per_element());
      BOOST_TEST(run(r, 50, 7) == each, boost::test_tools::per_element());
    }
}

// A loop that nothing evaluates is cut, in the same place of each iteration: the same program serves all
// parts.
BOOST_AUTO_TEST_CASE(a_long_loop_is_cut_where_it_began) {
  const Override limit("LAZY_MAX_GRAPH", "2400");  // in a loop: 300
  for (const Recurrence& r : recurrences()) BOOST_TEST_CONTEXT(r) {
      cache::clear();
      jit::FlushListener listener;
      run(r, 1000, 1000);
      BOOST_TEST(listener.flushes.size() >= 6u);
      size_t missed = 0;
      for (const jit::FlushReport& f : listener.flushes) {
        BOOST_TEST(f.ops < 700u);
        missed += !f.hit;
      }
      BOOST_TEST(missed <= 8u);
    }
}

BOOST_AUTO_TEST_CASE(a_kernel_reads_a_bounded_number_of_values) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 300; ++i) parts.push_back(wave({40}, 1, static_cast<float>(i)));
  Tensor sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i] * parts[i];
  jit::FlushListener listener;
  const std::vector<float> found = sum.to_vector<float>();
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
  BOOST_TEST(listener.flushes[0].kernels >= 300u / 65);
  BOOST_TEST(listener.flushes[0].kernels <= 300u / 30);
  const Override eager("LAZY_EAGER", "1");
  Tensor again = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) again = again + parts[i] * parts[i];
  BOOST_TEST(again.to_vector<float>() == found, boost::test_tools::per_element());
}

// The first step's input is overwritten, so from then on no allocation may fail: wherever memory ends, either
// nothing has happened yet or nothing more is allocated.
BOOST_AUTO_TEST_CASE(memory_that_ends_anywhere_loses_nothing) {
  const Probe::Hooks hooks;
  Probe& probe = Probe::instance();
  for (const Recurrence& r : recurrences()) BOOST_TEST_CONTEXT(r) {
      cache::clear();
      const std::vector<float> expected = run(r, 12, 12);
      int failed = 0;
      for (int allowed = 0; allowed < 200; ++allowed) {
        State s = r.begin();
        for (Tensor& t : s) t = (t * 1.0f).eval();
        for (int t = 0; t < 12; ++t) r.step(s, t);
        int left = allowed;
        probe.on_allocate = [&](size_t) {
          if (left-- == 0) throw DeviceError("no memory");
        };
        bool threw = false;
        try {
          s[0].eval();
        } catch (const DeviceError&) { threw = true; }
        probe.on_allocate = nullptr;
        failed += threw;
        std::vector<float> all;
        for (const Tensor& t : s) {
          const std::vector<float> v = t.to_vector<float>();
          all.insert(all.end(), v.begin(), v.end());
        }
        BOOST_TEST(all == expected, boost::test_tools::per_element());
        if (!threw) break;
      }
      BOOST_TEST(failed >= 1);
    }
}

// A run whose temporary values take more than the limit is done in parts.
BOOST_AUTO_TEST_CASE(the_byte_limit_bounds_a_run) {
  const auto values_of = [] {
    // Each value of the second loop reads one of the first, and none is an input.
    const Tensor a = wave({n, n}, 0.05f, 1);
    std::vector<Tensor> made;
    Tensor x = wave({n, n}, 1, 2);
    for (int i = 0; i < 60; ++i) made.push_back(x = matmul(a, x) + 0.5f);
    Tensor y = x;
    for (int i = 0; i < 60; ++i) y = matmul(a, y) * 0.5f + made[static_cast<size_t>(59 - i)];
    made.clear();
    return y.to_vector<float>();
  };
  const Override keep("LAZY_LIVENESS", "keep");
  const std::vector<float> whole = values_of();
  const Override limit("LAZY_MAX_BYTES", std::to_string(20 * n * n * sizeof(float)).c_str());
  jit::FlushListener listener;
  BOOST_TEST(values_of() == whole, boost::test_tools::per_element());
  size_t limited = 0;
  for (const jit::FlushReport& f : listener.flushes) {
    limited += f.cause == jit::Cause::byte_limit;
    BOOST_TEST(f.kernels <= 60u);
  }
  BOOST_TEST(limited >= 1u);
  BOOST_TEST(values_of() == whole, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_limit_that_flushes_again_and_again_is_told_once) {
  const Override limit("LAZY_MAX_GRAPH", "300");
  std::string text = fresh::standard_error_of([] {
    for (int round = 0; round < 2; ++round) {
      Tensor x = fresh::numbers({8});
      for (int i = 0; i < 2000; ++i) x = x * 0.5f + 1;
      x.eval();
    }
  });
  const size_t at = text.find("LAZY_MAX_GRAPH");
  BOOST_REQUIRE(at != text.npos);
  BOOST_TEST(text.find("LAZY_MAX_GRAPH", at + 1) == text.npos);
  BOOST_TEST(fresh::contains(text, "recurrences.cpp:"));
  BOOST_TEST(fresh::contains(text, "(eval)"));
}

BOOST_AUTO_TEST_CASE(advice_on_a_growing_list_fits) {
  const std::string list = fresh::standard_error_of([] {
    std::vector<Tensor> history;
    for (int i = 0; i < 12; ++i) {
      history.push_back(wave({3}, 1, static_cast<float>(i)));
      stack(history).eval();
    }
  });
  BOOST_TEST(fresh::contains(list, "concat({all, next})"));
  BOOST_TEST(!fresh::contains(list, "(eval)"));
  const std::string carried = fresh::standard_error_of([] {
    const Tensor a = wave({n, n}, 0.1f, 1);
    Tensor x = wave({n, n}, 1, 2), last;
    for (int i = 0; i < 12; ++i) {
      x = matmul(a, x) + 1.0f;
      last = sum(x);
      Tensor copy = x * 2;  // x itself is never read
      last.item<float>();
      x = matmul(a, x) + copy;
    }
  });
  BOOST_TEST(!fresh::contains(carried, "concat({all"));
}

BOOST_AUTO_TEST_SUITE_END()
