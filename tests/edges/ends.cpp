// Values that are needed late (while statics, thread_local objects and threads end, at exit) and early
// (before main) are computed like any other.
#include <boost/test/unit_test.hpp>

#include "tests/common/folder.hpp"
#include "tests/common/processes.hpp"

using namespace lazy::test;

namespace {

const std::string kValues = " 120 3.99983e+10 150 counted\n";

void ends_well(const std::string& when, const std::string& thread, const std::string& says,
               const Environment& environment = {}) {
  const Ended e = run({LAZY_LATE, when, thread}, environment);
  BOOST_TEST(e.good(), when + " of " + thread + ": status " + std::to_string(e.status) + "\n" + e.said);
  BOOST_TEST(e.said == says, when + " of " + thread);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ends)

BOOST_AUTO_TEST_CASE(a_static_objects_destructor) {
  for (const char* thread : {"main", "thread", "detached"}) ends_well("static", thread, "static:" + kValues);
}

BOOST_AUTO_TEST_CASE(a_thread_local_objects_destructor) {
  for (const char* thread : {"main", "thread", "detached"})
    for (const char* when : {"thread_local", "thread_local_later"})
      ends_well(when, thread, "thread_local:" + kValues);
}

BOOST_AUTO_TEST_CASE(atexit) {
  for (const char* thread : {"main", "thread", "detached"}) ends_well("atexit", thread, "atexit:" + kValues);
}

BOOST_AUTO_TEST_CASE(a_posix_keys_destructor) {
  for (const char* thread : {"main", "thread", "detached"}) ends_well("key", thread, "key:" + kValues);
}

BOOST_AUTO_TEST_CASE(what_is_pending_is_dropped) {
  for (const char* thread : {"main", "thread", "detached"}) ends_well("dropped", thread, "");
}

// An effect that never ran is told with its line, when its thread or the process ends.
BOOST_AUTO_TEST_CASE(effects_that_never_ran) {
  for (const char* thread : {"main", "thread"}) {
    const Ended e = run({LAZY_LATE, "effect", thread}, {});
    BOOST_TEST(e.good(), e.said);
    BOOST_TEST(e.said.starts_with("lazy: test.effect, recorded at "), e.said);
    BOOST_TEST(e.said.find("late_child.cpp:") != std::string::npos, e.said);
    BOOST_TEST(e.said.find("never ran") != std::string::npos, e.said);
  }
}

BOOST_AUTO_TEST_CASE(with_a_cache_a_profile_and_a_log) {
  const Folder folder;
  Environment all = cached_in(folder / "cache");
  all["LAZY_PROFILE"] = folder / "trace.json";
  all["LAZY_LOG"] = "all";
  all["LAZY_LOG_FILE"] = folder / "log";
  all["LAZY_VERIFY"] = "on";
  all["LAZY_NUM_THREADS"] = "2";
  for (int round = 0; round < 2; ++round)
    for (const char* thread : {"main", "thread", "detached"})
      for (const char* when : {"static", "thread_local", "atexit"})
        ends_well(when, thread, when + (":" + kValues), all);
}

BOOST_AUTO_TEST_CASE(before_main) {
  const Ended e = run({LAZY_EARLY}, {});
  BOOST_TEST(e.good(), e.said);
  BOOST_TEST(e.said == "early 110 4.50002e+10 420 4.50002e+10\nmain 55\nlate 8420\nlate 1110\n");
}

BOOST_AUTO_TEST_SUITE_END()
