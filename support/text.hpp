// Provides small text functions that the other floors share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lazy::text {

/// Returns the number of edits (insert, delete, replace, swap two neighbours) from `a` to `b`, ignoring case.
int edit_distance(std::string_view a, std::string_view b);

/// Returns 4096 as "4KiB", 1536 as "1536": the largest unit that divides it. It reads back as the same
/// number.
std::string exact_size(uint64_t bytes);
/// Returns 1610612736 as "1.5 GiB": rounded, for people.
std::string human_size(uint64_t bytes);

/// Returns a number as printf writes it by `format`, at most 63 characters.
std::string formatted(const char* format, double);

/// Returns "1 kernel", "2 kernels", "2 flushes".
std::string counted(uint64_t n, std::string_view what);

/// Removes ASCII blanks at either end.
std::string_view trimmed(std::string_view);
std::string lower_case(std::string_view);
/// Returns the text on one line: control characters as
/// , \t or \xNN; more than `limit` characters end in "...".
std::string one_line(std::string_view, size_t limit = 80);
/// Returns a value for a message: on one line, cut, in quotes.
std::string quoted(std::string_view, size_t limit = 80);
/// Returns the same lines without characters that a terminal acts on.
std::string printable(std::string_view, size_t limit = ~size_t{0});

template <class Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& p : parts) {
    if (!first) out += separator;
    out += p;
    first = false;
  }
  return out;
}

}  // namespace lazy::text
