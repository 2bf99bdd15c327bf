// Tests locks and values that a thread of the parent held, or was making, when the process was forked.
#include "support/forks.hpp"

#include <boost/test/unit_test.hpp>
#include <latch>
#include <thread>

#include "support/error.hpp"
#include "support/lock.hpp"
#include "tests/common/forked.hpp"

using namespace lazy;
using test::good_in_child;

namespace {

/// Forks while another thread is inside `work`, which waits where it calls its argument.
template <class Work, class Child>
bool good_while(Work work, Child child) {
  std::latch begun(1), over(1);
  std::thread other([&] {
    work([&] {
      begun.count_down();
      over.wait();
    });
  });
  begun.wait();
  const bool good = good_in_child(child);
  over.count_down();
  other.join();
  return good;
}

template <class Lock>
bool throws(Lock& lock) {
  try {
    lock.lock();
  } catch (const DeviceError&) { return true; }
  return false;
}

template <class Lock>
void check_left_behind() {
  static Lock lock;
  const auto holds = [](auto wait) {
    const std::lock_guard hold(lock);
    wait();
  };
  BOOST_TEST(good_while(holds, [] { return throws(lock) && throws(lock); }));
  // A child that goes on without the guarded data has the lock, and from then on everything works.
  BOOST_TEST(good_while(holds, [] {
    {
      const Hold hold(lock);
      if (hold.intact()) return false;
    }
    const Hold again(lock);
    return again.intact();
  }));
  const Hold hold(lock);
  BOOST_TEST(hold.intact());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(forking)

BOOST_AUTO_TEST_CASE(generations_are_counted) {
  const uint32_t before = forks::generation();
  BOOST_TEST(good_in_child([&] {
    return forks::generation() == before + 1 &&
           good_in_child([&] { return forks::generation() == before + 2; });
  }));
  BOOST_TEST(forks::generation() == before);
}

BOOST_AUTO_TEST_CASE(a_lock_that_stayed_behind_is_not_waited_for) {
  check_left_behind<Mutex>();
  check_left_behind<SpinLock>();
}

BOOST_AUTO_TEST_CASE(a_lock_that_others_wait_for_stays_behind_too) {
  static Mutex lock;
  std::latch begun(1), over(1);
  std::thread holder([&] {
    const std::lock_guard hold(lock);
    begun.count_down();
    over.wait();
  });
  begun.wait();
  std::thread waiter([&] { const std::lock_guard hold(lock); });
  ::usleep(20000);
  BOOST_TEST(!lock.try_lock());
  BOOST_TEST(good_in_child([&] { return !lock.try_lock() && throws(lock) && !lock.take(); }));
  over.count_down();
  holder.join();
  waiter.join();
  BOOST_TEST(lock.try_lock());
  lock.unlock();
}

BOOST_AUTO_TEST_CASE(locks_exclude_each_other_in_a_child) {
  static Mutex lock;
  BOOST_TEST(good_in_child([] {
    int sum = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 20000; ++i) {
          const std::lock_guard hold(lock);
          ++sum;
        }
      });
    for (auto& t : threads) t.join();
    return sum == 80000;
  }));
}

BOOST_AUTO_TEST_CASE(a_value_that_was_being_made_is_made_anew) {
  static Once<int> once;
  BOOST_TEST(good_while(
      [](auto wait) {
        once.get([&] {
          wait();
          return 1;
        });
      },
      [] { return once.get([] { return 2; }) == 2 && once.get([] { return 3; }) == 2; }));
  BOOST_TEST(once.get([] { return 4; }) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
