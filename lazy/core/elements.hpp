// Hands the elements of a tensor to C++: as a range, or in vectors of vectors.
#pragma once
#include <cstddef>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Holds a value's elements, in row-major order, as a range: what x.elements<float>() returns. Copies share
/// them; pointers and spans hold as long as one of them, or x unassigned, lives.
template <Element E>
class Elements {
 public:
  using value_type = E;
  const E* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const E* begin() const noexcept { return data_; }
  const E* end() const noexcept { return data_ + size_; }
  const E& operator[](size_t i) const noexcept { return data_[i]; }

 private:
  friend class Tensor;
  Elements(const Tensor& x, const E* data, size_t size) : x_(x), data_(data), size_(size) {}
  Tensor x_;
  const E* data_;
  size_t size_;
};

template <Element E>
Elements<E> Tensor::elements(Site s) const {
  const E* const all = data<E>(s);  // of this Tensor, whose packed copy the next line shares
  return {*this, all, count("elements", s)};
}

namespace detail {

/// Cuts row-major elements into vectors, one level an axis.
template <class E, int levels>
auto listed(const std::vector<E>& flat, const Shape& shape, int axis, size_t from, size_t count) {
  if constexpr (levels == 1) {
    return std::vector<E>(flat.begin() + static_cast<std::ptrdiff_t>(from),
                          flat.begin() + static_cast<std::ptrdiff_t>(from + count));
  } else {
    const auto n = static_cast<size_t>(shape[axis]);
    std::vector<decltype(listed<E, levels - 1>(flat, shape, axis + 1, from, count))> rows;
    rows.reserve(n);
    for (size_t i = 0; i < n; ++i)
      rows.push_back(listed<E, levels - 1>(flat, shape, axis + 1, from + i * (count / n), count / n));
    return rows;
  }
}
void check_levels(const Tensor&, int levels, const Site&);

}  // namespace detail

template <Element E, int levels>
auto Tensor::tolist(Site s) const {
  static_assert(levels >= 1, "a tensor without dimensions has item() alone");
  detail::check_levels(*this, levels, s);
  const std::vector<E> flat = to_vector<E>(s);
  return detail::listed<E, levels>(flat, shape(s), 0, 0, flat.size());
}

}  // namespace lazy
