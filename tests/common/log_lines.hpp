// Collects log lines for a scope, each as "channel|text".
#pragma once
#include <string>

namespace fresh {

class LogLines {
 public:
  LogLines();
  ~LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  /// Returns all lines so far, a newline after each.
  std::string text() const;
};

}  // namespace fresh
