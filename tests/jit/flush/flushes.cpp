// Tests why and where a flush happened, as counted, listened to, explained and logged.
#include <regex>
#include <sstream>
#include <thread>

#include "jit/graph/node.hpp"
#include "tests/common/fresh.hpp"
#include "tests/common/log_lines.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::Override;
using jit::Cause;

namespace {

/// Checks that f flushes once, for this cause, at this line of this file.
template <class F>
void flushes_once(Cause cause, unsigned line, F&& f) {
  const Metrics before = metrics();
  jit::FlushListener listener;
  f();
  const Metrics after = metrics();
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
  BOOST_TEST(jit::name_of(listener.flushes[0].cause) == jit::name_of(cause));
  BOOST_TEST(to_string(listener.flushes[0].site) == "flushes.cpp:" + std::to_string(line));
  const auto k = static_cast<size_t>(cause);
  BOOST_TEST(after.flushes_by_cause[k] == before.flushes_by_cause[k] + 1);
  BOOST_TEST(after.flushes == before.flushes + 1);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(flushes, fresh::Fixture)

BOOST_AUTO_TEST_CASE(each_cause_names_the_users_line) {
  const Tensor x = numbers({1}), wide = numbers({4});
  const Tensor a = x + 1, b = x + 2, c = x + 3, d = x + 4, e = x + 5;
  flushes_once(Cause::item, __LINE__, [&] { a.item<float>(); });
  flushes_once(Cause::to_vector, __LINE__, [&] { b.to_vector<float>(); });
  flushes_once(Cause::data, __LINE__, [&] { c.data<float>(); });
  flushes_once(Cause::eval, __LINE__, [&] { d.eval(); });
  flushes_once(Cause::eval, __LINE__, [&] { eval(e, e); });
}

BOOST_AUTO_TEST_CASE(printing_names_its_own_line) {
  const Tensor x = numbers({1});
  const Tensor shown = x + 1;
  std::ostringstream out;
  flushes_once(Cause::print, __LINE__, [&] { out << shown; });
}

// A conversion operator can't be given a line: the line is that of the op that recorded the value.
BOOST_AUTO_TEST_CASE(bool_names_the_line_of_the_value) {
  const Tensor x = numbers({1});
  const Tensor asked = x > 0;
  const unsigned asked_at = __LINE__ - 1;
  flushes_once(Cause::truth, asked_at, [&] { BOOST_TEST(static_cast<bool>(asked)); });
}

BOOST_AUTO_TEST_CASE(the_node_limit_cuts_at_one_line_of_the_loop) {
  const Override limit("LAZY_MAX_GRAPH", "30");
  Tensor x = numbers({4});
  jit::FlushListener listener;
  unsigned first = 0;
  for (int i = 0; i < 100; ++i) {
    first = __LINE__ + 1;
    x = x * 1.5;
    x = x - 1;
    x = x + 0.25;
  }
  BOOST_REQUIRE(listener.flushes.size() >= 6u);
  for (size_t i = 0; i < listener.flushes.size(); ++i) {
    BOOST_TEST(jit::name_of(listener.flushes[i].cause) == std::string("node_limit"));
    BOOST_TEST(listener.flushes[i].site.line() == first);
    BOOST_TEST(listener.flushes[i].hit == (i > 0), "flush " << i);
  }
}

BOOST_AUTO_TEST_CASE(the_byte_limit_flushes) {
  const Override limit("LAZY_MAX_BYTES", "100K");
  const Tensor x = numbers({8});
  jit::FlushListener listener;
  Tensor sum = x * 0;
  std::vector<Tensor> kept;
  for (int i = 0; i < 20; ++i) {  // values that the pending graph keeps alive
    const std::vector<float> data(4000, static_cast<float>(i));
    kept.push_back(from_span(data));
    sum = sum + kept.back()(slice(0, 8));
  }
  BOOST_REQUIRE(!listener.flushes.empty());
  BOOST_TEST(jit::name_of(listener.flushes[0].cause) == std::string("byte_limit"));
  BOOST_TEST(sum.to_vector<float>() == std::vector<float>(8, 190), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(another_threads_graph_is_flushed_when_its_value_is_used) {
  const Tensor x = numbers({4});
  Tensor there;
  std::thread([&] { there = x * 3; }).join();
  BOOST_TEST(!there.handle()->ready());
  flushes_once(Cause::other_thread, __LINE__, [&] { const Tensor here = there + 1; });
  BOOST_TEST(there.handle()->ready());
}

BOOST_AUTO_TEST_CASE(eager_flushes_every_op) {
  const Tensor x = numbers({4});
  const Override eager("LAZY_EAGER", "1");
  jit::FlushListener listener;
  const Tensor y = x * 2 + 1;
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 2u);
  for (const auto& f : listener.flushes) {
    BOOST_TEST(jit::name_of(f.cause) == std::string("eager"));
    BOOST_TEST(f.ops == 1u);
    BOOST_TEST(to_string(f.site) == "flushes.cpp:" + std::to_string(__LINE__ - 5));
  }
}

BOOST_AUTO_TEST_CASE(a_report_has_a_stable_form) {
  const Tensor x = numbers({5});
  cache::clear();
  const auto twice = [&] {
    for (int i = 0; i < 2; ++i) {
      const Tensor y = sin(x * 3);
      y.eval();
    }
  };
  const unsigned line = __LINE__ - 3;
  const std::string text = to_string(explain(twice));
  const std::string at = "flushes\\.cpp:" + std::to_string(line);
  const std::regex form(
      "flush by eval at " + at +
      ": 2 ops -> 1 kernel, 1 value kept, compiled \\(generic\\) in [0-9.]+ us, [0-9.]+ us in all\n"
      "  miss: first program of this process\n"
      "  map_sin_flushes\\.cpp_[0-9]+: [0-9]+ ops, [0-9]+ operands\n"
      "flush by eval at " +
      at +
      ": 2 ops -> 1 kernel, 1 value kept, hit, [0-9.]+ us in all\n"
      "  map_sin_flushes\\.cpp_[0-9]+: [0-9]+ ops, [0-9]+ operands\n?");
  BOOST_TEST(std::regex_match(text, form), text);
}

BOOST_AUTO_TEST_CASE(a_miss_says_how_the_nearest_program_differs) {
  const Tensor x = numbers({5}), row = numbers({1});
  cache::clear();
  const auto miss_of = [&](const Tensor& y) {
    jit::FlushListener listener;
    y.eval();
    BOOST_REQUIRE(listener.flushes.size() == 1u);
    return listener.flushes[0].miss;
  };
  const auto twice = [&](Tensor (*f)(Arg), const Tensor& t) { return f(f(t)); };
  twice(sin, x).eval();
  BOOST_TEST(
      miss_of(twice(cos, x))
          .starts_with("the nearest program has v1 = sin float32 [n] v0; here it is v1 = cos float32 [n=" +
                       std::to_string(x.size()) + "] v0 at flushes.cpp:"));
  BOOST_TEST(miss_of(twice(sin, row)) == "no program begins like this one (v0 = input float32 [1])");
  const Tensor three = sin(twice(sin, x));
  cache::clear();
  twice(sin, x).eval();
  BOOST_TEST(miss_of(three).starts_with(
      "the nearest program has v2 = sin float32 [n] v1 (kept); here it is v2 = sin float32 [n=" +
      std::to_string(x.size()) + "] v1 at flushes.cpp:"));
}

BOOST_AUTO_TEST_CASE(log_lines_go_to_their_channels) {
  const Tensor x = numbers({5}), gaps = x(slice(none, none, 2));
  cache::clear();
  const Override channels("LAZY_LOG", "flush,miss,guards,fusion,kernels,memory");
  const fresh::LogLines lines;
  (x * 2).eval();
  (gaps * 2).eval();
  const std::string all = lines.text();
  BOOST_TEST(contains(all, "flush|flush by eval at flushes.cpp:"), all);
  BOOST_TEST(contains(all, "miss|eval at flushes.cpp:172: first program of this process"), all);
  BOOST_TEST(
      contains(
          all,
          "guards|generic program turned down: contiguous: v0 was row-major without gaps, now it is not"),
      all);
  BOOST_TEST(contains(all,
                      "miss|eval at flushes.cpp:173: guard contiguous: v0 was row-major without gaps, now it "
                      "is not (v0 was made at flushes.cpp:"),
             all);
  BOOST_TEST(contains(all, "memory|after the flush at flushes.cpp:"), all);
  BOOST_TEST(contains(all, "fusion|1 op -> 1 kernel"), all);
  BOOST_TEST(contains(all, "kernels|kernel 0 of 1: map_multiply_flushes.cpp_"), all);
}

BOOST_AUTO_TEST_CASE(listeners_nest) {
  const Tensor x = numbers({5});
  jit::FlushListener outer;
  (x + 1).eval();
  {
    jit::FlushListener inner;
    (x + 2).eval();
    BOOST_TEST(inner.flushes.size() == 1u);
  }
  (x + 3).eval();
  BOOST_TEST(outer.flushes.size() == 2u);
}

// The line where the component began does not come again: it is cut all the same, somewhat later.
BOOST_AUTO_TEST_CASE(the_node_limit_cuts_what_does_not_come_back) {
  const Override limit("LAZY_MAX_GRAPH", "30");
  Tensor x = numbers({4}) + 1;
  jit::FlushListener listener;
  for (int i = 0; i < 100; ++i) x = x * 0.5;
  BOOST_TEST(listener.flushes.size() >= 3u);
  for (const auto& f : listener.flushes) BOOST_TEST(jit::name_of(f.cause) == std::string("node_limit"));
}

BOOST_AUTO_TEST_SUITE_END()
