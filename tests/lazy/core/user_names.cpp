// Tests that what a program defines for itself is not ambiguous under `using namespace lazy`: this compiles.
#include <cxxabi.h>

#include <cstdlib>
#include <lazy/lazy.hpp>
#include <lazy/nn/nn.hpp>
#include <lazy/optim/optim.hpp>

#include "tests/common/check.hpp"

using namespace lazy;

struct All {};
struct None {};
struct Ellipsis {};
struct NewAxis {};
struct Bound {};
struct Number {};
struct Integer {};
struct Located {};
struct Counter {
  int n = 0;
};
struct BatchNorm {};
struct MaxPool {};
struct Padding {};
struct Distance {};
struct Histogram {};

namespace user_names {
std::vector<Counter> counters(All, None, Ellipsis, NewAxis, Bound, Number, Integer, Located, BatchNorm,
                              MaxPool, Padding, Distance, Histogram) {
  return {Counter{1}};
}

// An argument too many is not one for the caller's line.
template <class T>
concept TakesIntForSite = requires(T& t) {
  t.ndim(0);
};
static_assert(!TakesIntForSite<const Tensor>);
static_assert(!std::is_convertible_v<int, Site> && !std::is_convertible_v<bool, Site> &&
              !std::is_convertible_v<const char*, Site>);
static_assert(std::is_convertible_v<std::source_location, Site>);
}  // namespace user_names

BOOST_AUTO_TEST_SUITE(user_names_tests)

BOOST_AUTO_TEST_CASE(are_the_users) {
  BOOST_TEST(user_names::counters({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})[0].n == 1);
  int status = 0;
  char* const text = abi::__cxa_demangle("i", nullptr, nullptr, &status);
  BOOST_TEST(std::string(text) == "int");
  std::free(text);
}

BOOST_AUTO_TEST_SUITE_END()
