// Device memory: separate allocations of host memory, so that AddressSanitizer sees accesses out of bounds.
// Fresh memory is garbage, freed memory too. Without the sanitizer there is a fence around each allocation,
// checked when it goes.
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
  /// Aligned to 256 bytes; nothing if the host has no more.
  std::optional<DevicePtr> allocate(int device, size_t bytes);
  /// From now on the pointer is unknown. False if it already was, or is no start of an allocation.
  bool retire(DevicePtr);
  /// Gives a retired allocation back; how many bytes it had. `damage` says whether something was written
  /// around it.
  size_t release(DevicePtr, bool& damage);

  /// The device that has `bytes` bytes from `pointer` on in one allocation; -1 if none has.
  int device_of(DevicePtr pointer, size_t bytes) const;
  size_t live_bytes() const;
  /// Releases everything.
  void clear();

  /// While there is one, the memory can be read and written. Without one it cannot, under
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
    char* memory;   // with the fences
    size_t mapped;  // bytes of a mapping of its own; 0: from the heap
  };
  void open(int more);
  void protect(const Block&) const;
  static void give_back(const Block&);

  mutable std::mutex mutex_;
  int accesses_ = 0;
  std::map<DevicePtr, Block> blocks_;
};

}  // namespace emulated
