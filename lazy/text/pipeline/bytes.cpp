#include "lazy/text/pipeline/bytes.hpp"

#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {
namespace {

constexpr size_t kCharacters = 0x144;  // of the alphabet, the last one and 1
constexpr std::array<int16_t, kCharacters> bytes_by_character() {
  std::array<int16_t, kCharacters> out{};
  out.fill(-1);
  for (unsigned b = 0; b < 256; ++b) out[kByteAlphabet[b]] = static_cast<int16_t>(b);
  return out;
}
constexpr auto kBytes = bytes_by_character();

}  // namespace

int byte_of(char32_t c) { return c < kBytes.size() ? kBytes[c] : -1; }

std::string in_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char b : bytes) unicode::append(out, kByteAlphabet[static_cast<unsigned char>(b)]);
  return out;
}

}  // namespace lazy::text::pipeline
