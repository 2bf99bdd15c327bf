// Reads and writes sound: .wav files.
#pragma once
#include <string>

#include "lazy/core/tensor.hpp"

namespace lazy {

struct Sound {
  Tensor samples;    // float32 [channels, samples], from -1 to 1
  int64_t rate = 0;  // samples a second
};

/// Reads a .wav file of PCM of 8, 16, 24 or 32 bits, or of float32. IoError for other kinds, and for a file
/// that is no .wav file, or has no samples; one that ends early has those that it has.
Sound read_wav(const std::string& path, MaybeDevice device = {}, Site s = Site::current());
/// Writes samples, (samples) or (channels, samples), as 16-bit PCM: int16 as they are, floating point from -1
/// to 1, beyond which it is cut off. Replaces a file that is there once it is whole. ShapeError for other
/// shapes, none or more than 65535 channels; DtypeError for other dtypes; Error for a rate below 1.
/// Evaluates.
void write_wav(const std::string& path, TensorArg samples, int64_t rate);

}  // namespace lazy
