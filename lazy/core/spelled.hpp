// Errors name the function as it was typed, also where it is another name of what does the work.
#pragma once

namespace lazy::detail {

/// Has errors of the calling thread, as long as it lives, name `typed` where they would name `function`. Both
/// are literals.
class Spelled {
 public:
  Spelled(const char* function, const char* typed) noexcept
      : function_(function), typed_(typed), outer_(innermost_) {
    innermost_ = this;
  }
  ~Spelled() { innermost_ = outer_; }
  Spelled(const Spelled&) = delete;
  Spelled& operator=(const Spelled&) = delete;

 private:
  friend const char* as_typed(const char*) noexcept;
  const char *function_, *typed_;
  const Spelled* const outer_;
  static inline constinit thread_local const Spelled* innermost_ = nullptr;
};

/// Returns a function's name as it was typed.
const char* as_typed(const char* function) noexcept;

/// Does nothing where both names are the same.
template <bool other>
struct SpelledIfOther : Spelled {
  using Spelled::Spelled;
};
template <>
struct SpelledIfOther<false> {
  constexpr SpelledIfOther(const char*, const char*) noexcept {}
};

}  // namespace lazy::detail
