// Exchanges memory with std::mdspan (C++23), and with types that have its interface
// (std::experimental::mdspan, Kokkos::mdspan), without a copy. Not part of lazy/lazy.hpp.
//
//   Tensor x = lazy::from_mdspan(m);                                          // m's memory must outlive x,
//   unchanged auto s = lazy::to_mdspan<std::mdspan<const float, std::dextents<size_t, 2>>>(x);   // x must
//   outlive s
#pragma once
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#include <array>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "lazy/ops/creation.hpp"
#include "support/error.hpp"

namespace lazy {

/// Accepts what has the interface of std::mdspan, over plain memory.
template <class M>
concept Mdspan = requires(const M& m) {
  typename M::mapping_type;
  typename M::extents_type;
  { m.data_handle() } -> std::convertible_to<const typename M::element_type*>;
  m.mapping().stride(0);
  { M::rank() } -> std::convertible_to<size_t>;
};

/// Returns a tensor in the memory of a span of any layout that has strides (layout_right, layout_left,
/// layout_stride).
template <Mdspan M>
requires Element<std::remove_const_t<typename M::element_type>> Tensor from_mdspan(const M& m,
                                                                                   Site s = Site::current()) {
  static_assert(M::is_always_strided(), "the layout has no strides");
  static_assert(M::rank() <= kMaxRank, "a tensor has at most 8 dimensions");
  std::vector<int64_t> shape, strides;
  if constexpr (M::rank() > 0)
    for (size_t i = 0; i < M::rank(); ++i) {
      shape.push_back(static_cast<int64_t>(m.extent(i)));
      strides.push_back(static_cast<int64_t>(m.mapping().stride(i)));
    }
  using E = std::remove_const_t<typename M::element_type>;
  return from_blob(const_cast<E*>(m.data_handle()), ShapeArg(shape, s), std::move(strides), {}, {}, s);
}

/// Returns a span of the elements, row-major, valid while the tensor, unassigned, lives: M is layout_right or
/// layout_stride, of const elements. Evaluates, and copies what is not row-major. DtypeError if M's element
/// type is not the C++ type of the dtype; ShapeError for another rank, extents other than M's static ones, or
/// another layout.
template <Mdspan M>
requires std::is_const_v<typename M::element_type> && Element<std::remove_const_t<typename M::element_type>> M
to_mdspan(const Tensor& x, Site s = Site::current()) {
  using I = typename M::index_type;
  const Shape& shape = x.shape(s);
  if (static_cast<size_t>(shape.size()) != M::rank())
    throw ShapeError(
        "to_mdspan: expected " + std::to_string(M::rank()) + " dimensions, found " + to_string(shape), s);
  std::array<I, M::rank()> extents{}, strides{};
  const Dims steps = contiguous_strides(shape);
  for (size_t i = 0; i < M::rank(); ++i) {
    constexpr auto kAny = static_cast<size_t>(-1);  // std::dynamic_extent
    if (M::static_extent(i) != kAny && M::static_extent(i) != static_cast<size_t>(shape[static_cast<int>(i)]))
      throw ShapeError("to_mdspan: expected " + std::to_string(M::static_extent(i)) + " along axis " +
                           std::to_string(i) + ", found " + to_string(shape),
                       s);
    extents[i] = static_cast<I>(shape[static_cast<int>(i)]);
    strides[i] = static_cast<I>(steps[static_cast<int>(i)]);
  }
  const auto* const data = x.data<std::remove_const_t<typename M::element_type>>(s);
  using Mapping = typename M::mapping_type;
  const typename M::extents_type all(extents);
  if constexpr (std::is_constructible_v<Mapping, const typename M::extents_type&,
                                        const std::array<I, M::rank()>&>) {
    return M(data, Mapping(all, strides));
  } else {
    const Mapping mapping(all);
    if constexpr (M::rank() > 0)
      for (size_t i = 0; i < M::rank(); ++i)
        if (extents[i] > 1 && mapping.stride(i) != strides[i])
          throw ShapeError("to_mdspan: the span's layout is not row-major, as the elements of " +
                               to_string(shape) + " are",
                           s);
    return M(data, mapping);
  }
}
template <Mdspan M>
M to_mdspan(Tensor&&, Site = {}) = delete;

}  // namespace lazy
