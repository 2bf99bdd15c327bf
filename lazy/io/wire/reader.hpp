// Reads protobuf's wire format from a mapped file: fields of a message one after another, every length
// checked against the message that it lies in. Nothing is copied; errors name the file and the byte.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lazy/io/file.hpp"

namespace lazy::wire {

/// Bounds how deep messages may lie in each other: a file can't make the reader use up the stack.
inline constexpr int kMostDepth = 100;

/// Says how a field's value is written. Groups, which nothing has used for long, are errors.
enum class Type : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Holds the place of a message, or of other bytes, in a file.
struct Range {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

/// Holds one field of a message.
struct Field {
  uint32_t number = 0;
  Type type = Type::varint;
  uint64_t value = 0;  // of a number: its bits
  Range range;         // of bytes: where they are. Of a number: where it is written
};

/// Reads the fields of one message.
class Message {
 public:
  /// Takes the message that the whole file is.
  explicit Message(const detail::FileBytes& file) : file_(&file), range_{0, file.bytes.size()} {}
  /// Takes the message that a field is, or throws IoError: it is a number, or too deep.
  Message(const Message& outer, const Field& field);

  /// Returns the next field; none at the end. IoError for what is no field.
  std::optional<Field> next();

  // Return what a field holds; `what` names it in the IoError for a field of another type.

  int64_t integer(const Field&, const char* what) const;
  float real(const Field&, const char* what) const;
  std::string_view bytes(const Field&, const char* what) const;
  /// Calls f with each number of a repeated field of varints, packed or not.
  template <class F>
  void integers(const Field& field, const char* what, F&& f) const {
    if (field.type != Type::bytes) return f(integer(field, what));
    for (uint64_t at = field.range.begin; at < field.range.end;)
      f(static_cast<int64_t>(varint(at, field.range.end)));
  }
  /// Calls f with each number of a repeated field of floats, packed or not.
  template <class F>
  void reals(const Field& field, const char* what, F&& f) const {
    if (field.type != Type::bytes) return f(real(field, what));
    check_packed(field, sizeof(float), what);
    for (uint64_t at = field.range.begin; at < field.range.end; at += sizeof(float))
      f(file_->little<float>(at));
  }
  /// Throws IoError unless the field's bytes are a whole number of elements.
  void check_packed(const Field&, uint64_t size, const char* what) const;

  const detail::FileBytes& file() const { return *file_; }
  const Range& range() const { return range_; }
  int depth() const { return depth_; }
  /// Continues a message whose place was kept.
  Message(const detail::FileBytes& file, Range range, int depth)
      : file_(&file), range_(range), at_(range.begin), depth_(depth) {}

 private:
  uint64_t varint(uint64_t& at, uint64_t end) const;
  [[noreturn]] void wrong(const Field&, const char* what, const char* expected) const;

  const detail::FileBytes* file_;
  Range range_;
  uint64_t at_ = 0;
  int depth_ = 0;
};

}  // namespace lazy::wire
