// Tests lines at which every flush compiles: a warning appears once, with what a user can do about it.
#include "tests/common/count.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::standard_error_of;
using test::count;

namespace {

/// Sums x and `terms` scaled copies of it: a graph of about 2 * terms ops.
Tensor sum_of(const Tensor& x, int terms) {
  Tensor y = x;
  for (int i = 0; i < terms; ++i) y = i % 3 == 0 ? y + x * y : i % 3 == 1 ? sin(y) - x : y * y;
  return y;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(recompiles, fresh::Fixture)

BOOST_AUTO_TEST_CASE(graphs_that_grow_are_told_once) {
  const Tensor x = numbers({10});
  uint32_t line = 0;
  const auto flush = [&](int terms) { sum_of(x, terms).eval(), line = Site::current().line(); };
  std::string text = standard_error_of([&] {
    for (int i = 0; i < 5; ++i) flush(3 * (i + 1));
  });
  BOOST_TEST(text == "");
  text = standard_error_of([&] {
    for (int i = 5; i < 30; ++i) flush(3 * (i + 1));
  });
  BOOST_TEST(contains(text, "lazy: the graph flushed at recompiles.cpp:" + std::to_string(line) +
                                " grows each time (5, 10, 15, ... 30 ops)"),
             text);
  BOOST_TEST(contains(text, "(eval)"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

BOOST_AUTO_TEST_CASE(programs_that_run_again_are_not_told) {
  const Tensor x = numbers({10});
  const std::string text = standard_error_of([&] {
    for (int i = 0; i < 20; ++i)
      for (int again = 0; again < 2; ++again) sum_of(x, 2 * i + 1).eval();
  });
  BOOST_TEST(text == "");
}

// A write that cannot be in place, for what was before is still held, is told of the third time.
BOOST_AUTO_TEST_CASE(copies_for_a_small_change_are_told_once) {
  Tensor x = (numbers({1 << 19}) + 1).eval(), small = (numbers({1 << 10}) + 1).eval();
  std::vector<Tensor> history;
  uint32_t line = 0;
  const auto write = [&](Tensor& t, bool keep) {
    if (keep) history.push_back(t);
    t(3) = 1.0f, line = Site::current().line();
    t.eval();
  };
  std::string text = standard_error_of([&] {
    for (int i = 0; i < 9; ++i) write(x, false), write(small, true);
    for (int i = 0; i < 2; ++i) write(x, true);
  });
  BOOST_TEST(text == "");
  text = standard_error_of([&] {
    for (int i = 0; i < 4; ++i) write(x, true);
  });
  BOOST_TEST(contains(text, "recompiles.cpp:" + std::to_string(line) + " copied all of its tensor (2.0 MiB)"),
             text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

// Unrelated graphs may be in order of their sizes by chance.
BOOST_AUTO_TEST_CASE(graphs_that_grow_unevenly_are_told_later) {
  const Tensor x = numbers({10});
  const int terms[] = {1, 2, 5, 6, 9, 13, 15, 21, 22, 30, 31};
  const auto flush = [&](int i) { sum_of(x, terms[i]).eval(); };
  std::string text = standard_error_of([&] {
    for (int i = 0; i < 9; ++i) flush(i);
  });
  BOOST_TEST(text == "");
  text = standard_error_of([&] {
    for (int i = 9; i < 11; ++i) flush(i);
  });
  BOOST_TEST(contains(text, "grows each time"), text);
}

BOOST_AUTO_TEST_CASE(programs_that_are_loaded_come_between) {
  const test::Folder folder;
  const fresh::Override on("LAZY_CACHE", "on"), where("LAZY_CACHE_DIR", folder.path());
  const Tensor x = numbers({10});
  sum_of(x, 1).eval();
  cache::clear();
  const std::string text = standard_error_of([&] {
    for (const int terms : {3, 6, 9, 1, 12, 15, 18}) sum_of(x, terms).eval();
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(sizes_that_grow_are_not_told) {
  const std::string text = standard_error_of([&] {
    for (int i = 2; i < 40; ++i) sum_of(numbers({i}), 5).eval();
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(another_graph_each_time_is_told_once_with_the_difference) {
  const Tensor x = numbers({10});
  const auto flush = [&](int i) {
    Tensor y = x;
    for (int bit = 0; bit < 6; ++bit) y = i >> bit & 1 ? y + x : y * x;
    y.eval();
  };
  std::string text = standard_error_of([&] {
    for (int i = 0; i < 15; ++i) flush(i);
  });
  BOOST_TEST(text == "");
  text = standard_error_of([&] {
    for (int i = 15; i < 64; ++i) flush(i);
  });
  BOOST_TEST(contains(text, "each of the last 16 flushes at recompiles.cpp:"), text);
  BOOST_TEST(contains(text, "the nearest program has v"), text);
  BOOST_TEST(count(text, "lazy:") == 1u, text);
}

BOOST_AUTO_TEST_CASE(a_guard_is_named) {
  const fresh::Override never("LAZY_DYNAMIC", "never"), limit("LAZY_RECOMPILE_LIMIT", "100");
  const std::string text = standard_error_of([&] {
    for (int i = 2; i < 40; ++i) (numbers({i}) * 3).eval();
  });
  BOOST_TEST(contains(text, "compiled a new program; the latest because guard extent"), text);
}

BOOST_AUTO_TEST_SUITE_END()
