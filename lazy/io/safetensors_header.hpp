// Reads and writes the JSON of safetensors: the header of a file, and the index of a model in several.
// Internal to lazy/io and lazy/pretrained.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lazy/io/file.hpp"
#include "lazy/io/safetensors.hpp"

namespace lazy::detail {

struct SafeEntry {
  std::string name, dtype;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> offsets;  // of the first byte and behind the last, from the header's end
};

struct SafeHeader {
  std::vector<SafeEntry> entries;
  std::map<std::string, std::string> metadata;
  uint64_t data = 0;  // offset of the values in the file
};

/// Reads the header as far as the JSON says it; the entries are not yet checked against each other.
SafeHeader read_safe_header(const FileBytes&);
/// Returns the files of an index by tensor. IoError for a name that leads out of the index's folder.
std::map<std::string, std::string> read_safe_index(const FileBytes&);
/// Returns text as a JSON string. Error if it is not UTF-8.
std::string json_text(const char* op, const std::string&, const Site&);

/// Returns the format's name of a dtype ("F32"), and the dtype of a name; nothing if no tensor has it.
const char* safe_name_of(DType);
std::optional<DType> safe_dtype_of(std::string_view name);

/// Reads a .safetensors file from memory.
Safetensors read_safetensors(const FileBytes&, const MaybeDevice&);

/// Writes a .safetensors file in the name of `op`, one that has reached the disk if it is durable.
void write_safetensors(const char* op, const std::string& path, const NamedTensors&,
                       const std::map<std::string, std::string>& metadata, bool durable, const Site&);

}  // namespace lazy::detail
