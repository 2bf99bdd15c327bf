// The environment's EMULATED_CUDA_* variables (emulated_cuda.hpp lists them).
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace emulated {

enum class Order { forward, reverse, shuffled };

struct Settings {
  int devices = 1;
  int arch = 90;        // of sm_90
  int version = 13000;  // of CUDA
  size_t memory = size_t{4} << 30;
  int multiprocessors = 8;
  Order order = Order::forward;
  uint64_t seed = 1;
  bool async = false;
  std::chrono::microseconds delay{0};
  bool host_pointers = false;
  bool protect = false;
  std::string inject;
  std::string cache;
};

/// Exits the process with a message where a variable is not understood: a test must not run under other
/// settings than it asked for.
const Settings& settings();
/// The next settings() reads the environment again.
void forget_settings();

}  // namespace emulated
