// Reads the environment's EMULATED_CUDA_* variables (listed in emulated_cuda.hpp).
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace emulated {

enum class Order { forward, reverse, shuffled };

struct Settings {
  int devices = 1;
  int arch = 90;        // the number in sm_90
  int version = 13000;  // CUDA's, as the driver reports it
  size_t memory = size_t{4} << 30;
  int multiprocessors = 8;
  Order order = Order::forward;
  uint64_t seed = 1;
  bool async = false;
  std::chrono::microseconds delay{0};
  std::chrono::milliseconds patience{100};
  bool host_pointers = false;
  bool at_launch = false;  // a kernel is compiled
  bool protect = false;
  int stall_rank = -1, stall_group = 0;
  std::string inject;
  std::string cache;
};

/// Returns the settings. Exits the process with a message where a variable is not understood: a test must not
/// run under other settings than it needs.
const Settings& settings();
/// Makes the next settings() read the environment again.
void forget_settings();

}  // namespace emulated
