#include <algorithm>

#include "lazy/data/files.hpp"
#include "lazy/io/file.hpp"
#include "support/text.hpp"

namespace lazy::data {

std::string read_text(const std::string& path, Site s) {
  const auto file = lazy::detail::open_file("read_text", path, s, lazy::detail::Access::parts);
  std::string text(file.bytes.size(), '\0');
  file.copy_to(text.data(), 0, text.size());
  return text;
}

CharVocabulary::CharVocabulary(std::string_view text) {
  bool seen[256] = {};
  for (const char c : text) seen[static_cast<uint8_t>(c)] = true;
  for (int b = 0; b < 256; ++b) {
    numbers_[b] = seen[b] ? static_cast<int16_t>(characters_.size()) : int16_t{-1};
    if (seen[b]) characters_ += static_cast<char>(b);
  }
}

std::vector<int64_t> CharVocabulary::encode(std::string_view text, Site s) const {
  std::vector<int64_t> numbers;
  numbers.reserve(text.size());
  for (const char c : text) {
    numbers.push_back(numbers_[static_cast<uint8_t>(c)]);
    if (numbers.back() < 0)
      throw Error("encode: the vocabulary does not have " + text::quoted(std::string_view(&c, 1)), s);
  }
  return numbers;
}

std::string CharVocabulary::decode(std::span<const int64_t> numbers, Site s) const {
  std::string text;
  for (const int64_t n : numbers) {
    if (n < 0 || n >= size())
      throw IndexError("decode: " + std::to_string(n) + " of " + std::to_string(size()) + " characters", s);
    text += character(n);
  }
  return text;
}

TextDataset::TextDataset(std::vector<int64_t> numbers, int64_t length, Site s)
    : numbers_(std::move(numbers)), length_(length) {
  if (length < 1 || length >= numbers_.size())
    throw ShapeError("TextDataset: pieces of " + std::to_string(length) + " of a text of " +
                         std::to_string(numbers_.size()),
                     s);
}

Example TextDataset::get(int64_t i) const {
  detail::check_index("TextDataset", i, size());
  const auto piece = [&](int64_t at) {
    const std::shared_ptr<const void> own = numbers_.memory();
    return Array({own, static_cast<const int64_t*>(own.get()) + at}, int64, {length_});
  };
  return {piece(i), piece(i + 1)};
}

}  // namespace lazy::data
