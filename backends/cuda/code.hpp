// Holds a cubin in this process, and finds its functions when they are first launched.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/compile.hpp"
#include "backends/cuda/emitter/module.hpp"
#include "backends/cuda/gpu.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend {

class Code {
 public:
  /// Makes code of a cubin. `at`: the user's line, for errors.
  Code(std::vector<std::string> functions, Cubin cubin, std::string at)
      : names_(std::move(functions)), cubin_(std::move(cubin)), at_(std::move(at)) {}

  /// Does the launches, in order. The functions' argument is these words or, if `in_memory`, their address on
  /// the device.
  void launch(Gpu&, const std::vector<Launch>&, const uint64_t* words, size_t count, bool in_memory) const;

  /// Returns the first function, for launches of the caller's own.
  api::Function function(Gpu& gpu) const {
    load(gpu);
    return functions_.front();
  }

  size_t bytes() const { return cubin_.bytes.size(); }
  /// Returns what the assembler says of each function, a line each.
  std::string use() const;
  /// Returns the compiler's log, as comments.
  std::string log() const;
  /// Returns the bytes from which from_stored() makes the cubin again.
  std::string stored() const;
  /// Reads a cubin. Returns false if the bytes make no sense.
  static bool from_stored(std::string_view, Cubin&);

 private:
  void load(Gpu&) const;

  const std::vector<std::string> names_;
  const Cubin cubin_;
  const std::string at_;
  mutable Mutex loading_;
  mutable std::vector<api::Function> functions_;
};

/// Holds device memory for the time of a launch. It is given back as soon as the launch is in the stream:
/// what comes later in the stream may have it.
class Borrowed {
 public:
  Borrowed(Gpu& gpu, size_t bytes)
      : gpu_(gpu), bytes_(bytes), p_(bytes ? gpu.allocator.allocate(bytes) : nullptr) {}
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() {
    if (p_) gpu_.allocator.deallocate(p_, bytes_);
  }
  char* get() const { return static_cast<char*>(p_); }

 private:
  Gpu& gpu_;
  const size_t bytes_;
  void* const p_;
};

}  // namespace lazy::cuda_backend
