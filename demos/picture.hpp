// Reads and writes pictures as tensors from 0 to 1.
#pragma once
#include <lazy/lazy.hpp>
#include <string>

namespace demo {

/// Returns the PNG file as float32 [height, width, 3], 0 to 1; grey has three equal channels, alpha is left
/// out.
lazy::Tensor read_picture(const std::string& path);
/// Makes the folder that the file is to be in.
void make_folder_of(const std::string& path);
/// Writes [height, width] (grey) or [height, width, 3], values clipped to 0..1, as a PNG file of 8 bits a
/// channel. Makes the folder.
void write_picture(const std::string& path, const lazy::Tensor& picture);

}  // namespace demo
