// Adds up what flushes and launches cost, by the line that asked, while somebody wants a summary:
// LAZY_LOG=summary from the first flush to the end, Summarising in a scope.
#pragma once
#include "support/summary.hpp"

namespace lazy::jit {

/// Adds up what all threads flush from its construction on.
class Summarising {
 public:
  class Impl;
  Summarising();
  ~Summarising();
  Summarising(const Summarising&) = delete;
  /// Returns what was flushed so far.
  Summary summary() const;

 private:
  Impl* const impl_;
};

}  // namespace lazy::jit
