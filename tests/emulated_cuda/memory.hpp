// Emulates device memory: separate allocations of host memory, so that AddressSanitizer sees accesses out of
// bounds. Fresh memory is garbage, freed memory too. Without the sanitizer there is a fence around each
// allocation, checked when it is freed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "backends/cuda/api/types.hpp"

namespace emulated {

using namespace lazy::cuda_backend::api;

class Memory {
 public:
  /// Allocates memory aligned to 256 bytes; returns nothing if the host has no more.
  std::optional<DevicePtr> allocate(int device, size_t bytes);
  /// Makes the pointer unknown. False if it already was, or is no start of an allocation.
  bool retire(DevicePtr);
  /// Frees a retired allocation; returns its bytes. `damage` is set if something was written around
  /// it.
  size_t release(DevicePtr, bool& damage);

  /// Returns the device that has `bytes` bytes from `pointer` on in one allocation; -1 if none has.
  int device_of(DevicePtr pointer, size_t bytes) const;
  size_t live_bytes() const;
  /// Releases everything.
  void clear();

  /// Allows the memory to be read and written while it lives. Otherwise it cannot be, under
  /// EMULATED_CUDA_PROTECT.
  class Access {
   public:
    explicit Access(Memory& memory) : memory_(memory) { memory_.open(1); }
    ~Access() { memory_.open(-1); }
    Access(const Access&) = delete;

   private:
    Memory& memory_;
  };

 private:
  struct Block {
    size_t bytes;
    int device;
    bool retired;
    char* memory;   // includes the fences
    size_t mapped;  // bytes of a separate mapping; 0: from the heap
  };
  void open(int more);
  void protect(const Block&) const;
  static void give_back(const Block&);

  mutable std::mutex mutex_;
  int accesses_ = 0;
  bool any_mapped_ = false;  // some block is, or was: others are never protected
  std::map<DevicePtr, Block> blocks_;
};

}  // namespace emulated
