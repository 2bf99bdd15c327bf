// Reads and writes NumPy's files: .npy has one array, .npz several under names.
//
//   lazy::save("weights.npy", w);                      Tensor w = lazy::load("weights.npy");
//   lazy::save_npz("all.npz", {{"a", a}, {"b", b}});   Tensor a = lazy::load_npz("all.npz").at("a");
//
// Every dtype is written; bfloat16 as the two opaque bytes ('<V2') that NumPy writes for ml_dtypes.bfloat16,
// and read back as bfloat16. Arrays in big-endian or Fortran order are read. What is wrong with a file throws
// IoError, which says where; a dtype that tensors don't have (complex, strings, objects, records) DtypeError;
// more than 8 dimensions ShapeError. Nothing is allocated for what the file is too short to hold.
#pragma once
#include <string>

#include "lazy/core/named.hpp"

namespace lazy {

/// Writes the value as a .npy file, which replaces one that is there once it is whole. Evaluates.
void save(const std::string& path, TensorArg x);
/// Takes the arguments in torch's order.
inline void save(TensorArg x, const std::string& path) { save(path, std::move(x)); }
/// Reads a .npy file: a copy, row-major unless the file is column-major.
Tensor load(const std::string& path, MaybeDevice device = {}, Site s = Site::current());

/// Writes a .npz file: a ZIP file of a .npy for each name, compressed (as numpy.savez_compressed) if asked
/// for. Error for a name that a ZIP file can't have (empty, or above 65000 bytes).
void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed = false,
              Site s = Site::current());
/// Returns save_npz(), not compressed: NumPy's name.
inline void savez(const std::string& path, const NamedTensors& tensors, Site s = Site::current()) {
  save_npz(path, tensors, false, s);
}
/// Reads all arrays of a .npz file, stored or compressed, in the file's order.
NamedTensors load_npz(const std::string& path, MaybeDevice device = {}, Site s = Site::current());

}  // namespace lazy
