// Takes the weights of files in the GGUF format, of which some stay integers. Internal to lazy/pretrained.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lazy/pretrained/families.hpp"
#include "lazy/pretrained/gguf/gguf.hpp"

namespace lazy::pretrained {

/// Holds a part of a tensor of a file: so many rows of it.
struct GgufPart {
  std::string name;  // as the file's names are
  int64_t rows;
};

/// Says how the tensors of an architecture become a model's.
struct GgufLayout {
  std::vector<Rename> names;              // the file's become the model's
  std::vector<std::string> ignored = {};  // names of the file
  bool transposed = false;  // the model's linear maps take matrices (in, out); the file's are (out, in)
  /// Returns how many heads the rows of a tensor are of, if pairs that stand side by side in the file are to
  /// be put into halves of each head; else 0. Null: there are none.
  std::function<int64_t(const std::string& name)> heads = {};
  /// Returns what the rows of a tensor are, if they are several of the model's; else nothing. Null: none are.
  std::function<std::vector<GgufPart>(const std::string& name)> parts = {};
};

/// Has the model take the file's weights. Matrices of Q4_0 and Q8_0 that linear maps multiply by stay
/// integers, unless the options say otherwise. Error and IoError for names and shapes that don't fit.
void adopt_gguf(const char* op, nn::Module& model, const gguf::File&, const GgufLayout&, const Options&,
                const Site&);

}  // namespace lazy::pretrained
