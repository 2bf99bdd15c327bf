// Declares what is done with batches of pictures before a model sees them. They are ops like any other,
// recorded on whole batches and fused with the step: nothing runs on its own, and no picture is handled
// alone. What is random is drawn from a Generator, one decision a picture.
//
// Pictures are [..., channels, height, width], of any dtype unless one is named; ShapeError for fewer than
// three axes.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::data {

/// Returns uint8 or uint16 pictures as float32 from 0 to 1; floating-point ones as they are. DtypeError for
/// others.
Tensor to_float(Arg pictures);
/// Returns (pictures - mean) / std, of which there is one for each channel, or one for all. DtypeError unless
/// the pictures are of floating point, ShapeError for other numbers of channels, Error for a std of 0.
Tensor normalize(Arg pictures, const std::vector<double>& mean, const std::vector<double>& std);

/// Mirrors each picture with probability p, left to right. Error unless 0 <= p <= 1. Takes [n, c, h, w].
Tensor random_horizontal_flip(Generator&, Arg pictures, double p = 0.5);
/// Cuts a window of height x width (none: of the pictures' own) at a random place out of each picture with
/// `padding` zeros on every side. Takes [n, c, h, w]; ShapeError for a window that is larger than that.
Tensor random_crop(Generator&, Arg pictures, int64_t padding, int64_t height = -1, int64_t width = -1);
/// Sets a square of size x size around a random pixel of each picture to 0 (DeVries and Taylor, 2017). Takes
/// [n, c, h, w].
Tensor cutout(Generator&, Arg pictures, int64_t size);

}  // namespace lazy::data
