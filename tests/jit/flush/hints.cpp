// Tests hints: each is given once, with the line, where a cause is planted, and not where something looks
// like it.
#include <thread>

#include "lazy/insight/insight.hpp"
#include "lazy/lazy.hpp"
#include "tests/common/count.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::Override;
using fresh::standard_error_of;
using test::count;

namespace {

std::string at(uint32_t line) { return "hints.cpp:" + std::to_string(line); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(hints, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_loop_that_asks_for_a_value_each_time) {
  Tensor x = numbers({64});
  uint32_t line = 0;
  const auto loop = [&](int times) {
    for (int i = 0; i < times; ++i) {
      x = x * 0.5f + 1.0f;
      (void)sum(x).item<float>(), line = Site::current().line();
    }
  };
  const std::string text = standard_error_of([&] { loop(3000); });
  BOOST_TEST(contains(text, "lazy: item() at " + at(line) + " asked for a value "), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// Other work takes most of the time.
BOOST_AUTO_TEST_CASE(a_value_asked_for_now_and_then_is_none) {
  Tensor x = numbers({64}), a = numbers({192, 192});
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 300; ++i) {
      Tensor y = a;
      for (int k = 0; k < 4; ++k) y = matmul(y, a) * 1e-3f;
      y.eval();
      x = x * 0.5f + 1.0f;
      (void)sum(x).item<float>();
    }
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(hints_can_be_off) {
  const Override off("LAZY_HINTS", "off");
  Tensor x = numbers({64});
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 1000; ++i) x = x * 0.5f + 1.0f, (void)sum(x).item<float>();
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(values_that_go_to_the_host_and_back) {
  Tensor grid = numbers({256, 256});
  uint32_t away = 0, back = 0;
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) {
      std::vector<float> host = grid.to_vector<float>();
      away = Site::current().line() - 1;
      for (float& f : host) f *= 0.5f;
      grid = from_span(std::span<const float>(host), {256, 256}) + 1.0f;
      back = Site::current().line() - 1;
    }
  });
  BOOST_TEST(contains(text, "lazy: to_vector() at " + at(away) + " takes 256.0 KiB to the host"), text);
  BOOST_TEST(contains(text, "come back at " + at(back)), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// Results are written away, and computed from data that stay.
BOOST_AUTO_TEST_CASE(results_that_are_read_are_no_round_trip) {
  const std::vector<float> data(size_t{1} << 16, 1.0f);
  const Tensor input = from_span(std::span<const float>(data), {256, 256});
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) (void)(input * static_cast<float>(i)).to_vector<float>();
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(a_product_written_as_sums) {
  const Tensor x = numbers({400, 1, 8}), y = numbers({1, 400, 8});
  uint32_t line = 0;
  std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) sum(x * y, 2).eval(), line = Site::current().line();
  });
  BOOST_TEST(contains(text, "lazy: the sum at " + at(line) + " over axis 2 of [400, 400, 8]"), text);
  BOOST_TEST(contains(text, "matmul"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// A weighted sum, distances, and a small product.
BOOST_AUTO_TEST_CASE(sums_that_are_no_products) {
  const Tensor x = numbers({400, 1, 8}), y = numbers({1, 400, 8}), w = numbers({8});
  const Tensor all = numbers({400, 400, 8}), few = numbers({20, 1, 8}), others = numbers({1, 20, 8});
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) {
      sum(all * w, 2).eval();
      sum((x - y) * (x - y), 2).eval();
      sum(few * others, 2).eval();
      sum(x * y, 1).eval();
    }
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(an_input_read_across_its_memory) {
  const Tensor wide = numbers({1024, 1024}), x = numbers({1024, 1024});
  uint32_t line = 0;
  const Tensor turned = transpose(wide);
  line = Site::current().line() - 1;
  const std::string text = standard_error_of([&] {
    Tensor y = x;
    for (int i = 0; i < 40; ++i) y = y * 0.5f + turned, y.eval();
  });
  BOOST_TEST(contains(text, "[1024, 1024], made at " + at(line)), text);
  BOOST_TEST(contains(text, "contiguous()"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// All operands are turned, or the input lies as it is read.
BOOST_AUTO_TEST_CASE(inputs_read_in_order) {
  const Tensor a = numbers({1024, 1024}), b = numbers({1024, 1024});
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) {
      (transpose(a) + transpose(b)).eval();
      (a + b).eval();
      sum(a, 0).eval();
      matmul(transpose(a), b).eval();
    }
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(float64_by_one_small_operand) {
  const Tensor x = numbers({1 << 19});
  const Tensor factor = full({1}, 0.5, float64).eval();
  uint32_t line = 0;
  std::string text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) (x * factor).eval(), line = Site::current().line();
  });
  BOOST_TEST(contains(text, "lazy: multiply at " + at(line) + " computes [524288] in float64"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
  text = standard_error_of([&] {
    for (int i = 0; i < 40; ++i) (x.astype(float64) * factor).eval(), (x * 0.5).eval();
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(eager_that_was_left_on) {
  Tensor x = numbers({64});
  uint32_t line = 0;
  std::string text = standard_error_of([&] {
    const Override eager("LAZY_EAGER", "on");
    line = Site::current().line() - 1;
    for (int i = 0; i < 300; ++i) x = x * 0.5f + 1.0f;
  });
  BOOST_TEST(contains(text, "lazy: LAZY_EAGER is on, set at " + at(line)), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

BOOST_AUTO_TEST_CASE(a_value_that_threads_hand_back_and_forth) {
  Tensor x = numbers({256}).eval();
  std::atomic<int> turn{0};
  uint32_t recorded = 0;
  const auto steps = [&](int mine) {
    for (int i = 0; i < 3000; ++i) {
      while (turn.load() != mine) std::this_thread::yield();
      x = x * 0.5f + 1.0f;
      recorded = Site::current().line() - 1;
      turn = 1 - mine;
    }
  };
  const std::string text = standard_error_of([&] {
    std::thread other(steps, 1);
    steps(0);
    other.join();
    x.eval();
  });
  // Where threads take long to take turns, the flushes are little of the time.
  if (!text.empty())
    BOOST_TEST(contains(text, "recorded at " + at(recorded) + " was needed by another at"), text);
  BOOST_TEST(count(text, "lazy:") <= 1u, text);
}

BOOST_AUTO_TEST_CASE(where_code_has_set_a_variable) {
  const uint32_t line = Site::current().line() + 1;
  const Override limit("LAZY_MAX_GRAPH", "77");
  BOOST_TEST(config::set_at("LAZY_MAX_GRAPH").line() == line);
  BOOST_TEST(contains(config::dump(), "code at " + at(line)));
  BOOST_TEST(config::set_at("LAZY_MAX_BYTES").line() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(summaries, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_row_for_each_line_and_cause) {
  const Tensor x = numbers({1000});
  uint32_t asked = 0, evaluated = 0;
  const Summary s = summary([&] {
    for (int i = 0; i < 5; ++i) {
      (void)sum(x * 2.0f).item<float>(), asked = Site::current().line();
      (x + static_cast<float>(i)).eval(), evaluated = Site::current().line();
    }
  });
  BOOST_REQUIRE(s.rows.size() == 2u);
  const auto row_of = [&](const char* cause) -> const SummaryRow& {
    return s.rows[s.rows[0].cause == cause ? 0 : 1];
  };
  const SummaryRow &item = row_of("item"), &eval = row_of("eval");
  BOOST_TEST(item.at == at(asked));
  BOOST_TEST(eval.at == at(evaluated));
  for (const SummaryRow* r : {&item, &eval}) {
    BOOST_TEST(r->flushes == 5u);
    BOOST_TEST(r->hits + r->loaded + r->compiled == 5u);
    BOOST_TEST(r->hits >= 4u);
    BOOST_TEST(r->flush_ms > 0);
    BOOST_TEST(r->after_ms > 0);
    BOOST_REQUIRE(r->kernels.size() == 1u);
    BOOST_TEST(r->kernels[0].launches == 5u);
    BOOST_TEST(r->kernels[0].ms <= r->flush_ms);
  }
  BOOST_TEST(item.kernels[0].name == "reduce_sum_hints.cpp_" + std::to_string(asked));
  BOOST_TEST(item.kernels[0].bytes == 5 * (4000 + 4.0));
  BOOST_TEST(item.fewest_ops == item.most_ops);
  BOOST_TEST(s.wall_ms >= item.flush_ms + eval.flush_ms);
  BOOST_TEST(contains(to_string(s), at(asked) + " item: "), to_string(s));
  BOOST_TEST(contains(to_json(s), "\"cause\": \"item\", \"at\": \"" + at(asked) + "\", \"flushes\": 5"),
             to_json(s));
}

BOOST_AUTO_TEST_CASE(nothing_flushed_is_a_summary_too) {
  const Summary s = summary([] {});
  BOOST_TEST(s.rows.empty());
  BOOST_TEST(contains(to_string(s), "in 0 flushes"), to_string(s));
}

BOOST_AUTO_TEST_CASE(many_rows_are_counted_in_one) {
  Summary s;
  s.wall_ms = 100;
  for (int i = 0; i < 30; ++i) {
    SummaryRow r;
    r.cause = "item", r.at = "a.cpp:" + std::to_string(i), r.flushes = 1, r.flush_ms = i;
    s.rows.push_back(r);
  }
  sort(s);
  BOOST_TEST(s.rows[0].at == "a.cpp:29");
  const std::string text = to_string(s, 20);
  BOOST_TEST(contains(text, "10 more lines: 45 ms in 10 flushes"), text);
  BOOST_TEST(!contains(text, "a.cpp:9 "), text);
}

// Two at once, and one that ends before the other.
BOOST_AUTO_TEST_CASE(summaries_nest) {
  const Tensor x = numbers({10});
  Summary inner;
  const Summary outer = summary([&] {
    (x + 1.0f).eval();
    inner = summary([&] { (x + 2.0f).eval(); });
    (x + 3.0f).eval();
  });
  BOOST_REQUIRE(inner.rows.size() == 1u);
  BOOST_TEST(inner.rows[0].flushes == 1u);
  uint64_t flushes = 0;
  for (const SummaryRow& r : outer.rows) flushes += r.flushes;
  BOOST_TEST(flushes == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
