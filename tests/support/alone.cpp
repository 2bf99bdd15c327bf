// Tests counting without locked instructions while the process has one thread.
#include "support/alone.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/lines.hpp"
#include "support/lock.hpp"

using namespace lazy;

namespace {

void numbers_change_as_atomics_do() {
  std::atomic<uint64_t> n{5};
  BOOST_TEST(lazy::fetch_add(n, 3, std::memory_order_relaxed) == 5u);
  BOOST_TEST(lazy::fetch_sub(n, 7, std::memory_order_acq_rel) == 8u);
  BOOST_TEST(n.load() == 1u);
  std::atomic<uint8_t> small{255};
  BOOST_TEST(lazy::fetch_add(small, 1, std::memory_order_relaxed) == 255);
  BOOST_TEST(small.load() == 0);
  BOOST_TEST(lazy::fetch_sub(small, 1, std::memory_order_relaxed) == 0);
  BOOST_TEST(small.load() == 255);
  uint64_t expected = 2;
  BOOST_TEST(!compare_exchange(n, expected, 9, std::memory_order_acquire));
  BOOST_TEST(expected == 1u);
  BOOST_TEST(n.load() == 1u);
  BOOST_TEST(compare_exchange(n, expected, 9, std::memory_order_acquire));
  BOOST_TEST(n.load() == 9u);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(alone_or_not)

BOOST_AUTO_TEST_CASE(with_one_thread_and_with_two) {
  numbers_change_as_atomics_do();
  std::thread([] {
    BOOST_TEST(!alone());
    numbers_change_as_atomics_do();
  }).join();
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_among_threads) {
  constexpr int kThreads = 4, kTimes = 20000;
  std::atomic<uint64_t> counted{0}, exchanged{0};
  SpinLock spin;
  Mutex mutex;
  uint64_t under_spin = 0, under_mutex = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        lazy::fetch_add(counted, 3, std::memory_order_relaxed);
        lazy::fetch_sub(counted, 1, std::memory_order_relaxed);
        uint64_t seen = exchanged.load();
        while (!compare_exchange(exchanged, seen, seen + 1, std::memory_order_relaxed)) {}
        {
          const Hold hold(spin);
          ++under_spin;
        }
        const Hold hold(mutex);
        ++under_mutex;
      }
    });
  for (std::thread& t : threads) t.join();
  constexpr uint64_t kAll = uint64_t{kThreads} * kTimes;
  BOOST_TEST(counted.load() == 2 * kAll);
  BOOST_TEST(exchanged.load() == kAll);
  BOOST_TEST(under_spin == kAll);
  BOOST_TEST(under_mutex == kAll);
}

BOOST_AUTO_TEST_CASE(lines_of_anything) {
  Lines lines;
  lines.add(nullptr, 10);
  lines.add(&lines, 0);
  BOOST_TEST(lines.empty());
  lines.prefetch();
  for (int i = 0; i < 100; ++i)
    lines.add(reinterpret_cast<const void*>(uintptr_t{1} << i % 48), 1u << i % 20);
  BOOST_TEST(!lines.empty());
  lines.prefetch();  // nothing has to be there
}

BOOST_AUTO_TEST_SUITE_END()
