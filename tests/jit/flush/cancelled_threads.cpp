// Tests threads that pthread_cancel() ends while they compute, compile, store what they compiled, and warn.
#include <pthread.h>
#include <unistd.h>

#include "tests/common/folder.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;

namespace {

void* compute(void*) {
  for (unsigned k = 0;; ++k) {
    Tensor x = arange(10 + k % 7, float32);
    for (unsigned j = 0; j <= k % 9; ++j) x = x * 2 + 1;
    sum(x).item<float>();
    pthread_testcancel();
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cancelled_threads, fresh::Fixture)

BOOST_AUTO_TEST_CASE(leave_everything_in_order) {
  const test::Folder folder;
  const fresh::Override on("LAZY_CACHE", "on"), where("LAZY_CACHE_DIR", folder.path());
  for (unsigned i = 0; i < 60; ++i) {
    cache::clear();
    pthread_t thread;
    BOOST_REQUIRE(pthread_create(&thread, nullptr, compute, nullptr) == 0);
    usleep(200 + i * 37 % 1500);
    BOOST_TEST(pthread_cancel(thread) == 0);
    void* result = nullptr;
    BOOST_TEST(pthread_join(thread, &result) == 0);
    BOOST_TEST(result == PTHREAD_CANCELED);
  }
  BOOST_TEST(sum(arange(10)).item<int64_t>() == 45);
}

BOOST_AUTO_TEST_SUITE_END()
