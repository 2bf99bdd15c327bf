// Reads and writes PNG files as tensors.
#pragma once
#include <lazy/lazy.hpp>
#include <string>

namespace demo {

/// Returns the picture as float32 [height, width, 3], 0 to 1. Throws a Failure for a missing or damaged file,
/// and for one that is no PNG.
lazy::Tensor read_png(const std::string& path);
/// Writes [height, width] (grey) or [height, width, 3], values clipped to 0..1, as 8 bits a channel. Makes
/// the folder.
void write_png(const std::string& path, const lazy::Tensor& picture);

}  // namespace demo
