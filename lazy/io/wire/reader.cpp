#include "lazy/io/wire/reader.hpp"

#include <bit>

namespace lazy::wire {

Message::Message(const Message& outer, const Field& field)
    : file_(outer.file_), range_(field.range), at_(field.range.begin), depth_(outer.depth_ + 1) {
  if (field.type != Type::bytes) outer.wrong(field, "a message", "bytes");
  if (depth_ > kMostDepth)
    file_->bad(range_.begin, "messages lie in each other more than " + std::to_string(kMostDepth) + " deep");
}

uint64_t Message::varint(uint64_t& at, uint64_t end) const {
  constexpr int kBits = 64, kGroup = 7;
  const uint64_t begin = at;
  uint64_t value = 0;
  for (int shift = 0; shift < kBits; shift += kGroup) {
    if (at >= end) file_->bad(begin, "a number goes beyond the end of what it is in");
    const auto byte = static_cast<uint8_t>(file_->bytes[at++]);
    const uint64_t bits = byte & 0x7fu;
    if (shift == kBits - 1 && bits > 1) file_->bad(begin, "a number has more than 64 bits");
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  file_->bad(begin, "a number has more than 10 bytes");
}

std::optional<Field> Message::next() {
  if (at_ >= range_.end) return {};
  const uint64_t begin = at_;
  const uint64_t key = varint(at_, range_.end);
  constexpr uint64_t kMostKey = uint64_t{1} << 32;
  Field field;
  if (key >= kMostKey || key >> 3 == 0)
    file_->bad(begin, "expected a field's number, found " + std::to_string(key >> 3));
  field.number = static_cast<uint32_t>(key >> 3);
  const uint64_t left_at = at_;
  switch (key & 7) {
    case 0: field.value = varint(at_, range_.end); break;
    case 1:
    case 5: {
      const uint64_t size = (key & 7) == 1 ? 8 : 4;
      if (range_.end - at_ < size) file_->bad(begin, "a number goes beyond the end of what it is in");
      field.value = size == 8 ? file_->little<uint64_t>(at_) : file_->little<uint32_t>(at_);
      at_ += size;
      break;
    }
    case 2: {
      const uint64_t length = varint(at_, range_.end);
      if (length > range_.end - at_)
        file_->bad(begin, "field " + std::to_string(field.number) + " has " + std::to_string(length) +
                              " bytes, but what it is in has " + std::to_string(range_.end - at_) + " more");
      field.range = {at_, at_ + length};
      at_ += length;
      field.type = Type::bytes;
      return field;
    }
    default:
      file_->bad(begin, "field " + std::to_string(field.number) + " is of wire type " +
                            std::to_string(key & 7) + ", which is not supported");
  }
  field.type = static_cast<Type>(key & 7);
  field.range = {left_at, at_};
  return field;
}

void Message::wrong(const Field& field, const char* what, const char* expected) const {
  file_->bad(field.range.begin, "expected " + std::string(what) + ", which is written as " + expected +
                                    ", found wire type " + std::to_string(static_cast<int>(field.type)));
}

int64_t Message::integer(const Field& field, const char* what) const {
  if (field.type != Type::varint) wrong(field, what, "a number");
  return static_cast<int64_t>(field.value);
}

float Message::real(const Field& field, const char* what) const {
  if (field.type != Type::fixed32) wrong(field, what, "4 bytes");
  return std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

std::string_view Message::bytes(const Field& field, const char* what) const {
  if (field.type != Type::bytes) wrong(field, what, "bytes");
  return file_->bytes.substr(field.range.begin, field.range.size());
}

void Message::check_packed(const Field& field, uint64_t size, const char* what) const {
  if (field.range.size() % size != 0)
    file_->bad(field.range.begin, std::string(what) + ": " + std::to_string(field.range.size()) +
                                      " bytes are no whole number of elements of " + std::to_string(size));
}

}  // namespace lazy::wire
