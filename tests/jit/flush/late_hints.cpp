// Tests the hints on values that are computed late or again and again: each planted once, and beside it what
// looks like it and is meant.
#include "lazy/lazy.hpp"
#include "tests/common/count.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::standard_error_of;
using test::count;

namespace {

std::string at(uint32_t line) { return "late_hints.cpp:" + std::to_string(line); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(late_hints, fresh::Fixture)

// Two statistics of a signal wait until they are printed, at steps that are irregular.
BOOST_AUTO_TEST_CASE(a_chain_that_waits) {
  Tensor signal = numbers({64}), mean = zeros({64}).eval(), square = zeros({64}).eval();
  uint32_t evaluated = 0, at_mean = 0, at_square = 0, asked = 0;
  const std::string text = standard_error_of([&] {
    int next = 30;
    for (int i = 0, gap = 30; i < 600; ++i) {
      signal = sin(signal) + 0.25f;
      signal.eval(), evaluated = Site::current().line();
      mean = mean * 0.9f + signal * 0.1f, at_mean = Site::current().line();
      square = square * 0.9f + signal * signal * 0.1f, at_square = Site::current().line();
      if (i == next) {
        (void)(sum(mean) + sum(square)).item<float>(), asked = Site::current().line();
        gap += 7, next += gap;
      }
    }
  });
  BOOST_TEST(contains(text, at(at_mean) + " and " + at(at_square) + " waited for the flush at " + at(asked)),
             text);
  BOOST_TEST(contains(text, "eval() at " + at(evaluated)), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// The same with the statistics in the same eval(); and losses that are collected and averaged, however many.
BOOST_AUTO_TEST_CASE(chains_that_do_not_wait) {
  Tensor signal = numbers({64}), mean = zeros({64}).eval();
  const std::string text = standard_error_of([&] {
    std::vector<Tensor> losses;
    for (int i = 0, next = 30, gap = 30; i < 400; ++i) {
      signal = sin(signal) + 0.25f;
      mean = mean * 0.9f + signal * 0.1f;
      eval({signal, mean});
      losses.push_back(signal);
      if (i == next) {
        (void)sum(mean).item<float>();
        gap += 7, next += gap;
      }
    }
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(two_flushes_of_what_was_there) {
  const Tensor x = numbers({1 << 19});
  uint32_t first = 0, second = 0;
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 140; ++i) {
      const Tensor low = min(x + static_cast<float>(i)), high = max(x * static_cast<float>(i));
      (void)low.item<float>(), first = Site::current().line();
      (void)high.item<float>(), second = Site::current().line();
    }
  });
  BOOST_TEST(contains(text, "item() at " + at(second) + " flushes by itself"), text);
  BOOST_TEST(contains(text, "item() at " + at(first) + " flushed"), text);
  BOOST_TEST(contains(text, "2.0 MiB of inputs are read twice"), text);
  BOOST_TEST(contains(text, "eval({a, b})"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// The second value is recorded after the first is known; is evaluated with it; is asked for seldom; or has
// nothing in common with it and takes long by itself.
BOOST_AUTO_TEST_CASE(two_flushes_that_are_needed) {
  const Tensor x = numbers({1 << 19}), a = numbers({256, 256}), b = numbers({256, 256});
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) {
      const auto f = static_cast<float>(i);
      const float low = min(x + f).item<float>();
      (void)max(x * low).item<float>();
      const Tensor u = min(x + f), v = max(x - f);
      eval({u, v});
      (void)u.item<float>(), (void)v.item<float>();
      const Tensor y = sum(matmul(a * f, a)), z = sum(matmul(b * f, b));
      (void)y.item<float>();
      (void)z.item<float>();
    }
    for (int i = 0; i < 400; ++i) {
      const auto f = static_cast<float>(i);
      const Tensor step = sum(x * f), size = max(x * f);
      if (step.item<float>() < 0 || i % 10 == 0) (void)size.item<float>();
    }
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(the_same_values_again) {
  const Tensor time = numbers({1 << 16});
  uint32_t tone = 0, sine = 0, asked = 0;
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) {
      const Tensor drive = exp(time * (static_cast<float>(i) * 1e-3f));
      const Tensor waves = sin(time * 440.0f) + erf(time * 3.0f) + tanh(time), still = waves * 0.5f;
      sine = tone = Site::current().line() - 1;
      (void)sum(drive * still).item<float>(), asked = Site::current().line();
    }
  });
  BOOST_TEST(contains(text, "multiply at " + at(tone) + " ([65536] float32) was the same"), text);
  BOOST_TEST(contains(text, "flushes at " + at(asked)), text);
  BOOST_TEST(contains(text, "recorded at " + at(sine)), text);
  BOOST_TEST(contains(text, "before the loop"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// A product of weights that do not change, in a loop over batches.
BOOST_AUTO_TEST_CASE(the_same_product_again) {
  const Tensor u = numbers({256, 256}), v = numbers({256, 256});
  uint32_t line = 0;
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) {
      const Tensor x = numbers({64, 256}) + static_cast<float>(i);
      const Tensor w = matmul(u, v);
      line = Site::current().line() - 1;
      matmul(x, w).eval();
    }
  });
  BOOST_TEST(contains(text, "matmul at " + at(line) + " ([256, 256] float32) was the same"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// All of it is the same, which somebody measures; the input is updated in place; values take turns; little is
// repeated, or it is cheaper than reading it; numbers are drawn anew.
BOOST_AUTO_TEST_CASE(values_that_are_not_the_same) {
  const Tensor x = numbers({1 << 16}), y = numbers({1 << 16}), grid = numbers({256, 256});
  Tensor state = numbers({1 << 16}).eval(), other = numbers({1 << 16}).eval();
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 70; ++i) {
      const auto f = static_cast<float>(i);
      (sin(x) + erf(x) + tanh(x) + sin(x * 2.0f) + exp(x)).eval();
      state += 1.0f;
      (sum((sin(state) + erf(state) + tanh(state) + exp(state)) * (x + f))).eval();
      state.eval();
      const Tensor& turn = i % 2 ? x : y;
      (sum((sin(turn) + erf(turn) + tanh(turn) + exp(turn)) * (grid.reshape({1 << 16}) + f))).eval();
      ((x * 2.0f + 1.0f) * (other + f)).eval();
      ((tril(grid) + 1.0f) * (grid + f)).eval();
      sum((sin(x) + erf(x)) * matmul(grid + f, matmul(grid, grid + f)).reshape({1 << 16})).eval();
      (sum(exp(rand({1 << 16})) * sin(x + f))).eval();
    }
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_SUITE_END()
