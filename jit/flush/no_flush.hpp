// Prevents flushes in a scope.
#pragma once

namespace lazy::jit {

/// Keeps the calling thread from running anything in a scope: a flush throws Error instead, at the line that
/// needs it.
class NoFlush {
 public:
  NoFlush();
  ~NoFlush();
  NoFlush(const NoFlush&) = delete;
  NoFlush& operator=(const NoFlush&) = delete;
};

}  // namespace lazy::jit
