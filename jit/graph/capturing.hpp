// Marks a scope in which what a thread records is captured, to be run again with other values: no value may
// be read in it, for the next run would not read it again.
#pragma once
#include <utility>
#include <vector>

#include "jit/graph/handle.hpp"

namespace lazy::jit {

class Capturing {
 public:
  Capturing() noexcept : outer_(std::exchange(current_, this)) {}
  Capturing(const Capturing&) = delete;
  ~Capturing() { current_ = outer_; }
  /// Returns the innermost one of the calling thread; null if there is none.
  static Capturing* current() noexcept { return current_; }

  std::vector<Handle>
      made;  // values that were made meanwhile of memory of the host's: they are the same in each run

 private:
  static thread_local constinit Capturing* current_;
  Capturing* const outer_;
};

}  // namespace lazy::jit
