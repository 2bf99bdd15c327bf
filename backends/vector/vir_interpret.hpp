// Defines the meaning of vector IR, in plain C++: the oracle for the encoder, and the way to test vector math
// without machine code.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backends/vector/vir.hpp"

namespace lazy::vir {

/// Returns the bytes of one lane in the interpreter's arrays: masks are bytes of 0 or 1.
constexpr size_t lane_bytes(Type t) { return t == Type::mask ? 1 : is64(t) ? 8 : 4; }

/// Runs one straight-line program on many lanes, a block at a time. Not thread-safe; cheap to copy.
class Interpreter {
 public:
  explicit Interpreter(std::vector<Inst> code);

  /// Runs the program on n lanes. inputs[slot] has the lanes of that input's type; out[k] gets those of value
  /// wanted[k].
  void run(std::span<const void* const> inputs, size_t n, std::span<const Val> wanted,
           std::span<void* const> out);

 private:
  static constexpr size_t kBlock = 512;
  std::vector<Inst> code_;
  std::vector<size_t> offset_;  // by value: where its block is in storage_, in 8-byte words
  std::vector<uint64_t> storage_;
};

/// Runs the program on one lane: inputs[slot] and the result are bit patterns (a mask is 0 or 1).
uint64_t interpret(const std::vector<Inst>& code, std::span<const uint64_t> inputs, Val wanted);

}  // namespace lazy::vir
