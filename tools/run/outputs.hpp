// Writes, summarises and checks what a model gives.
#pragma once
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/run/model.hpp"

namespace lazy::tool {

struct OutputOptions {
  std::vector<std::string> files;   // "name=file.npy", "file.npy" for the only output, "all.npz"
  std::vector<std::string> checks;  // "name=expected.npy", "expected.npy", "all.npz"
  double relative = 1e-4, absolute = 1e-5;
  int64_t top = 0;     // prints so many of the largest elements of the last axis
  std::string labels;  // a file with a name for each, a line each
};

/// Says for each output its shape, dtype and the least, mean and greatest element.
nlohmann::ordered_json summarise(const NamedTensors& outputs);
void print_summary(const nlohmann::ordered_json&);
/// Prints the largest elements of each row, at most eight rows of an output.
void print_top(const NamedTensors& outputs, int64_t count, const std::string& labels);
/// Writes the files. UsageError for outputs that the model does not have.
void write(const Model&, const NamedTensors& outputs, const OutputOptions&);
/// Compares outputs with files: element by element |found - expected| <= absolute + relative |expected|, NaN
/// equal to NaN. Each check says whether it holds, how many elements differ, and where the worst one is.
nlohmann::ordered_json check(const Model&, const NamedTensors& outputs, const OutputOptions&);
/// Says for each output by how much it differs from another model's: the norm of the difference over the norm
/// of what was expected, and the largest difference.
nlohmann::ordered_json differences(const NamedTensors& found, const NamedTensors& expected);
/// Prints them: those that don't hold to standard error.
void print_checks(const nlohmann::ordered_json&);
/// Throws UsageError for names and files in the options that can't be meant.
void check_options(const Model&, const OutputOptions&);

}  // namespace lazy::tool
