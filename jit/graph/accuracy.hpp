// Says how accurate the elementary functions are that a thread records.
#pragma once
#include <cstdint>
#include <utility>

#include "jit/core/op.hpp"
#include "support/config.hpp"

namespace lazy::jit {

/// Says in a scope how accurate the elementary functions are that the thread records, in place of
/// LAZY_ACCURACY. It is part of what is recorded: a flush after the scope computes what was asked for in it.
class AccuracyScope {
 public:
  explicit AccuracyScope(Accuracy a) noexcept : outer_(std::exchange(current_, static_cast<int8_t>(a))) {}
  AccuracyScope(const AccuracyScope&) = delete;
  ~AccuracyScope() { current_ = outer_; }
  /// Returns the accuracy in force on this thread.
  static Accuracy current() noexcept {
    return current_ < 0 ? config::get().accuracy.get() : static_cast<Accuracy>(current_);
  }

 private:
  int8_t outer_;
  static thread_local constinit int8_t current_;  // -1 outside of scopes
};

}  // namespace lazy::jit
