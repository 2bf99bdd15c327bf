// Sets the floating-point environment in which everything is computed, whatever the program has set for
// itself: rounding to nearest, denormals as they are, no traps.
#pragma once
#include <xmmintrin.h>

#include <cfenv>
#include <cstdint>

namespace lazy {

/// Sets the default MXCSR for a scope, on the calling thread. At its end the thread has what it had,
/// exception flags included: vectors compute more elements than there are, whose flags mean nothing. The
/// scope should call a function that computes: the compiler may move arithmetic out of the scope itself.
class FloatMode {
 public:
  FloatMode() noexcept : before_(_mm_getcsr()) {
    if ((before_ & ~kFlags) != kDefault) [[unlikely]]
      _mm_setcsr(kDefault);
  }
  FloatMode(const FloatMode&) = delete;
  ~FloatMode() {
    if (_mm_getcsr() != before_) _mm_setcsr(before_);
  }

 private:
  static constexpr uint32_t kDefault = 0x1f80, kFlags = 0x3f;
  const uint32_t before_;
};

/// Sets the whole default floating-point environment for a scope, the x87's too, by which the C library reads
/// and prints numbers. Takes some hundred cycles. At its end the thread has what it had.
class FloatEnvironment {
 public:
  FloatEnvironment() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  ~FloatEnvironment() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

namespace detail {
template <class F>
[[gnu::noinline]] double call_apart(F& f) {
  asm volatile("");  // so that the call is not moved either
  return f();
}
}  // namespace detail

/// Returns the number that f computes in the default mode.
template <class F>
double in_default_mode(F f) {
  const FloatMode mode;
  return detail::call_apart(f);
}

}  // namespace lazy
