// The meaning of vector IR in plain C++: the oracle for the encoder, and how vector math is tested without
// machine code.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backends/vector/vir.hpp"

namespace lazy::vir {

/// Bytes of one lane in the interpreter's arrays: masks are bytes of 0 or 1.
constexpr size_t lane_bytes(Type t) { return t == Type::mask ? 1 : is64(t) ? 8 : 4; }

/// Runs one straight-line program on many lanes, a block at a time. Not thread-safe; cheap to copy.
class Interpreter {
 public:
  explicit Interpreter(std::vector<Inst> code);

  /// inputs[slot]: n lanes of that input's type. out[k]: receives the n lanes of value wanted[k].
  void run(std::span<const void* const> inputs, size_t n, std::span<const Val> wanted,
           std::span<void* const> out);

 private:
  static constexpr size_t kBlock = 512;
  std::vector<Inst> code_;
  std::vector<size_t> offset_;  // of each value's block in storage_, in 8-byte words
  std::vector<uint64_t> storage_;
};

/// One lane: inputs[slot] and the result are bit patterns (a mask is 0 or 1).
uint64_t interpret(const std::vector<Inst>& code, std::span<const uint64_t> inputs, Val wanted);

}  // namespace lazy::vir
