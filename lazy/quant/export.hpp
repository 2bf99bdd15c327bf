// Records layers of integers for a file format that names rounding: what they are given is rounded and read
// again, their weights are read, and the map is of floating-point numbers (QDQ, in the words of ONNX).
// Internal to lazy/.
#pragma once
#include "jit/calls/call.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy::quant::detail {

/// Has the layers that a thread records while one lives be recorded so.
class RecordsForExport {
 public:
  RecordsForExport();
  RecordsForExport(const RecordsForExport&) = delete;
  ~RecordsForExport();
  /// True if the calling thread is in such a scope.
  static bool on();
};

// Intentions:
//
//   quantize    x, scale () [, zero]  -> q    round(x / scale) + zero, halves to even, cut to the range of
//                                             zero's dtype, int8 or uint8; int8 without
//   dequantize  q, scale () [, zero]  -> x    (q - zero) scale
//               q, scale (n) [, zero (n)]     likewise, of each index of axis 0
extern const jit::CallDefinition kQuantize, kDequantize;

Tensor quantize_node(const Tensor& x, const Tensor& scale, const Tensor& zero, const Site&);
Tensor dequantize_node(const Tensor& q, const Tensor& scale, const Tensor& zero, const Site&);

}  // namespace lazy::quant::detail
