// Marks ranges for NVIDIA's profilers (Nsight Systems and the like), named as in our own traces. A profiler
// that wants them names its library in NVTX_INJECTION64_PATH, as NVTX 3 specifies; otherwise a range costs a
// load.
#pragma once
#include <atomic>
#include <string>

namespace lazy::nvtx {

namespace detail {
/// Functions of NVTX's table of core functions, set by the profiler; or null.
using Push = int (*)(const char* text);
using Pop = int (*)();
struct Functions {
  Push push = nullptr;
  Pop pop = nullptr;
};
extern constinit std::atomic<int> state;  // 0: not determined yet, 1: nobody listens, 2: somebody does
extern constinit Functions functions;
bool attach();
}  // namespace detail

inline bool on() {
  const int s = detail::state.load(std::memory_order_acquire);
  return s == 2 || (s == 0 && detail::attach());
}

/// Marks a range on the calling thread. `text` is a function that makes the name, called if somebody listens.
class Range {
 public:
  template <class F>
  explicit Range(F&& text) : on_(nvtx::on()) {
    if (on_) {
      const std::string name = text();
      detail::functions.push(name.c_str());
    }
  }
  Range(const Range&) = delete;
  ~Range() {
    if (on_) detail::functions.pop();
  }

 private:
  const bool on_;
};

}  // namespace lazy::nvtx
