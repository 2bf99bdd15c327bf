// Checks that something throws where a test says.
#pragma once
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

namespace lazy::test {

/// Calls f: it has to throw an E whose text has `part` and this line of this file.
template <class E, class F>
void fails_at(const std::string& file, uint32_t line, const std::string& part, F&& f) {
  try {
    f();
    BOOST_ERROR("nothing was thrown, expected: " + part);
  } catch (const E& e) {
    const std::string text = e.what();
    BOOST_TEST(text.find(part) != text.npos, text);
    BOOST_TEST(text.find(file + ":" + std::to_string(line)) != text.npos, text << ", expected line " << line);
  }
}

}  // namespace lazy::test
