#pragma once
#include <string>

namespace lazy::test {

/// Returns the message that f throws as an E; empty if it throws nothing.
template <class E, class F>
std::string thrown(F&& f) {
  try {
    f();
  } catch (const E& e) { return e.what(); }
  return {};
}

}  // namespace lazy::test
