// Makes a model's inputs of what the command line says: files, random numbers, one number for all elements.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/run/model.hpp"

namespace lazy::tool {

struct InputOptions {
  std::vector<std::string> given;   // "name=source", or a source for the only input
  std::vector<std::string> shapes;  // "name=1,3,224,224"
  std::vector<double> mean, std;    // of pictures, a number for each channel or one for all
  uint64_t seed = 0;                // of random numbers
  bool cast = false;                // elements of files are converted to the input's dtype
  bool fill = false;                // inputs that are not given are random
};

/// Returns all inputs, computed. UsageError for what the command line is wrong in, lazy::Error for files that
/// can't be read.
NamedTensors make_inputs(const Model&, const InputOptions&);

}  // namespace lazy::tool
