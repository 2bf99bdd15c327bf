// Puts the planes of complex numbers together into pairs, and takes them apart.
#pragma once
#include <cstddef>
#include <cstring>

#include "jit/core/dtype.hpp"

namespace lazy::jit {

namespace detail {

/// Copies every `from_step`-th word to every `to_step`-th place; words may lie at any address.
template <class Word>
void copy_words(const void* from, size_t from_step, void* to, size_t to_step, size_t count) {
  const auto* const x = static_cast<const std::byte*>(from);
  auto* const y = static_cast<std::byte*>(to);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(y + i * to_step * sizeof(Word), x + i * from_step * sizeof(Word), sizeof(Word));
}
inline void copy_words(DType word, const void* from, size_t from_step, void* to, size_t to_step,
                       size_t count) {
  if (size_of(word) == 4) copy_words<float>(from, from_step, to, to_step, count);
  else copy_words<double>(from, from_step, to, to_step, count);
}

}  // namespace detail

/// Copies elements of planes, of float32 or float64, into pairs.
inline void interleave(DType plane, const void* re, const void* im, void* pairs, size_t count) {
  detail::copy_words(plane, re, 1, pairs, 2, count);
  detail::copy_words(plane, im, 1, static_cast<std::byte*>(pairs) + size_of(plane), 2, count);
}
/// Copies pairs into a plane: the real one, 0, or the imaginary one, 1.
inline void take_plane(DType plane, const void* pairs, int which, void* to, size_t count) {
  const size_t before = static_cast<size_t>(which) * size_of(plane);
  detail::copy_words(plane, static_cast<const std::byte*>(pairs) + before, 2, to, 1, count);
}

}  // namespace lazy::jit
