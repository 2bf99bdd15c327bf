// Tests that cached memory is never the reason why there is none.
#include <boost/test/unit_test.hpp>

#include "tests/common/processes.hpp"

using namespace lazy::test;

namespace {

std::string says(const std::string& scenario, int mib) {
  const Ended e = run({LAZY_LITTLE_MEMORY, scenario, std::to_string(mib)}, {{"LAZY_NUM_THREADS", "1"}});
  BOOST_TEST(e.good(), scenario + " in " + std::to_string(mib) + " MiB: status " + std::to_string(e.status));
  return e.said;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(dead_values_make_room_for_others) {
  for (const int mib : {250, 500, 1000}) BOOST_TEST(says("growing", mib) == "failed 0\n");
}

BOOST_AUTO_TEST_CASE(one_that_is_too_large_is_the_only_one_to_fail) {
  const std::string said = says("too_much", 400);
  BOOST_TEST(said.ends_with("\nfailed some, then 0\n"), said);
  BOOST_TEST(said.starts_with("out of memory: "), said);
  BOOST_TEST(said.find(" MiB for ") != said.npos, said);
  BOOST_TEST(said.find(", recorded at ") != said.npos, said);
}

BOOST_AUTO_TEST_CASE(what_is_dead_is_not_kept_for_ever) {
  BOOST_TEST(says("dead", 0) == "kept some, released much, left little\n");
}

BOOST_AUTO_TEST_CASE(threads_that_share_little) { BOOST_TEST(says("threads", 700) == "failed 0\n"); }

// Kernels that pack operands take memory, too, after an input was overwritten.
BOOST_AUTO_TEST_CASE(a_step_that_has_too_little_loses_no_parameters) {
  const std::string said = says("training", 0);
  BOOST_TEST(said == "too little: some, models lost: 0\n", said);
}

BOOST_AUTO_TEST_CASE(products_need_no_more_than_their_results) {
  const std::string said = says("product", 0);
  BOOST_TEST(said == "computed in all, the same bits\n", said);
}

BOOST_AUTO_TEST_SUITE_END()
