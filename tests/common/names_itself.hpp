// Checks that errors say which function was called, and where. A test executable has one list of what it
// called.
#pragma once
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "support/error.hpp"

/// Returns the functions that were called so far.
inline std::set<std::string>& called() {
  static std::set<std::string> names;
  return names;
}

/// Checks that the call throws an error, exactly E unless that is void, that starts with `said` and ends at
/// `line` of the caller's file.
template <class E = void, class F>
void names_itself(const std::string& function, const std::string& said, F&& call, int line,
                  const char* file = __builtin_FILE()) {
  called().insert(function);
  const std::string name = std::filesystem::path(file).filename();
  BOOST_TEST_CONTEXT("from line " << line) {
    try {
      call();
      BOOST_ERROR(function + " throws nothing");
    } catch (const lazy::Error& e) {
      const std::string text = e.what();
      if constexpr (!std::is_void_v<E>) BOOST_TEST((typeid(e) == typeid(E)), text);
      BOOST_TEST(text.starts_with(said + ": "), function << " says: " << text);
      BOOST_TEST(text.ends_with("(" + name + ":" + std::to_string(line) + ")"), text);
    }
  }
}
