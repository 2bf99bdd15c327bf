// Finds the word that somebody may have meant.
#pragma once
#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace lazy::tool {

/// Returns the number of letters to add, leave out or replace (Levenshtein) to make one word the other.
inline size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// Returns the word of a list that needs the fewest edits; the list is not empty.
inline std::string nearest(std::string_view word, const std::vector<std::string>& words) {
  word = word.substr(0, 64);  // bounds the time that a long one takes
  return *std::min_element(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
    return edits(word, a) < edits(word, b);
  });
}

}  // namespace lazy::tool
