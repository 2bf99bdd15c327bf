#include "support/log_fields.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "support/json.hpp"
#include "support/utf8.hpp"

namespace lazy::logging {
namespace {

/// Names of files and values may have any bytes.
void quote(std::string& out, std::string_view s) { json::quote(out, utf8::repaired(s)); }

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
