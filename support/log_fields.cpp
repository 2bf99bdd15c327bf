#include "support/log_fields.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "support/json.hpp"

namespace lazy::logging {
namespace {

/// Returns the length of the UTF-8 character at the front of `s`; 0 if there is none.
size_t character(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = byte(0);
  if (c < 0x80) return 1;
  const size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (c < 0xc2 || c > 0xf4 || s.size() < n) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool too_long = (c == 0xe0 && byte(1) < 0xa0) || (c == 0xf0 && byte(1) < 0x90);
  const bool no_character = (c == 0xed && byte(1) > 0x9f) || (c == 0xf4 && byte(1) > 0x8f);
  return too_long || no_character ? 0 : n;
}

/// Names of files and values may have any bytes: what is no UTF-8 becomes U+FFFD.
void quote(std::string& out, std::string_view s) {
  std::string valid;
  valid.reserve(s.size());
  while (!s.empty()) {
    const size_t n = character(s);
    if (n) valid += s.substr(0, n);
    else valid += "\xef\xbf\xbd";
    s.remove_prefix(n ? n : 1);
  }
  json::quote(out, valid);
}

}  // namespace

Fields& Fields::add_json(const char* name, std::string_view json) {
  if (wanted_) ((((text_ += ", \"") += name) += "\": ") += json);
  return *this;
}

Fields& Fields::add(const char* name, std::string_view text) {
  if (!wanted_) return *this;
  std::string quoted;
  quote(quoted, text);
  return add_json(name, quoted);
}

Fields& Fields::add(const char* name, bool v) { return add_json(name, v ? "true" : "false"); }

Fields& Fields::add(const char* name, double v) {
  if (!wanted_) return *this;
  char s[40];
  std::snprintf(s, sizeof s, "%.9g", v);
  return add_json(name, std::isfinite(v) ? s : "null");
}

Fields& Fields::add(const char* name, const std::vector<std::string>& texts) {
  if (!wanted_) return *this;
  std::string list = "[";
  for (const std::string& t : texts) {
    if (list.size() > 1) list += ", ";
    quote(list, t);
  }
  return add_json(name, list + "]");
}

Fields& Fields::at(const Site& s) {
  if (!wanted_ || s.line() == 0) return *this;
  return add("file", s.file_name()).add("line", s.line());
}

std::string Fields::line(std::string_view kind, std::string_view message) const {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  char time[40];
  std::snprintf(time, sizeof time, "%.6f", now.count());
  std::string s = "{\"kind\": ";
  quote(s, kind);
  ((s += ", \"time_s\": ") += time) += text_;
  s += ", \"message\": ";
  quote(s, message);
  return s + "}\n";
}

}  // namespace lazy::logging
