// Log lines caught for a scope, each as "channel|text". (lazy::log is a function to whoever includes lazy/lazy.hpp, so the
// namespace of that name is used in log_lines.cpp only.)
#pragma once
#include <string>
#include <vector>

namespace fresh {

class LogLines {
 public:
  LogLines();
  ~LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  /// All so far, a newline after each.
  std::string text() const;
};

}  // namespace fresh
