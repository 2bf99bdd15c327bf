// Checks on any thread: Boost's checks are for one at a time.
#pragma once
#include <boost/test/unit_test.hpp>
#include <functional>
#include <mutex>
#include <string>

namespace lazy::test {

inline void check(bool good, const std::string& what) {
  static std::mutex one;
  const std::lock_guard lock(one);
  BOOST_TEST(good, what);
}

/// Checks that f throws an E whose text has this part.
template <class E>
void throws(const std::string& part, const std::function<void()>& f) {
  try {
    f();
    check(false, "nothing was thrown, expected: " + part);
  } catch (const E& e) { check(std::string(e.what()).find(part) != std::string::npos, e.what()); }
}

}  // namespace lazy::test
