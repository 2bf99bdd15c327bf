// Runs cases of the same test program in other processes: a process has one backend, and one environment.
#pragma once
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/child.hpp"
#include "tests/common/folder.hpp"

namespace lazy::test {

using Variables = std::vector<std::pair<const char*, std::string>>;

/// Starts the cases that `tests` names, "suite/case*,other", with these variables. Returns the process.
inline pid_t start_again(const std::string& tests, const Variables& variables) {
  const std::string filter = "--run_test=" + tests;
  const pid_t child = fork_child();
  if (child) return child;
  for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
  execl("/proc/self/exe", "test", "--log_level=error", filter.c_str(), nullptr);
  _exit(127);
}
/// Checks that the process has passed its cases.
inline void wait_for(pid_t child, const std::string& what = {}) {
  int status = -1;
  BOOST_TEST(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0, what);
}
inline void run_again(const std::string& tests, const Variables& variables) {
  wait_for(start_again(tests, variables), variables.empty() ? std::string() : variables[0].second);
}

/// Checks that a case writes the same bytes to the file that LAZY_TEST_BITS names, whatever the variables.
inline void same_bits(const std::string& test, const std::vector<Variables>& all) {
  const Folder folder;
  std::vector<std::string> bits;
  for (size_t i = 0; i < all.size(); ++i) {
    Variables v = all[i];
    v.emplace_back("LAZY_TEST_BITS", folder / std::to_string(i));
    run_again(test, v);
    std::ifstream file(folder / std::to_string(i), std::ios::binary);
    bits.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    BOOST_TEST(!bits[i].empty());
    BOOST_TEST((bits[i] == bits[0]), "run " << i);
  }
}

}  // namespace lazy::test
