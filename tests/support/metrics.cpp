#include "support/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>
#include <thread>
#include <vector>

using namespace lazy;

BOOST_AUTO_TEST_SUITE(counters)

BOOST_AUTO_TEST_CASE(add_and_reset) {
  reset_metrics();
  BOOST_TEST(metrics().nodes_recorded == 0u);
  metric::add(MetricCounter::nodes_recorded);
  metric::add(MetricCounter::nodes_recorded, 41);
  metric::add(MetricCounter::compile_ns, uint64_t{1} << 40);
  BOOST_TEST(metrics().nodes_recorded == 42u);
  BOOST_TEST(metrics().compile_ns == uint64_t{1} << 40);
  BOOST_TEST(metrics().launches == 0u);
  reset_metrics();
  BOOST_TEST(metrics().nodes_recorded == 0u);
  metric::add(MetricCounter::nodes_recorded, 3);
  BOOST_TEST(metrics().nodes_recorded == 3u);
}

BOOST_AUTO_TEST_CASE(threads_are_summed_alive_and_ended) {
  reset_metrics();
  std::atomic<int> counted{0};
  std::atomic<bool> leave{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) metric::add(MetricCounter::nodes_recorded);
      ++counted;
      while (!leave) std::this_thread::yield();
    });
  while (counted < 8) std::this_thread::yield();
  BOOST_TEST(metrics().nodes_recorded == 80000u);
  leave = true;
  for (auto& t : threads) t.join();
  BOOST_TEST(metrics().nodes_recorded == 80000u);
}

BOOST_AUTO_TEST_CASE(reset_beside_counting_loses_only_what_came_before) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) metric::add(MetricCounter::launches);
  });
  uint64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    if (i % 10 == 0) reset_metrics(), last = 0;
    const uint64_t now = metrics().launches;
    BOOST_REQUIRE(now >= last);
    BOOST_REQUIRE(now < uint64_t{1} << 60);  // never under zero
    last = now;
  }
  stop = true;
  other.join();
}

namespace {
struct CountsWhenItsThreadEnds {
  ~CountsWhenItsThreadEnds() { metric::add(MetricCounter::fallbacks); }
};
}  // namespace

BOOST_AUTO_TEST_CASE(counting_while_a_thread_ends) {
  reset_metrics();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      // Made before the thread's own counts, so destroyed after them.
      static thread_local CountsWhenItsThreadEnds late;
      (void)&late;
      metric::add(MetricCounter::launches);
    });
  for (auto& t : threads) t.join();
  BOOST_TEST(metrics().fallbacks == 8u);
  BOOST_TEST(metrics().launches == 8u);
}

BOOST_AUTO_TEST_CASE(memory_and_its_peak) {
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  metric::allocated(1000);
  metric::allocated(500);
  metric::freed(1000);
  BOOST_TEST(metrics().bytes_live == before + 500);
  BOOST_TEST(metrics().bytes_peak == before + 1500);
  reset_metrics();
  BOOST_TEST(metrics().bytes_live == before + 500);
  BOOST_TEST(metrics().bytes_peak == before + 500);
  metric::freed(500);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) metric::allocated(64), metric::freed(64);
    });
  for (auto& t : threads) t.join();
  BOOST_TEST(metrics().bytes_live == before);
  BOOST_TEST(metrics().bytes_peak <= before + 500 + 4 * 64);
}

BOOST_AUTO_TEST_CASE(causes_and_kinds) {
  reset_metrics();
  metric::flushed(0);
  metric::flushed(3);
  metric::flushed(3);
  metric::flushed(99);
  metric::guard_failed(2);
  const Metrics m = metrics();
  BOOST_TEST(m.flushes == 4u);
  BOOST_TEST(m.flushes_by_cause[0] == 1u);
  BOOST_TEST(m.flushes_by_cause[3] == 2u);
  BOOST_TEST(m.flushes_by_cause[15] == 1u);
  BOOST_TEST(m.guard_failures == 1u);
  BOOST_TEST(m.guard_failures_by_kind[2] == 1u);

  const char* const causes[] = {"item", "print", "eval", "data"};
  metric::name_causes(causes);
  std::ostringstream os;
  os << m;
  BOOST_TEST(os.str() == to_string(m));
  BOOST_TEST(os.str().find("    data ") != std::string::npos);
  BOOST_TEST(os.str().find("    #15 ") != std::string::npos);
  BOOST_TEST(os.str().find("    #2 ") != std::string::npos);     // kinds have no names yet
  BOOST_TEST(os.str().find("    print ") == std::string::npos);  // zero
  metric::name_causes({});
}

BOOST_AUTO_TEST_CASE(table_has_a_row_for_each) {
  Metrics m;
  m.nodes_recorded = 123456789;
  const std::string text = to_string(m);
#define LAZY_ROW(name, doc) BOOST_TEST(text.find("  " #name " ") != std::string::npos);
  LAZY_COUNTERS(LAZY_ROW)
#undef LAZY_ROW
  BOOST_TEST(text.find(" 123456789  ops recorded") != std::string::npos);
  BOOST_TEST(text.find("bytes_peak") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
