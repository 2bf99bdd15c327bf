// Reads and writes safetensors files, the format of most published weights.
//
//   const lazy::Safetensors model = lazy::load_safetensors("model.safetensors");
//   Tensor w = model.at("encoder.weight");
//
// The file is mapped into memory, and tensors share the mapping: nothing is read before it is used, nothing
// is copied, and the mapping lives as long as any of them. While it does, nobody may write to the file or
// shorten it; save_safetensors() to the same path is fine, since it replaces the file. Copied are: bools
// other than 0 and 1, values that are not aligned for their dtype, and values for a device that is not the
// CPU.
//
// The header is checked as a whole before any tensor is made: IoError for a header above 100 MB, JSON that is
// wrong or nested, names that are there twice, sizes that don't fit shape and dtype, tensors that overlap or
// leave holes, bytes that belong to none. DtypeError for a dtype that tensors don't have (F8_E4M3, ...),
// ShapeError for more than 8 dimensions.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/core/named.hpp"

namespace lazy {

/// Holds the tensors of a file, in the order of its header, and the texts of its __metadata__.
struct Safetensors : NamedTensors {
  std::map<std::string, std::string> metadata;
};

/// Maps a .safetensors file.
Safetensors load_safetensors(const std::string& path, MaybeDevice device = {}, Site s = Site::current());
/// Writes a .safetensors file, which replaces one that is there once it is whole: the values in the order in
/// which the format's own library writes them, widest dtypes first. Error for names and metadata that are not
/// UTF-8, and for the name __metadata__.
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {}, Site s = Site::current());

/// Does the same for a state_dict(): torch's order of arguments.
inline void save(const NamedTensors& tensors, const std::string& path, Site s = Site::current()) {
  save_safetensors(path, tensors, {}, s);
}

/// Holds the index of a model in several files, each of which is mapped when the first of its tensors is
/// requested. Copies share the files. Any thread may call it.
class ShardedSafetensors {
 public:
  /// Returns the names, sorted.
  std::vector<std::string> names() const;
  size_t size() const noexcept;
  bool contains(std::string_view name) const;
  /// Returns the tensor. IndexError if the index has no such name; IoError if the file that should have it
  /// hasn't, or can't be read.
  Tensor at(std::string_view name, Site s = Site::current()) const;
  /// Returns how many files have been mapped.
  size_t opened() const;

 private:
  friend ShardedSafetensors load_safetensors_index(const std::string&, MaybeDevice, Site);
  struct State;
  std::shared_ptr<State> state_;
};

/// Reads the index of a model in several files (model.safetensors.index.json), which lie in its folder: a
/// name of a file that leads elsewhere throws IoError.
ShardedSafetensors load_safetensors_index(const std::string& path, MaybeDevice device = {},
                                          Site s = Site::current());

}  // namespace lazy
