// A scope in which no flush may run.
#pragma once

namespace lazy::jit {

/// While one lives, the calling thread runs nothing: a flush throws Error instead, at the line that asked for
/// it.
class NoFlush {
 public:
  NoFlush();
  ~NoFlush();
  NoFlush(const NoFlush&) = delete;
  NoFlush& operator=(const NoFlush&) = delete;
};

}  // namespace lazy::jit
