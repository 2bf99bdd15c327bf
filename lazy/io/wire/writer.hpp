// Writes messages of protobuf's wire format, field by field.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lazy::wire {

/// Holds one message.
class MessageWriter {
 public:
  MessageWriter& integer(uint32_t field, int64_t v) {
    varint(uint64_t{field} << 3);
    varint(static_cast<uint64_t>(v));
    return *this;
  }
  MessageWriter& real(uint32_t field, float v) {
    varint(uint64_t{field} << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&v), sizeof v);
    return *this;
  }
  MessageWriter& text(uint32_t field, std::string_view v) {
    begin(field, v.size());
    bytes_ += v;
    return *this;
  }
  MessageWriter& message(uint32_t field, const MessageWriter& m) { return text(field, m.bytes_); }
  /// Writes what stands before so many bytes of a text or message, which follow by append().
  MessageWriter& begin(uint32_t field, size_t bytes) {
    varint(uint64_t{field} << 3 | 2);
    varint(bytes);
    return *this;
  }
  MessageWriter& append(std::string_view v) {
    bytes_ += v;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>((v & 0x7f) | 0x80);
    bytes_ += static_cast<char>(v);
  }
  std::string bytes_;
};

}  // namespace lazy::wire
