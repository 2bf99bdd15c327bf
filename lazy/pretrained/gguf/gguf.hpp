// Reads files in the GGUF format, versions 2 and 3: what a model is, its tokens, and its weights, of 32 and
// 16 bits and in blocks of fewer.
//
//   const lazy::gguf::File f = lazy::gguf::load("model.gguf");
//   f.at("general.architecture").text();            // "llama"
//   f.at("tokenizer.ggml.tokens").texts();          // views of the file
//   lazy::Tensor w = f.tensor("blk.0.attn_q.weight");   // float32, whatever the file has
//
// The file is mapped. All that stands before the weights is checked when it is loaded: IoError, with the
// byte, for sizes that the file does not have, strings and lists that go beyond its end, keys and names that
// are there twice, tensors that overlap or are not aligned. Lists are not copied. While the File, a Value or
// a tensor lives, nobody may write to the file or shorten it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy::gguf {

struct State;
struct Contents;

/// Numbers the types of metadata as the format does.
enum class Kind : uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  text,
  list,
  uint64,
  int64,
  float64
};

/// Holds one value of the metadata: a number, a text, or a list. It keeps the file mapped.
class Value {
 public:
  Kind kind() const { return kind_; }
  bool is_list() const { return kind_ == Kind::list; }
  /// Returns the kind of a list's elements.
  Kind element_kind() const { return element_; }
  /// Returns how many elements a list has; of what is no list 1.
  uint64_t size() const { return count_; }

  // Return what the value is. Error, which names the key, for a value of another kind, and for an integer
  // beyond int64.

  int64_t integer(Site s = Site::current()) const;
  double real(Site s = Site::current()) const;  // of integers, too
  bool flag(Site s = Site::current()) const;
  /// Returns a text, valid while the value lives.
  std::string_view text(Site s = Site::current()) const;
  std::vector<int64_t> integers(Site s = Site::current()) const;
  std::vector<double> reals(Site s = Site::current()) const;
  std::vector<std::string_view> texts(Site s = Site::current()) const;
  /// Returns a list's elements, which may be lists.
  std::vector<Value> elements(Site s = Site::current()) const;

 private:
  friend class Reader;
  [[noreturn]] void wrong(const char* expected, const Site&) const;
  template <class F>
  void each(F&& f) const;

  std::shared_ptr<const Contents> of_;
  std::string key_;
  Kind kind_ = Kind::uint8, element_ = Kind::uint8;
  uint64_t count_ = 1, begin_ = 0;  // where the value, or a list's first element, is
};

/// Numbers the types of tensors as the format does.
enum class TensorType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  bf16 = 30
};
/// Returns "Q4_0".
const char* name_of(TensorType);
/// True for blocks of integers with scales.
bool is_block(TensorType);

struct TensorInfo {
  std::string name;
  TensorType type;
  Shape shape;             // the last axis is the one of neighbours: the format's dimensions, reversed
  uint64_t offset, bytes;  // in the file
};

/// Holds integers of 4 or 8 bits and the scales of groups, as quant::QuantizedWeight has them.
struct Groups {
  int bits = 8;          // 4 where the file has so many, else 8
  int64_t length = 32;   // of a group: 16 or 32
  Tensor integers = {};  // int8 (n, k), or uint8 (n, k / 2): two of 4 bits in a byte
  Tensor scales = {},
         zeros = {};  // float32 (n, k / length); zeros are undefined where they are 0, or 8 of 4 bits
};

/// Holds a file that was loaded. Copies share it.
class File {
 public:
  /// Returns all of the metadata in the file's order.
  const std::vector<std::pair<std::string, Value>>& metadata() const;
  bool contains(std::string_view key) const;
  /// Returns the value of a key. IndexError if there is none.
  const Value& at(std::string_view key, Site s = Site::current()) const;

  std::span<const TensorInfo> tensors() const;
  /// Returns the description of a tensor; null if there is none.
  const TensorInfo* find(std::string_view name) const;
  /// Returns the values of a tensor: F32, F16, BF16, F64 and integers share the file, blocks are float32, by
  /// the formulas of the format's own library, to the bit. IndexError if there is none.
  Tensor tensor(std::string_view name, MaybeDevice device = {}, Site s = Site::current()) const;
  /// Returns the integers of a matrix of blocks, and by which numbers these stand for the values; DtypeError
  /// for other types, ShapeError for what is no matrix.
  Groups groups(std::string_view name, MaybeDevice device = {}, Site s = Site::current()) const;
  const std::string& path() const;

 private:
  friend File load(const std::string&, Site);
  friend File load(std::span<const std::byte>, Site);
  std::shared_ptr<const State> state_;
};

/// Maps a file.
File load(const std::string& path, Site s = Site::current());
/// Reads a file from memory, which is copied.
File load(std::span<const std::byte> bytes, Site s = Site::current());

}  // namespace lazy::gguf
