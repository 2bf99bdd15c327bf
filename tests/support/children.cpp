// Tests what the tests promise: the user's environment does not decide their results, and processes that they
// start end with them.
#include "tests/common/child.hpp"

#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "child.hpp"
#include "support/config.hpp"

BOOST_AUTO_TEST_SUITE(children)

BOOST_AUTO_TEST_CASE(child_without_variables) {
  if (!lazy_test::is_child()) return;
  std::exit(!std::getenv("LAZY_EAGER") && !lazy::config::get().eager ? 4 : 5);
}
BOOST_AUTO_TEST_CASE(variables_of_who_runs_the_tests_are_cleared) {
  const auto [said, status] = lazy_test::run_again("children/child_without_variables",
                                                   {{"LAZY_EAGER", "1"}, {"LAZY_TEST_ENVIRONMENT", ""}});
  BOOST_TEST(status == 4);
  BOOST_TEST(said.find("tests: LAZY_EAGER is ignored (LAZY_TEST_ENVIRONMENT=1 keeps it)\n") != said.npos,
             said);
}

BOOST_AUTO_TEST_CASE(child_with_variables) {
  if (!lazy_test::is_child()) return;
  std::exit(std::getenv("LAZY_EAGER") && lazy::config::get().eager ? 4 : 5);
}
BOOST_AUTO_TEST_CASE(those_that_a_test_gives_its_child_are_kept) {
  BOOST_TEST(lazy_test::run_again("children/child_with_variables", {{"LAZY_EAGER", "1"}}).second == 4);
}

BOOST_AUTO_TEST_CASE(a_child_ends_with_its_parent) {
  BOOST_REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);  // so that this process can wait for orphans
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const pid_t parent = lazy::test::fork_child();
  if (parent == 0) {
    const pid_t child = lazy::test::fork_child();
    if (child == 0)
      for (;;) pause();
    _exit(write(ends[1], &child, sizeof child) == sizeof child ? 0 : 1);
  }
  pid_t child = 0;
  BOOST_REQUIRE(read(ends[0], &child, sizeof child) == sizeof child);
  int status = 0;
  waitpid(parent, &status, 0);
  BOOST_TEST(status == 0);
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  const bool by_signal = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;  // not because of its time limit
  const bool by_itself = WIFEXITED(status) && WEXITSTATUS(status) == 126;  // it saw that its parent was gone
  BOOST_TEST((by_signal || by_itself), "status " << status);
  close(ends[0]);
  close(ends[1]);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

BOOST_AUTO_TEST_CASE(a_child_has_a_bound) {
  const pid_t child = lazy::test::fork_child(1);
  if (child == 0)
    for (;;) pause();
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_TEST(WIFSIGNALED(status));
  BOOST_TEST(WTERMSIG(status) == SIGALRM);
}

BOOST_AUTO_TEST_SUITE_END()
