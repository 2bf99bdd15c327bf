// Tests that the current setting decides how many threads take part.
#include <tbb/task_arena.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "backends/cpu/threads/parallel.hpp"
#include "support/config.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(cpu_threads)

BOOST_AUTO_TEST_CASE(as_many_as_are_asked_for_now) {
  for (const int threads : {2, 3, 2, 5}) {
    const config::Override set("LAZY_NUM_THREADS", std::to_string(threads));
    BOOST_TEST(cpu_backend::thread_count() == threads);
    std::atomic<int> places{0}, done{0};
    cpu_backend::for_each(8, [&](int64_t) {
      places = tbb::this_task_arena::max_concurrency();
      ++done;
    });
    BOOST_TEST(places == threads);
    BOOST_TEST(done == 8);
  }
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
