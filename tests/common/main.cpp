#define BOOST_TEST_MODULE lazy
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

// Runs before any constructor reads the environment. The user's LAZY_* variables must not decide the results
// of tests; LAZY_TEST_* are for them. Where LAZY_TEST_ENVIRONMENT is set the other variables are intended:
// ctest sets it, after it has cleared them itself (environment.cmake), and so does this, for the processes
// that tests start.
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
// Tests count what is compiled: nothing may come from, or be added to, the user's cache. Tests of the store
// use separate folders.
[[maybe_unused]] const int alone = setenv("LAZY_CACHE", "off", 0);
#endif

}  // namespace
