// Holds what a GGUF file has. Internal to lazy/pretrained/gguf.
#pragma once
#include <unordered_map>

#include "lazy/io/file.hpp"
#include "lazy/pretrained/gguf/gguf.hpp"

namespace lazy::gguf {

/// Holds the file's bytes. Values share it, and not the State that has them.
struct Contents {
  lazy::detail::FileBytes file;
};

struct State {
  explicit State(const lazy::detail::FileBytes& f)
      : bytes(std::make_shared<const Contents>(Contents{f})), file(bytes->file) {}
  std::shared_ptr<const Contents> bytes;
  const lazy::detail::FileBytes& file;
  std::vector<std::pair<std::string, Value>> metadata;
  std::unordered_map<std::string, size_t> keys;  // places in `metadata`
  std::vector<TensorInfo> tensors;
  std::unordered_map<std::string, size_t> names;  // places in `tensors`
};

/// Says which integers a block is made of: unsigned ones of 4 bits, or int8, and how many of them share a
/// scale and, if there are any, a zero point.
struct GroupsOf {
  int bits = 0, length = 0;  // 0: the elements are numbers
  bool has_zeros = false;
};

/// Says how many elements a block of a tensor's type has, and in how many bytes.
struct Block {
  TensorType type;
  const char* name;
  uint32_t elements, bytes;
  GroupsOf groups = {};
};
/// Returns the row of a type; null for one that is not supported.
const Block* block_of(TensorType);

/// Reads what is before the weights. IoError for what is wrong in it, Error for versions and types that are
/// not supported.
std::shared_ptr<const State> read_state(const lazy::detail::FileBytes&);

/// Writes the elements of whole blocks as float32.
void dequantize(TensorType, const char* blocks, uint64_t count, float* to);
/// Writes the integers of a block, two of 4 bits in a byte as pack_4() has them, and for each of its groups
/// the scale and the zero point, which is 0 where there are none.
void read_groups(TensorType, const char* block, uint8_t* integers, float* scales, float* zeros);

}  // namespace lazy::gguf
