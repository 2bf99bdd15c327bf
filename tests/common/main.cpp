#define BOOST_TEST_MODULE lazy
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

// Before any constructor reads the environment. LAZY_* variables of who runs the tests must not decide what
// they find; LAZY_TEST_* are for them. Where LAZY_TEST_ENVIRONMENT is set the others are meant: ctest sets
// it, after it has cleared them itself (environment.cmake), and so does this, for the processes that tests
// start.
[[gnu::constructor(101)]] void clear_environment() {
  const char* const given = std::getenv("LAZY_TEST_ENVIRONMENT");
  if (given && *given) return;
  std::vector<std::string> found;
  for (char** v = environ; *v; ++v)
    if (std::strncmp(*v, "LAZY_", 5) == 0 && std::strncmp(*v, "LAZY_TEST_", 10) != 0)
      found.emplace_back(*v, std::strcspn(*v, "="));
  for (const std::string& name : found) {
    const std::string line = "tests: " + name + " is ignored (LAZY_TEST_ENVIRONMENT=1 keeps it)\n";
    (void)!write(2, line.data(), line.size());
    unsetenv(name.c_str());
  }
  setenv("LAZY_TEST_ENVIRONMENT", "1", 1);
}

#ifndef LAZY_TESTS_WITH_CACHE
// Tests count what is compiled: nothing may come from, or go to, the user's cache. Tests of the store use
// folders of their own.
[[maybe_unused]] const int alone = setenv("LAZY_CACHE", "off", 0);
#endif

}  // namespace
