// Frames records as TFRecord files do, and writes fields of protocol buffers. Internal to lazy/training.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace lazy::training::detail {

/// Returns the CRC-32C (Castagnoli) of bytes.
uint32_t crc32c(std::string_view bytes);
/// Returns a checksum as a TFRecord has it: rotated, and a constant added.
inline uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8u; }
/// Returns a record: length, its checksum, the bytes, their checksum.
std::string record_of(std::string_view bytes);

/// Builds a message of the protocol buffers' wire format, field by field.
class Message {
 public:
  Message& number(int field, uint64_t v);                    // varint
  Message& real(int field, double v);                        // 64 bits
  Message& single(int field, float v);                       // 32 bits
  Message& text(int field, std::string_view v);              // bytes, text, or a message
  Message& reals(int field, const double* v, size_t count);  // packed
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t v);
  void tag(int field, int wire_type) {
    varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type));
  }
  std::string bytes_;
};

}  // namespace lazy::training::detail
