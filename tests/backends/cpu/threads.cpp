// Tests who does the pieces of a launch: as many threads as the current setting says, and each piece once.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "backends/cpu/threads/parallel.hpp"
#include "backends/cpu/threads/team.hpp"
#include "support/config.hpp"
#include "support/shares.hpp"

using namespace lazy;

namespace {

/// Counts how often each piece is done.
struct Counts {
  explicit Counts(int64_t pieces) : of(static_cast<size_t>(pieces)) {}
  void add(int64_t piece) { ++of[static_cast<size_t>(piece)]; }
  bool once() const {
    for (const auto& n : of)
      if (n != 1) return false;
    return true;
  }
  std::vector<std::atomic<int>> of;
};

void sleep_for(int64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(cpu_threads)

BOOST_AUTO_TEST_CASE(as_many_as_are_asked_for_now) {
  for (const int threads : {2, 3, 2, 5, 1}) {
    const config::Override set("LAZY_NUM_THREADS", std::to_string(threads));
    BOOST_TEST(cpu_backend::thread_count() == threads);
    std::atomic<int> inside{0}, most{0};
    Counts done(24);
    cpu_backend::for_each(24, [&](int64_t p) {
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
      sleep_for(500);
      done.add(p);
      --inside;
    });
    BOOST_TEST(most <= threads);
    BOOST_TEST((most > 1) == (threads > 1));
    BOOST_TEST(done.once());
  }
}

/// Helpers that are awake, asleep, and just between: nobody is left waiting.
BOOST_AUTO_TEST_CASE(whether_helpers_sleep_or_not) {
  const config::Override set("LAZY_NUM_THREADS", "3");
  for (int64_t round = 0; round < 400; ++round) {
    Counts done(round % 37);
    cpu_backend::for_each(round % 37, [&](int64_t p) {
      if (round % 50 == 7) sleep_for(300);  // longer than the caller waits busily
      done.add(p);
    });
    BOOST_TEST(done.once());
    if (round % 4 == 0) sleep_for(round / 2);  // helpers fall asleep after some 100 us
  }
}

BOOST_AUTO_TEST_CASE(several_ask_at_once) {
  const config::Override set("LAZY_NUM_THREADS", "3");
  std::vector<std::thread> askers;
  std::atomic<int> wrong{0};
  for (int a = 0; a < 12; ++a)  // more than jobs that are helped at a time
    askers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        Counts done(20);
        cpu_backend::for_each(20, [&](int64_t p) { done.add(p); });
        wrong += !done.once();
      }
    });
  for (std::thread& t : askers) t.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_piece_may_ask_itself) {
  const config::Override set("LAZY_NUM_THREADS", "3");
  Counts done(6 * 7);
  cpu_backend::for_each(
      6, [&](int64_t p) { cpu_backend::for_each(7, [&](int64_t q) { done.add(p * 7 + q); }); });
  BOOST_TEST(done.once());
}

BOOST_AUTO_TEST_CASE(what_a_piece_throws) {
  const config::Override set("LAZY_NUM_THREADS", "3");
  for (int64_t bad = 0; bad < 9; ++bad) {
    std::atomic<int> done{0};
    BOOST_CHECK_THROW(cpu_backend::for_each(9,
                                            [&](int64_t p) {
                                              ++done;
                                              if (p == bad) throw std::runtime_error("bad");
                                            }),
                      std::runtime_error);
    BOOST_TEST(done == 9);
  }
  Counts after(9);
  cpu_backend::for_each(9, [&](int64_t p) { after.add(p); });
  BOOST_TEST(after.once());
}

BOOST_AUTO_TEST_CASE(shares_are_taken_once) {
  for (const int64_t pieces : {0, 1, 2, 3, 17, 100})
    for (const int64_t takers : {1, 2, 3, 16, 40})
      for (const int64_t at_once : {1, 3, 200}) {
        Shares shares(pieces, takers, at_once);
        Counts done(pieces);
        const int64_t taker = pieces % takers;
        for (int64_t first, last; shares.take(taker, first, last);)
          for (int64_t p = first; p < last; ++p) done.add(p);
        BOOST_TEST(done.once());
      }
  for (const int64_t pieces : {1, 2, 7, 16, 33})
    for (const int64_t takers : {1, 2, 3, 40}) {
      Counts done(pieces);
      for (int64_t p = 0; p < pieces; ++p) {
        const int64_t m = Shares::mirrored(p, pieces, takers);
        BOOST_TEST(Shares::mirrored(m, pieces, takers) == p);
        done.add(m);
      }
      BOOST_TEST(done.once());
    }
  BOOST_TEST(Shares::mirrored(0, 10, 2) == 4);
  Shares two(10, 2);  // each begins with its own
  int64_t first = 0, last = 0;
  BOOST_TEST(two.take(1, first, last));
  BOOST_TEST(first == 5);
  BOOST_TEST(two.take(0, first, last));
  BOOST_TEST(first == 0);
}

BOOST_AUTO_TEST_CASE(one_piece_stays_here) {
  const std::thread::id self = std::this_thread::get_id();
  std::thread::id at;
  cpu_backend::for_each(1, [&](int64_t piece) {
    BOOST_TEST(piece == 0);
    at = std::this_thread::get_id();
  });
  BOOST_TEST((at == self));
}

BOOST_AUTO_TEST_SUITE_END()
