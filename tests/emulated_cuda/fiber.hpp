// Switches between stacks on one thread, and informs the sanitizers.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace emulated {

class Fiber {
 public:
  /// Represents the thread's own stack.
  Fiber() = default;
  /// Makes a stack, with a guard page below; runs `main(argument)` when it is first switched to. main() never
  /// returns. Throws std::bad_alloc.
  Fiber(void (*main)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves this stack, which runs, for another; returns when somebody switches back.
  void switch_to(Fiber& other);
  /// Forgets what was on the stack: it starts with main() again.
  void restart();

 private:
  static void enter(boost::context::detail::transfer_t);
  void arrive(boost::context::detail::transfer_t);

  boost::context::detail::fcontext_t context_ = nullptr;
  void (*main_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* mapping_ = nullptr;
  const void* bottom_ =
      nullptr;  // bottom of the stack, for AddressSanitizer; a thread's own is learned when it is left
  size_t size_ = 0;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
  void* tsan_ = nullptr;        // ThreadSanitizer's
};

}  // namespace emulated
