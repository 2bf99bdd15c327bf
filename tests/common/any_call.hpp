// Refers to a call of any type, so that what checks calls is compiled once and not for each lambda.
#pragma once
#include <memory>
#include <type_traits>

namespace lazy::test {

/// Refers to a callable without arguments, which must outlive it.
class AnyCall {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, AnyCall>) AnyCall(F&& f)
      : callable_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        run_([](void* callable) { (void)(*static_cast<std::remove_reference_t<F>*>(callable))(); }) {}

  void operator()() const { run_(callable_); }

 private:
  void* callable_;
  void (*run_)(void*);
};

}  // namespace lazy::test
