#include "support/text.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "support/float_mode.hpp"

namespace lazy::text {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the optimal string alignment table: a swap looks two rows back.
  const size_t n = b.size();
  std::vector<int> before(n + 1), above(n + 1), row(n + 1);
  for (size_t j = 0; j <= n; ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= n; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + !same});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[n];
}

std::string exact_size(uint64_t bytes) {
  int unit = 0;
  while (bytes && unit < 4 && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return std::to_string(bytes) + kUnits[unit];
}

std::string human_size(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double v = static_cast<double>(bytes);
  int unit = 0;
  while (v >= 1023.95 && unit < 4) v /= 1024, ++unit;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f %s", v, kUnits[unit]);
  return buffer;
}

std::string formatted(const char* format, double v) {
  const FloatEnvironment environment;
  char text[64];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::string counted(uint64_t n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : what.ends_with('h') ? "es" : "s");
}

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const size_t first = s.find_first_not_of(blanks);
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

std::string lower_case(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = lower(c);
  return out;
}

namespace {

/// Returns `s` cut to `limit`, with control characters spelled out, except those in `kept`.
std::string escaped(std::string_view s, size_t limit, std::string_view kept) {
  size_t end = std::min(s.size(), limit);
  while (end < s.size() && end > 0 && (s[end] & 0xc0) == 0x80) --end;  // not within a character of UTF-8
  std::string out;
  const auto hex = [&](unsigned char u) {
    char text[8];
    std::snprintf(text, sizeof text, "\\x%02x", u);
    out += text;
  };
  for (size_t i = 0; i < end; ++i) {
    const auto u = static_cast<unsigned char>(s[i]);
    const bool second_set =
        u == 0xc2 && i + 1 < s.size() && static_cast<unsigned char>(s[i + 1]) < 0xa0;  // U+0080 on
    if (kept.find(s[i]) != kept.npos) out += s[i];
    else if (u == '\n') out += "\\n";
    else if (u == '\t') out += "\\t";
    else if (u < 0x20 || u == 0x7f) hex(u);
    else if (second_set) hex(u), hex(static_cast<unsigned char>(s[++i]));
    else out += s[i];
  }
  if (end < s.size()) out += "...";
  return out;
}

}  // namespace

std::string one_line(std::string_view s, size_t limit) { return escaped(s, limit, {}); }
std::string quoted(std::string_view s, size_t limit) { return "'" + one_line(s, limit) + "'"; }
std::string printable(std::string_view s, size_t limit) { return escaped(s, limit, "\n\t"); }

}  // namespace lazy::text
