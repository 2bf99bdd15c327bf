// Writes binary formats, field by field in the machine's byte order.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lazy::cpu_backend {

class ByteWriter {
 public:
  size_t size() const { return out_.size(); }
  const std::string& bytes() const { return out_; }
  template <class T>
  ByteWriter& put(T v) {
    out_.append(reinterpret_cast<const char*>(&v), sizeof v);
    return *this;
  }
  ByteWriter& u8(unsigned v) { return put(static_cast<uint8_t>(v)); }
  ByteWriter& u16(unsigned v) { return put(static_cast<uint16_t>(v)); }
  ByteWriter& u32(uint64_t v) { return put(static_cast<uint32_t>(v)); }
  ByteWriter& u64(uint64_t v) { return put(v); }
  ByteWriter& uleb(uint64_t v) {
    for (; v >= 0x80; v >>= 7) u8(0x80 | (v & 0x7f));
    return u8(static_cast<unsigned>(v));
  }
  ByteWriter& sleb(int64_t v) {
    for (; v < -64 || v > 63; v >>= 7) u8(0x80 | (v & 0x7f));
    return u8(v & 0x7f);
  }
  ByteWriter& raw(std::string_view s) {
    out_ += s;
    return *this;
  }
  /// Appends text with a zero at its end.
  ByteWriter& text(std::string_view s) { return raw(s).u8(0); }
  ByteWriter& align(size_t to, char fill = 0) {
    out_.resize((out_.size() + to - 1) / to * to, fill);
    return *this;
  }
  /// Overwrites four bytes that were written before.
  void patch32(size_t at, uint64_t v) {
    const auto narrow = static_cast<uint32_t>(v);
    std::memcpy(out_.data() + at, &narrow, sizeof narrow);
  }

 private:
  std::string out_;
};

}  // namespace lazy::cpu_backend
