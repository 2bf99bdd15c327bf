// Folds log lines that repeat: of those that are the same but for their numbers the first few are printed,
// and the others counted, until a line of another kind is printed or the program ends.
//
//   lazy[flush] ... and 19998 more like it: flush by item at main.cpp:33: ..., hit, 0.8 to 7.2 us in all
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lazy::logging {

class Folding {
 public:
  static constexpr uint32_t kFew = 3;  // lines of a kind that are printed

  /// Returns what is to be written now for a text of one or several lines: nothing if it is only counted;
  /// else it, after a line for each kind that was counted. Each line begins with `prefix` and ends in a new
  /// line.
  std::string add(std::string_view prefix, std::string_view text);
  /// Returns a line for each kind that was counted since it was last written about.
  std::string rest();
  /// True if a kind was counted that rest() would write about.
  bool counts() const { return counted_ > 0; }

 private:
  /// Holds the range of one number of the lines that were counted, as it was written.
  struct Range {
    double least = 0, most = 0;
    std::string least_text, most_text;
  };
  struct Kind {
    std::string prefix;
    uint32_t printed = 0;
    uint64_t counted = 0;
    std::vector<Range> ranges;        // of the first line's numbers
    std::vector<std::string> around;  // the first line's text before each number, and behind the last
    uint64_t order = 0;               // when the first of those counted came
  };
  static std::string text_of(const Kind&);

  std::map<std::string, Kind, std::less<>> kinds_;  // by prefix and text without numbers
  uint64_t counted_ = 0;                            // lines of all kinds
  uint64_t order_ = 0;
};

/// Returns each line of the text with the prefix before it and a new line behind.
std::string with_prefix(std::string_view prefix, std::string_view text);

}  // namespace lazy::logging
