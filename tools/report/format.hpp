// Writes numbers and texts as pages and pictures have them.
#pragma once
#include <cmath>
#include <string>

namespace report {

/// Returns microseconds with three decimals.
inline double rounded(double us) { return std::round(us * 1000) / 1000; }

/// Returns a text as HTML and SVG take it.
inline std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s)
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

}  // namespace report
