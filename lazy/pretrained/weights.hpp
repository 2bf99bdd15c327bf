// Finds the weights of a model in its folder, by the names that the file has for them, and has the model take
// them. Internal to lazy/pretrained.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/core/named.hpp"
#include "lazy/io/file.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::pretrained {

/// Replaces a part of a name, `from`, that begins and ends at dots. `#` stands for a number, `^` at the start
/// for the start of the name. What ends in a dot may be replaced by nothing.
struct Rename {
  std::string from, to;
};

/// Says that a tensor, whose name ends in `whole`, is several joined along their first axis.
struct Join {
  std::string whole;
  std::vector<std::string> parts;
};

/// Says how names of a file become names of a model.
struct Layout {
  std::vector<Rename> renames = {};       // applied in order, each where it fits first
  std::vector<Join> joins = {};           // what is whole in the model, and in parts in the file
  std::vector<Join> splits = {};          // what is whole in the file, and in parts in the model
  std::vector<std::string> ignored = {};  // names, before they are changed, of what the model has no use for:
                                          // "*" at an end stands for anything
};

/// Holds what a file or several have.
struct Weights {
  NamedTensors tensors;
  std::string path;                                 // of the file or index, for errors
  std::vector<lazy::detail::FileBytes> files = {};  // that are mapped, and whose pages can be given back
  bool has(std::string_view name) const { return tensors.contains(name); }
  /// True if a name begins so.
  bool any_begins(std::string_view prefix) const;
};

/// Maps model.safetensors, or the files that model.safetensors.index.json names. IoError if there is neither.
Weights read_weights(const char* op, const std::filesystem::path& folder, MaybeDevice, const Site&);

/// Returns the name with the renames applied.
std::string renamed(std::string name, const std::vector<Rename>&);
/// Undoes renames, all but those that leave parts out.
std::vector<Rename> reversed(const std::vector<Rename>&);

/// Has the model's parameters and buffers be the file's, which they share where the dtype is the same. Those
/// of floating point get `dtype`, if it is given. Nothing changes if it throws: Error that lists all that is
/// missing, with the nearest name, all that the model has no place for, and all that differs in shape.
void adopt(const char* op, nn::Module&, const Weights&, const Layout&, MaybeDType dtype, const Site&);

}  // namespace lazy::pretrained
