// PNG files as tensors.
#pragma once
#include <lazy/lazy.hpp>
#include <string>

namespace demo {

/// The picture as float32 [height, width, 3], 0 to 1. No such file, not a PNG, a damaged one: Failure.
lazy::Tensor read_png(const std::string& path);
/// Writes [height, width] (grey) or [height, width, 3], values clipped to 0..1, as 8 bits a channel. Makes
/// the folder.
void write_png(const std::string& path, const lazy::Tensor& picture);

}  // namespace demo
