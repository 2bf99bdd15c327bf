// Writes contractions whose results are computed tile by tile.
#pragma once
#include "backends/cuda/emitter/layouts.hpp"

namespace lazy::cuda_backend {

class ProductWriter : public Writer {
 public:
  using Writer::Writer;
  void write();
  /// Loads into `side`_next of each thread: elements of one side of a product, `tile` of them along `axis`
  /// from `origin` on, for the kDepth steps from `next` on; 0 from `end` on and past the axis' last. Also
  /// writes where in shared memory the u-th of a thread belongs, `e` being its number.
  void load_tile(const char* name, const jit::loop::Side&, int axis, const std::string& origin, int tile);
  std::string place_in_tile(const jit::loop::Side&, int axis, int tile) const;

 private:
  bool packed_along(const jit::loop::Side&, int axis) const;
  // These functions are in write_mma.cpp.
  void write_mma();
  std::string mma_side(int operand, int axis, const char* first, int flag, const char* stages);
  void write_mma_epilogue();
};

}  // namespace lazy::cuda_backend
