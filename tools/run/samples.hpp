// Reads pictures and sound into the shapes that models take.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/run/model.hpp"

namespace lazy::tool {

/// True if the file's name is that of a picture: .png, .jpg, .jpeg, .pgm, .ppm.
bool is_picture(const std::string& path);

/// Reads a picture for an input of four dimensions, (N, C, H, W) or (N, H, W, C). `extents` are the input's,
/// -1 for dynamic ones: a picture is resized (linear, antialiased) to extents that are fixed. uint8 inputs
/// get bytes, others 0 to 1, from which `mean` is subtracted and what is left divided by `std`.
Tensor read_picture(const std::string& path, const Value&, const std::vector<int64_t>& extents,
                    const std::vector<double>& mean, const std::vector<double>& std);

/// Reads a .wav file as float32 from -1 to 1, its channels averaged, in the shape (samples),
/// (1, samples) or (1, 1, samples) that the input has. Sound is cut, or filled up by zeros, to an extent that
/// is fixed.
Tensor read_sound(const std::string& path, const Value&, const std::vector<int64_t>& extents);

}  // namespace lazy::tool
