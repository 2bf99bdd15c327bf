// Reports indices out of range: a kernel sets a flag, and the run looks at the flags before it overwrites an
// input and at its end. The index itself is found afterwards, from the inputs (jit/flush/faults.hpp).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/backend/buffer.hpp"
#include "support/error.hpp"

namespace lazy::jit {

struct Node;

/// Says that a run found the index of a gather or scatter out of range. No input was overwritten.
class Fault : public IndexError {
 public:
  Fault(uint32_t value, const Site& where) : IndexError("an index is out of range", where), value_(value) {}
  /// Returns the gather or scatter, as a value of the captured graph.
  uint32_t value() const { return value_; }

 private:
  uint32_t value_;
};

/// Holds an int32 for each of a program's faults, where its kernels can write it. It is never moved.
class FaultFlags {
 public:
  /// Sets all of them to 0.
  void clear(size_t count, Backend&);
  /// True if none of them is set.
  bool none(size_t count, Backend&) const;
  /// Throws Fault for the first value, by number, whose flag is set. `values`: Program::faults.
  void look(const std::vector<uint32_t>& values, std::span<Node* const> nodes, Backend&) const;
  uint64_t address(uint64_t number) const {
    return reinterpret_cast<uint64_t>(flags_->data()) + number * sizeof(int32_t);
  }

 private:
  std::vector<int32_t> read(size_t count, Backend&) const;

  BufferRef flags_;
};

}  // namespace lazy::jit
