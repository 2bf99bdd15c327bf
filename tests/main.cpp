#define BOOST_TEST_MODULE lazy
#include <boost/test/unit_test.hpp>
