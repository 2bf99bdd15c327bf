// Has test cases skipped, and reported so, where the machine lacks what they are about.
//
//   BOOST_AUTO_TEST_CASE(shapes, *test::needs("tile registers", has_tiles)) { ... }
#pragma once
#include <boost/test/unit_test.hpp>
#include <functional>

namespace lazy::test {

inline boost::unit_test::precondition needs(const char* what, const std::function<bool()>& there) {
  return boost::unit_test::precondition([=](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result is(there());
    is.message() << "it needs " << what;
    return is;
  });
}

}  // namespace lazy::test
