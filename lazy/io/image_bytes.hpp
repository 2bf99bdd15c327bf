// Reads pictures from memory, and checks those that are to be written. Internal to lazy/io.
#pragma once
#include "lazy/io/file.hpp"

namespace lazy::detail {

inline constexpr uint64_t kMostPixels = uint64_t{1} << 28;

Tensor read_png(const FileBytes&, const MaybeDevice&);
/// Returns a PNG file. Throws as write_png does.
std::string png_bytes(const char* op, TensorArg picture);
Tensor read_jpeg(const FileBytes&, const MaybeDevice&);
Tensor read_pnm(const FileBytes&, const MaybeDevice&);

struct Picture {
  int64_t height, width, channels;
  DType dtype;               // uint8 or uint16
  std::string_view samples;  // row by row, as they are in memory
};
/// Evaluates and describes a picture; `keep` owns the samples. Throws as write_png does.
Picture checked_picture(const char* op, const Tensor&, const Site&, jit::BufferRef& keep);
/// Returns the samples as a picture of that shape. 16-bit ones are in the file's order, big-endian.
Tensor picture_of(const FileBytes&, std::string& samples, int64_t height, int64_t width, int64_t channels,
                  DType, const MaybeDevice&);
/// Swaps the bytes of each 16-bit sample.
void swap_samples(char* at, size_t bytes);

}  // namespace lazy::detail
