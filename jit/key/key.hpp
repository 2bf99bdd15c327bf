// Reads and writes the canonical key, word by word. Only this file knows how words are laid out.
//
// Word 0 has the settings that change what is computed, and for which code. Then comes each value:
//   word 0: op (10 bits), accuracy (2), dtype (8), rank (4), which extents are 1 (8)
//   word 1: 1 if the value is an output, arity (15), bytes of attributes (16)
//   the operands' numbers, a word each
//   the attributes, four bytes a word, the last one filled up with zeros
// Attributes are an op's axes, a byte each; of an input its marks, if it has any; of a call its name, a zero
// and the call's own bytes.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"
#include "jit/core/shape.hpp"
#include "support/config.hpp"

namespace lazy::jit {

/// Holds word 0 of a key.
struct KeySettings {
  bool exact_casts = false;
  config::Dynamic dynamic{};
  bool fp_contract = false;
  uint32_t code_class = 0;  // Backend::code_class, below 2^16

  uint32_t word() const {
    return static_cast<uint32_t>(exact_casts) | static_cast<uint32_t>(dynamic) << 1 |
           static_cast<uint32_t>(fp_contract) << 3 | code_class << 8;
  }
  static KeySettings of(uint32_t word) {
    return {(word & 1) != 0, static_cast<config::Dynamic>(word >> 1 & 3), (word >> 3 & 1) != 0, word >> 8};
  }
  /// False for a word that no settings have.
  static bool valid(uint32_t word) { return of(word).word() == word; }
};

/// Holds one value of a key. The spans are into the key.
struct KeyValue {
  Op op{};
  DType dtype{};
  Accuracy accuracy{};
  uint8_t rank = 0;
  uint8_t ones = 0;     // bit i: dimension i has extent 1
  bool output = false;  // the flush stores it
  std::span<const uint32_t> operands;
  std::string_view attributes;

  Dims axes() const;       // for an op other than a call
  uint16_t marks() const;  // for an input
  std::string_view call_name() const { return attributes.substr(0, attributes.find('\0')); }
  std::string_view call_attributes() const {
    const size_t end = attributes.find('\0');
    return end == attributes.npos ? std::string_view() : attributes.substr(end + 1);
  }
};

/// Returns how many words a value takes, by its word 1.
constexpr size_t words_of_value(uint32_t word) { return 2 + (word >> 1 & 0x7fff) + ((word >> 16) + 3) / 4; }

/// Reads a value that a KeyWriter wrote.
inline KeyValue read_value(const uint32_t* words) {
  const uint32_t a = words[0], b = words[1], arity = b >> 1 & 0x7fff;
  return {static_cast<Op>(a & 0x3ff),
          static_cast<DType>(a >> 12 & 0xff),
          static_cast<Accuracy>(a >> 10 & 3),
          static_cast<uint8_t>(a >> 20 & 0xf),
          static_cast<uint8_t>(a >> 24),
          (b & 1) != 0,
          {words + 2, arity},
          {reinterpret_cast<const char*>(words + 2 + arity), b >> 16}};
}

/// Iterates over the values of a key from any source: reading is safe whatever the words are.
class KeyReader {
 public:
  explicit KeyReader(std::span<const uint32_t> key) : key_(key) {}
  /// False at the end, and where the words are no value's (then ok() is false).
  bool next(KeyValue&);
  bool ok() const { return ok_; }
  /// Returns where in the key the value begins that next() reads.
  size_t position() const { return at_; }

 private:
  std::span<const uint32_t> key_;
  size_t at_ = 1;
  bool ok_ = true;
};

/// Writes values of a key.
struct KeyWriter {
  static constexpr size_t words_of(size_t attribute_bytes) { return (attribute_bytes + 3) / 4; }

  /// Writes a value's words to `at` and returns where the next value's go. `operands`: numbers of `arity`
  /// values. `attributes` becomes the place of the attributes, which the caller fills in.
  [[gnu::always_inline]] static uint32_t* value(uint32_t* at, Op op, DType dtype, const Shape& shape,
                                                bool output, const uint32_t* operands, uint32_t arity,
                                                size_t attribute_bytes, char*& attributes,
                                                Accuracy accuracy = Accuracy::full) {
    uint32_t ones = 0;
    for (int i = 0; i < shape.size(); ++i) ones |= static_cast<uint32_t>(shape[i] == 1) << i;
    *at++ = static_cast<uint32_t>(op) | static_cast<uint32_t>(accuracy) << 10 |
            static_cast<uint32_t>(dtype) << 12 | static_cast<uint32_t>(shape.size()) << 20 | ones << 24;
    *at++ = static_cast<uint32_t>(output) | arity << 1 | static_cast<uint32_t>(attribute_bytes) << 16;
    for (uint32_t i = 0; i < arity; ++i) *at++ = operands[i];
    if (attribute_bytes == 0) return at;
    attributes = reinterpret_cast<char*>(at);
    at += words_of(attribute_bytes);
    at[-1] = 0;  // filled up with zeros
    return at;
  }

  /// Marks the value that begins at word `at` as no output.
  static void drop_output(std::vector<uint32_t>& key, size_t at) { key[at + 1] &= ~1u; }
};

}  // namespace lazy::jit
