// Allocates memory of one GPU: blocks that are cached when freed, above the driver's pool. Everything runs in
// one stream, so a block can be handed out again at once, before what last used it has finished.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backends/cuda/api/types.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend {

class Gpu;

class Allocator {
 public:
  explicit Allocator(Gpu& gpu) : gpu_(gpu) {}
  /// Prepares the pool. Has to be called once the context is there.
  void start();

  /// Returns a block, never null; a size of 0 gives a valid pointer. Where there is no memory (or
  /// LAZY_CUDA_MEMORY is reached) cached blocks are released to the driver, once; then it throws DeviceError
  /// with the bytes that were requested and those that are in use.
  void* allocate(size_t bytes);
  /// Takes a block back. A capture of the calling thread (launch_graph.hpp) holds it until its launches are
  /// in the stream.
  void deallocate(void*, size_t bytes) noexcept;
  /// Takes back a block that deallocate() left to a capture; `size` as it is counted here.
  void give_back(void*, size_t size) noexcept;
  /// Releases cached blocks to the driver. Waits for the device. Returns how many bytes.
  size_t release_kept();
  /// Makes blocks older by so much, for tests.
  void let_time_pass(uint64_t milliseconds);

  struct Stats {
    size_t used = 0;      // bytes handed out
    size_t kept = 0;      // bytes given back and cached
    size_t requests = 0;  // requests to the driver so far
  };
  Stats stats() const;

 private:
  /// Returns null where there is no memory.
  void* find(size_t size);
  void* from_driver(size_t bytes);
  size_t release_kept_locked();
  /// Releases, now and then, blocks that nobody needed for ten seconds.
  void trim_locked() noexcept;
  void to_driver(void*) noexcept;
  [[noreturn]] void fail(size_t asked) const;  // not under the lock

  Gpu& gpu_;
  api::MemPool pool_ = nullptr;
  mutable Mutex lock_;
  // Lists the free blocks of one size. The lowest address is handed out first: in whatever order a run's
  // blocks come back, the next run gets them as this one did, and its graph can stay as it is. So each is a
  // heap.
  struct Blocks {
    std::vector<void*> heap;
    size_t least = 0;  // blocks that were there throughout since the latest trim
  };
  std::unordered_map<size_t, Blocks> kept_;
  uint64_t trimmed_ = 0, passed_ = 0;  // milliseconds: the latest trim, of the test aid
  Stats stats_;
};

}  // namespace lazy::cuda_backend
