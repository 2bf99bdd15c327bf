#define BOOST_TEST_MODULE lazy
#include <boost/test/unit_test.hpp>
#include <cstdlib>

#ifndef LAZY_TEST_ENVIRONMENT
// Tests count what is compiled: nothing may come from, or go to, the user's cache. Tests of the store use
// folders of their own.
[[maybe_unused]] static const int alone = setenv("LAZY_CACHE", "off", 0);
#endif
