// Runs a kernel's grid: one block after the other, the threads of a block on fibers.
//
// A thread that waits (at a barrier, for the lanes of its warp) leaves its fiber; one that returns makes its
// fiber free for the next thread, so a kernel whose threads never wait runs on a single one, without a
// switch. A kernel that runs for long goes on with faster code, once no thread is under way. Threads, lanes
// and blocks go in the order of EMULATED_CUDA_ORDER.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/module_interface.hpp"

namespace emulated {

struct Code {
  const Kernel* kernel;
  State* state;                                  // the module's; used by nobody else meanwhile
  std::vector<std::pair<char*, size_t>> shared;  // memory that is filled with garbage before a block starts
};

struct Grid {
  Code code;
  uint32_t blocks, threads;
  void** params;
  std::chrono::nanoseconds patience;  // how long it runs before it asks for faster code
  std::function<Code()> faster;       // returns the same kernel; null: there is none
};

/// Runs the grid. Returns empty if every thread of every block returned; otherwise what went wrong, with the
/// kernel, block and threads.
std::string run(const Grid&);

}  // namespace emulated
