// Holds what a log line says, field by field, for LAZY_LOG_FORMAT=json. Separate from log.hpp, which most
// files include.
//
//   logging::write(Channel::miss, text, logging::Fields().at(site).add("cause", "item"));
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/log.hpp"
#include "support/site.hpp"

namespace lazy::logging {

/// Collects the fields of one line. Takes nothing, at no cost but a branch, while lines are text.
class Fields {
 public:
  Fields() noexcept : wanted_(is_json()) {}
  /// Adds "file", as the compiler was given it, and "line"; nothing of a site without a line.
  Fields& at(const Site&);
  Fields& add(const char* name, std::string_view text);
  Fields& add(const char* name, const char* text) { return add(name, std::string_view(text)); }
  Fields& add(const char* name, const std::string& text) { return add(name, std::string_view(text)); }
  Fields& add(const char* name, bool);
  Fields& add(const char* name, double);
  template <std::integral T>
  Fields& add(const char* name, T v) {
    return add_json(name, std::to_string(v));
  }
  Fields& add(const char* name, const std::vector<std::string>& texts);
  /// Adds what is JSON already.
  Fields& add_json(const char* name, std::string_view json);

  /// Returns the line: an object of "kind", "time_s" (seconds since 1970), the fields, and "message".
  std::string line(std::string_view kind, std::string_view message) const;

 private:
  const bool wanted_;
  std::string text_;  // ', "name": value' of each
};

}  // namespace lazy::logging
