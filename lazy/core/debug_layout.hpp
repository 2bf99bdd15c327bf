// Says to debuggers where the fields of a tensor's node are: tools/debugger/lazy_gdb.py reads
// lazy_debug_layout, and so needs no debug information of the library's.
#pragma once
#include <cstdint>

extern "C" {

struct LazyDebugLayout {
  uint32_t version;           // of this struct
  uint32_t bytes;             // of this struct
  const char* const* dtypes;  // names by number
  const char* const* ops;     // names by number
  // Offsets in a node, which is what a Tensor points to.
  uint32_t state, op, dtype, device, contiguous, site, shape, buffer, offset, strides;
  uint32_t dims_values;  // offset of a Dims' entries; their number is its first byte
  uint32_t buffer_data;  // offset of a Buffer's pointer to its memory
};

extern const LazyDebugLayout lazy_debug_layout;

}  // extern "C"
