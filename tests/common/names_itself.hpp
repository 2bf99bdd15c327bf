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
#include "tests/common/any_call.hpp"

/// Returns the functions that were called so far.
inline std::set<std::string>& called() {
  static std::set<std::string> names;
  return names;
}

namespace detail {

inline void check_names_itself(const std::string& function, const std::string& said, lazy::test::AnyCall call,
                               int line, const char* file, const std::type_info* type) {
  called().insert(function);
  const std::string name = std::filesystem::path(file).filename();
  BOOST_TEST_CONTEXT("from line " << line) {
    try {
      call();
      BOOST_ERROR(function + " throws nothing");
    } catch (const lazy::Error& e) {
      const std::string text = e.what();
      BOOST_TEST((!type || typeid(e) == *type), text);
      BOOST_TEST(text.starts_with(said + ": "), function << " says: " << text);
      BOOST_TEST(text.ends_with("(" + name + ":" + std::to_string(line) + ")"), text);
    }
  }
}

}  // namespace detail

/// Checks that the call throws an error, exactly E unless that is void, that starts with `said` and ends at
/// `line` of the caller's file.
template <class E = void>
void names_itself(const std::string& function, const std::string& said, lazy::test::AnyCall call, int line,
                  const char* file = __builtin_FILE()) {
  const std::type_info* type = nullptr;
  if constexpr (!std::is_void_v<E>) type = &typeid(E);
  detail::check_names_itself(function, said, call, line, file, type);
}
