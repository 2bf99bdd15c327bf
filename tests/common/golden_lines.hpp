// Reads the lines of tests/golden: fields separated by " | ", of words.
#pragma once
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "jit/core/dtype.hpp"

namespace golden {

/// Returns the words of a text that are not empty.
inline std::vector<std::string> words(const std::string& s, char separator = ' ') {
  std::vector<std::string> r;
  std::istringstream in(s);
  for (std::string w; std::getline(in, w, separator);)
    if (!w.empty()) r.push_back(w);
  return r;
}

/// Returns the fields of a line, in order.
inline std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> r;
  size_t at = 0;
  for (size_t end; (end = line.find(" | ", at)) != line.npos; at = end + 3)
    r.push_back(line.substr(at, end - at));
  r.push_back(line.substr(at));
  return r;
}

inline lazy::DType dtype_named(const std::string& name) {
  for (int i = 0; i < lazy::kAllDTypeCount; ++i)
    if (name == lazy::name_of(static_cast<lazy::DType>(i))) return static_cast<lazy::DType>(i);
  BOOST_FAIL("no dtype " + name);
  return lazy::bool_;
}

}  // namespace golden
