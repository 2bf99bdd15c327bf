// Counts what the weights of a model take, by what its files say of them.
#pragma once
#include <cstdint>
#include <string>

namespace lazy::tool {

struct ModelSize {
  uint64_t parameters = 0;
  uint64_t bytes = 0;      // of weights, as the files have them
  uint64_t gradients = 0;  // bytes: as the weights, of blocks of few bits as float32
  uint64_t largest = 0;    // bytes of one tensor
  uint64_t blocks = 0;     // tensors of blocks of few bits
};

/// Reads the headers of a .safetensors, .gguf or .onnx file, or of all files of one of these kinds in a
/// folder. std::runtime_error, which names file and place.
ModelSize size_of_model(const std::string& path);

}  // namespace lazy::tool
