// Defines the alphabet in which byte-level vocabularies are written: a printable character for each byte.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lazy::text::pipeline {

/// Returns the characters of all bytes: printable ones of Latin-1 stand for themselves, the others are
/// numbered from U+0100 on.
constexpr std::array<char16_t, 256> byte_alphabet() {
  std::array<char16_t, 256> out{};
  char16_t next = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    out[b] = printable ? static_cast<char16_t>(b) : next++;
  }
  return out;
}
inline constexpr std::array<char16_t, 256> kByteAlphabet = byte_alphabet();
inline constexpr char16_t kByteSpace = kByteAlphabet[' '];

/// Returns the byte that a character stands for; -1 if it stands for none.
int byte_of(char32_t character);
/// Returns the characters of bytes.
std::string in_byte_alphabet(std::string_view bytes);

}  // namespace lazy::text::pipeline
