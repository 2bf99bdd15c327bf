// Counts the guesses: nearly all of them have to hold.
#include <cstdio>

#include "tests/guesses/guesses.hpp"

#undef GUESS
#undef NOT_OFFERED

BOOST_AUTO_TEST_SUITE(guesses_counted)

BOOST_AUTO_TEST_CASE(nearly_all_hold) {
  int offered = 0, all = 0;
#define GUESS(name, ...) ++offered, ++all;
#define NOT_OFFERED(name, reason, ...) ++all, std::printf("  %s: %s\n", #name, reason);
#include "tests/guesses/creation.def"
#include "tests/guesses/indexing.def"
#include "tests/guesses/linalg_random.def"
#include "tests/guesses/math.def"
#include "tests/guesses/nn.def"
#include "tests/guesses/shapes.def"
#include "tests/guesses/types.def"
#include "tests/guesses/values.def"
  std::printf("guesses: %d of %d compile and hold\n", offered, all);
  BOOST_TEST(all == 400);
  BOOST_TEST(offered * 100 >= all * 95);
}

BOOST_AUTO_TEST_SUITE_END()
