// Checks that errors say which function was called, and where. Each test that includes it has a list of its
// own of what it called.
#pragma once
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "support/error.hpp"

namespace {

/// Returns the functions that this file has called.
std::set<std::string>& called() {
  static std::set<std::string> names;
  return names;
}

/// Checks that the call throws an error, exactly E unless that is void, that starts with `said` and ends at
/// `line` of a file messages.cpp.
template <class E = void, class F>
void names_itself(const std::string& function, const std::string& said, F&& call, int line) {
  called().insert(function);
  BOOST_TEST_CONTEXT("from line " << line) {
    try {
      call();
      BOOST_ERROR(function + " throws nothing");
    } catch (const lazy::Error& e) {
      const std::string text = e.what();
      if constexpr (!std::is_void_v<E>) BOOST_TEST((typeid(e) == typeid(E)), text);
      BOOST_TEST(text.starts_with(said + ": "), function << " says: " << text);
      BOOST_TEST(text.ends_with("(messages.cpp:" + std::to_string(line) + ")"), text);
    }
  }
}

}  // namespace
