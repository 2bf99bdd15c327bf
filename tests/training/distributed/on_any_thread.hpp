// Checks on any thread: Boost's checks are for one at a time.
#pragma once
#include <boost/test/unit_test.hpp>
#include <mutex>
#include <string>

namespace lazy::test {

inline void check(bool good, const std::string& what) {
  static std::mutex one;
  const std::lock_guard lock(one);
  BOOST_TEST(good, what);
}

}  // namespace lazy::test
