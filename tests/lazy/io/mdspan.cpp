// Tests the exchange with mdspan. Where the standard library has none, with a small one of the same
// interface.
#include "lazy/io/mdspan.hpp"

#include <functional>
#include <numeric>
#include <utility>

#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;

#ifdef __cpp_lib_mdspan
namespace md = std;
#else
namespace md {

template <class I, size_t... Static>
struct extents {
  using index_type = I;
  std::array<I, sizeof...(Static)> all{};
  extents() = default;
  explicit extents(const std::array<I, sizeof...(Static)>& a) : all(a) {}
  static constexpr size_t rank() { return sizeof...(Static); }
  static constexpr size_t static_extent(size_t i) {
    return std::array<size_t, sizeof...(Static)>{Static...}[i];
  }
  I extent(size_t i) const { return all[i]; }
};
template <class I, size_t... Axis>
auto dynamic(std::index_sequence<Axis...>)
    -> extents<I, (static_cast<void>(Axis), static_cast<size_t>(-1))...>;
template <class I, size_t Rank>
using dextents = decltype(dynamic<I>(std::make_index_sequence<Rank>()));

template <class E, bool kLeft>
struct PackedMapping {
  E e;
  explicit PackedMapping(const E& x) : e(x) {}
  const E& extents() const { return e; }
  auto stride(size_t axis) const {
    typename E::index_type n = 1;
    for (size_t i = kLeft ? 0 : axis + 1; i < (kLeft ? axis : E::rank()); ++i) n *= e.extent(i);
    return n;
  }
};
struct layout_right {
  template <class E>
  using mapping = PackedMapping<E, false>;
};
struct layout_left {
  template <class E>
  using mapping = PackedMapping<E, true>;
};
struct layout_stride {
  template <class E>
  struct mapping {
    E e;
    std::array<typename E::index_type, E::rank()> s;
    mapping(const E& x, const std::array<typename E::index_type, E::rank()>& strides) : e(x), s(strides) {}
    const E& extents() const { return e; }
    auto stride(size_t axis) const { return s[axis]; }
  };
};

template <class T, class E, class Layout = layout_right>
class mdspan {
 public:
  using element_type = T;
  using extents_type = E;
  using index_type = typename E::index_type;
  using layout_type = Layout;
  using mapping_type = typename Layout::template mapping<E>;
  mdspan(T* data, const mapping_type& m) : data_(data), mapping_(m) {}
  static constexpr size_t rank() { return E::rank(); }
  static constexpr size_t static_extent(size_t i) { return E::static_extent(i); }
  static constexpr bool is_always_strided() { return true; }
  index_type extent(size_t i) const { return mapping_.extents().extent(i); }
  const mapping_type& mapping() const { return mapping_; }
  T* data_handle() const { return data_; }

 private:
  T* data_;
  mapping_type mapping_;
};

}  // namespace md
#endif

BOOST_FIXTURE_TEST_SUITE(io_mdspan, OnCpu)

BOOST_AUTO_TEST_CASE(spans_become_tensors) {
  std::vector<int32_t> v(24);
  std::iota(v.begin(), v.end(), 0);
  using Two = md::dextents<size_t, 2>;
  const Two shape(std::array<size_t, 2>{2, 3});
  using Right = md::mdspan<const int32_t, Two>;
  const Right right(v.data(), Right::mapping_type(shape));
  const Tensor x = from_mdspan(right);
  equal(x, int32, {2, 3}, {0, 1, 2, 3, 4, 5});
  BOOST_TEST(x.data<int32_t>() == v.data());
  using Left = md::mdspan<int32_t, Two, md::layout_left>;
  equal(from_mdspan(Left(v.data(), Left::mapping_type(shape))), int32, {2, 3}, {0, 2, 4, 1, 3, 5});
  using Stride = md::mdspan<int32_t, Two, md::layout_stride>;
  equal(from_mdspan(Stride(v.data() + 1, Stride::mapping_type(shape, std::array<size_t, 2>{12, 2}))), int32,
        {2, 3}, {1, 3, 5, 13, 15, 17});
}

BOOST_AUTO_TEST_CASE(tensors_become_spans) {
  const Tensor x = arange(6, float32).reshape({2, 3});
  const auto right = to_mdspan<md::mdspan<const float, md::dextents<int, 2>>>(x);
  BOOST_TEST(right.data_handle() == x.data<float>());
  BOOST_TEST(right.extent(1) == 3);
  using Static = md::mdspan<const float, md::extents<int64_t, 2, 3>, md::layout_stride>;
  BOOST_TEST(to_mdspan<Static>(x).mapping().stride(0) == 3);
  const Tensor t = x.T();
  THROWS(ShapeError, to_mdspan<Static>(t), "to_mdspan: expected 2 along axis 0, found [3, 2]");
  using Three = md::mdspan<const float, md::dextents<int, 3>>;
  THROWS(ShapeError, to_mdspan<Three>(x), "to_mdspan: expected 3 dimensions, found [2, 3]");
  using Left = md::mdspan<const float, md::dextents<int, 2>, md::layout_left>;
  THROWS(ShapeError, to_mdspan<Left>(x),
         "to_mdspan: the span's layout is not row-major, as the elements of [2, 3] are");
  using Doubles = md::mdspan<const double, md::dextents<int, 2>>;
  THROWS(DtypeError, to_mdspan<Doubles>(x), "data: the elements are float32, not float64");
}

BOOST_AUTO_TEST_SUITE_END()
