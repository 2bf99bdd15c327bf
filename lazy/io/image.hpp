// Reads and writes pictures: PNG, JPEG, and the PGM and PPM files of netpbm.
//
// A picture is uint8 or uint16 [height, width] (grey) or [height, width, channels], where 2 channels are grey
// and alpha, 3 red, green and blue, 4 these and alpha. Its values use the full range: 255, or 65535, is
// white. What is wrong with a file throws IoError, which says where.
#pragma once
#include <string>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Reads a PNG file of any kind. Palettes become colours, fewer than 8 bits are scaled to 8, a transparent
/// colour becomes alpha. Gamma and colour profiles are not applied. IoError for more than 2^28 pixels.
Tensor read_png(const std::string& path, MaybeDevice device = {}, Site s = Site::current());
/// Writes a PNG file, which replaces one that is there once it is whole. ShapeError for other shapes, or
/// without pixels; DtypeError for other dtypes. Evaluates.
void write_png(const std::string& path, TensorArg picture);

/// Reads a JPEG file, baseline or progressive, of 8 bits: uint8, grey or in colours, the pixels that libjpeg
/// makes by default. Turns and colour profiles that a file asks for are not applied. IoError for four
/// components (CMYK), for lossless coding, and for a file that is cut off or damaged; it says where the
/// damaged segment, or the first scan, begins. DeviceError without libjpeg-turbo.
Tensor read_jpeg(const std::string& path, MaybeDevice device = {}, Site s = Site::current());

/// Writes a JPEG file of 8 bits, of a picture of 1 or 3 channels (ShapeError; DtypeError unless it is uint8),
/// with a quality from 1 to 100 (Error); from 90 on colours have full resolution. Errors besides as for
/// write_png and read_jpeg.
void write_jpeg(const std::string& path, TensorArg picture, int quality = 90);

/// Reads a PGM (grey) or PPM (colours) file, of bytes (P5, P6) or text (P2, P3). Values are scaled so that
/// the file's maximum becomes 255, or 65535 if it is above 255.
Tensor read_pnm(const std::string& path, MaybeDevice device = {}, Site s = Site::current());
/// Writes a picture of one channel as PGM, one of three as PPM, in bytes; errors as for write_png.
void write_pnm(const std::string& path, TensorArg picture);

/// Reads a picture of any of these kinds, by what the file begins with.
Tensor imread(const std::string& path, MaybeDevice device = {}, Site s = Site::current());
/// Writes a picture of the kind that the file's name ends with: .png, .jpg, .jpeg, .pgm, .ppm (Error for
/// others). Floating-point values are 0 to 1: they are cut off beyond and become bytes.
void imwrite(const std::string& path, TensorArg picture);

}  // namespace lazy
