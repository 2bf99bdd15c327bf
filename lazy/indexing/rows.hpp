// Lets a loop go along the first axis of a tensor: for (Tensor row : x).
#pragma once
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>

#include "lazy/indexing/indexing.hpp"

namespace lazy {

/// Goes along axis 0: each element is a view, (3, 2) has three of (2).
class RowIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Tensor;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Tensor;

  RowIterator() = default;
  RowIterator(Tensor x, int64_t at, const Site& s) : x_(std::move(x)), at_(at), site_(s) {}
  Tensor operator*() const { return x_(Index(at_, site_)); }
  RowIterator& operator++() {
    ++at_;
    return *this;
  }
  RowIterator operator++(int) { return {x_, at_++, site_}; }
  bool operator==(const RowIterator& other) const { return at_ == other.at_; }

 private:
  Tensor x_;  // the value when the loop began
  int64_t at_ = 0;
  Site site_;
};

}  // namespace lazy

// size() counts elements; a range of rows has as many as axis 0.
template <std::derived_from<lazy::Tensor> T>
inline constexpr bool std::ranges::disable_sized_range<T> = true;
