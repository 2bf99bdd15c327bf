// Reads and writes the header of .npy files, as numpy.lib.format describes it: a magic number, a version, and
// a Python dictionary of descr, fortran_order and shape. Internal to lazy/io.
#pragma once
#include <vector>

#include "lazy/core/named.hpp"
#include "lazy/io/file.hpp"

namespace lazy::detail {

struct NpyHeader {
  DType dtype{};
  bool swapped = false;        // big-endian
  bool columns_first = false;  // fortran_order
  std::vector<int64_t> shape;  // not negative; may have more than kMaxRank entries
  uint64_t data = 0;           // offset of the elements
};

/// Reads a header of version 1.0, 2.0 or 3.0.
NpyHeader read_npy_header(const FileBytes&);
/// Returns where the header ends that the first 12 bytes of a file begin.
uint64_t npy_header_end(const FileBytes&);
/// Returns the header that NumPy writes for the array, to the byte.
std::string npy_header(DType, const Shape&);

/// Reads a .npy file from memory.
Tensor read_npy(const FileBytes&, const MaybeDevice&);
/// Reads a .npz file from memory.
NamedTensors read_npz(const FileBytes&, const MaybeDevice&);

}  // namespace lazy::detail
