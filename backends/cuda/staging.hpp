// Copies between the host and one GPU through pinned memory of ours: pageable memory would make the driver
// copy synchronously, and the caller may change or free its memory as soon as `write` returns.
#pragma once
#include <cstddef>
#include <mutex>

#include "backends/cuda/api/types.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend {

class Gpu;

class Staging {
 public:
  explicit Staging(Gpu& gpu) : gpu_(gpu) {}
  /// Copies from the host to the GPU. Returns once `from` has been read; the rest happens in the order of the
  /// stream.
  void write(void* to, const void* from, size_t bytes);
  /// Copies from the GPU to the host, after everything that the stream was given before. Returns when the
  /// bytes are there.
  void read(void* to, const void* from, size_t bytes);
  /// Gives the pinned memory back. Waits for copies that are under way. Returns how many bytes.
  size_t release();

 private:
  static constexpr int kChunks = 4;
  static constexpr size_t kChunkBytes = size_t{4} << 20;
  struct Chunk {
    void* memory = nullptr;
    api::Event done = nullptr;  // recorded after the last copy that uses it
    bool busy = false;
  };
  /// Returns the next chunk, allocated, no longer in use.
  Chunk& next();
  void wait(Chunk&);

  Gpu& gpu_;
  Mutex lock_;
  Chunk chunks_[kChunks];
  int turn_ = 0;
};

}  // namespace lazy::cuda_backend
