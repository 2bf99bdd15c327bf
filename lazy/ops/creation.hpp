// Makes tensors. Functions that fill with a rule (zeros, arange, eye, ...) are recorded like any other op:
// nothing is written until a value is read.
//
// If no dtype is given, it is the default one (set_default_dtype, float32 unless set) for zeros, ones, empty,
// linspace, eye, for arange given a floating-point number and full given a double; int64 for full and arange
// of integers; bool, float32 and so on for full of a bool, a float. A negative extent throws ShapeError, as
// does a shape of more elements than can be addressed.
//
// Values are made on `device`; if none is given, on the default one, those of *_like on their
// argument's.
#pragma once
#include <functional>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

Tensor zeros(ShapeArg shape, MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
Tensor ones(ShapeArg shape, MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
/// Does the same as zeros: nothing here is ever uninitialised.
Tensor empty(ShapeArg shape, MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
Tensor full(ShapeArg shape, ScalarNumber value, MaybeDType dtype = {}, MaybeDevice device = {},
            Site = Site::current());
namespace detail {
Tensor full_of_complex(const Shape&, std::complex<double> value, DType, MaybeDevice, const Site&);
}  // namespace detail
/// Fills with a complex number: DtypeError for a real dtype.
template <ComplexType T>
Tensor full(ShapeArg shape, T value, MaybeDType dtype = {}, MaybeDevice device = {},
            Site s = Site::current()) {
  return detail::full_of_complex(shape, value, dtype.or_else(detail::literal_dtype(dtype_of<T>())), device,
                                 s);
}
// The same of extents without braces: zeros(3, 4).
#define LAZY_OF_EXTENTS(name)                                                                              \
  template <IntegerType B>                                                                                 \
  Tensor name(ExtentArg a, B b, ExtentArg c = {}, ExtentArg d = {}, ExtentArg i = {}, ExtentArg j = {},    \
              ExtentArg k = {}, ExtentArg l = {}) {                                                        \
    return name(detail::extents({a, ExtentArg(b, a.site), c, d, i, j, k, l}), MaybeDType(), MaybeDevice(), \
                a.site);                                                                                   \
  }
LAZY_OF_EXTENTS(zeros)
LAZY_OF_EXTENTS(ones)
LAZY_OF_EXTENTS(empty)
#undef LAZY_OF_EXTENTS
Tensor zeros_like(Arg x, MaybeDType dtype = {}, MaybeDevice device = {});
Tensor ones_like(Arg x, MaybeDType dtype = {}, MaybeDevice device = {});
Tensor empty_like(Arg x, MaybeDType dtype = {}, MaybeDevice device = {});
Tensor full_like(Arg x, ScalarNumber value, MaybeDType dtype = {}, MaybeDevice device = {});

/// Returns ceil((stop - start) / step) values, start + i * step computed in the result's dtype: of integers
/// int64, or uint64 where one is above its range. ShapeError if step is 0; DtypeError if the first or the
/// last value does not fit an integer dtype.
Tensor arange(ScalarNumber stop, MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
Tensor arange(ScalarNumber start, ScalarNumber stop, MaybeDType dtype = {}, MaybeDevice device = {},
              Site = Site::current());
Tensor arange(ScalarNumber start, ScalarNumber stop, ScalarNumber step, MaybeDType dtype = {},
              MaybeDevice device = {}, Site = Site::current());
/// Returns `num` values from start to stop, start + i * step computed in float64; the last one is stop
/// itself, or with `endpoint` false the step before it.
Tensor linspace(ScalarNumber start, ScalarNumber stop, IntegerArg num, bool endpoint = true,
                MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
namespace detail {
Tensor linspace_of_complex(std::complex<double> start, std::complex<double> stop, IntegerArg num,
                           bool endpoint, DType, MaybeDevice, const Site&);
}  // namespace detail
/// Goes evenly from one complex number to another: DtypeError for a real dtype.
template <class A, class B>
requires(ComplexType<A> || ComplexType<B>) Tensor
    linspace(A start, B stop, IntegerArg num, bool endpoint = true, MaybeDType dtype = {},
             MaybeDevice device = {}, Site s = Site::current()) {
  const auto widened = [](auto v) {
    if constexpr (ComplexType<decltype(v)>)
      return std::complex<double>(static_cast<double>(v.real()), static_cast<double>(v.imag()));
    else return std::complex<double>(static_cast<double>(v));
  };
  return detail::linspace_of_complex(widened(start), widened(stop), num, endpoint,
                                     dtype.or_else(detail::literal_dtype(complex128)), device, s);
}
/// Returns a matrix of rows x columns (columns = rows if negative) with ones on the diagonal column - row =
/// k.
Tensor eye(IntegerArg rows, IntegerArg columns = -1, IntegerArg k = 0, MaybeDType dtype = {},
           MaybeDevice device = {}, Site = Site::current());
inline Tensor identity(IntegerArg n, MaybeDType dtype = {}, MaybeDevice device = {},
                       Site s = Site::current()) {
  return eye(n, n, 0, dtype, device, s);
}
/// Return the elements on and below (tril) or on and above (triu) the diagonal column - row = k of the last
/// two axes; zero elsewhere.
Tensor tril(Arg x, IntegerArg k = 0);
Tensor triu(Arg x, IntegerArg k = 0);
/// Returns coordinate grids of one-dimensional tensors. indexing "xy": the first two axes change places;
/// "ij": they don't.
std::vector<Tensor> meshgrid(std::initializer_list<Arg> axes, const std::string& indexing = "xy");
std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes, const std::string& indexing = "xy",
                             Site = Site::current());
inline std::vector<Tensor> meshgrid(Arg a, Arg b, const std::string& indexing = "xy") {
  return meshgrid({a, b}, indexing);
}
inline std::vector<Tensor> meshgrid(Arg a, Arg b, Arg c, const std::string& indexing = "xy") {
  return meshgrid({a, b, c}, indexing);
}

namespace detail {
/// Throws ShapeError unless `count` elements fill the shape.
void check_filled(const char* op, size_t count, const Shape&, const Site&);
/// Returns the strides of user's memory: ShapeError if there are not as many as extents (or none), or if they
/// reach further than can be addressed.
Dims checked_strides(const char* op, const Shape&, std::span<const int64_t> strides, const Site&);
}  // namespace detail

/// Returns a tensor in the user's memory, shared, not copied: it must not change while any tensor made from
/// it may still be computed. Strides are in elements (none: row-major; 0 and negative are fine) and `data` is
/// the element of index 0. `deleter` (may be empty) runs once, on any thread, when nothing refers to the
/// memory any more; what it throws is reported as a warning. Where from_blob throws, the memory is still the
/// caller's and the deleter does not run. On a device other than the CPU the value is a copy.
Tensor from_blob(void* data, ShapeArg shape, DType dtype, std::vector<int64_t> strides = {},
                 std::function<void(void*)> deleter = {}, MaybeDevice device = {}, Site = Site::current());
template <Element T>
Tensor from_blob(T* data, ShapeArg shape, MaybeDevice device = {}, Site s = Site::current()) {
  return from_blob(static_cast<void*>(data), shape, dtype_of<T>(), {}, {}, device, s);
}
template <Element T>
Tensor from_blob(T* data, ShapeArg shape, std::vector<int64_t> strides,
                 std::function<void(void*)> deleter = {}, MaybeDevice device = {}, Site s = Site::current()) {
  return from_blob(static_cast<void*>(data), shape, dtype_of<T>(), std::move(strides), std::move(deleter),
                   device, s);
}
/// Shares the elements of a span, row-major in `shape`: ShapeError if these are not as many.
template <Element T, size_t N>
Tensor from_blob(std::span<T, N> v, ShapeArg shape, MaybeDevice device = {}, Site s = Site::current()) {
  detail::check_filled("from_blob", v.size(), shape, s);
  return from_blob(v.data(), shape, device, s);
}

namespace detail {
Tensor from_elements(const char* op, const void* elements, size_t count, const Shape& shape, DType from,
                     DType to, MaybeDevice, const Site&);
[[noreturn]] void throw_ragged(size_t expected, size_t found, const Site&);

/// Find element type and rank of nested lists; flattening checks that sublists have one length.
template <class T>
struct Nested {
  using Elem = T;
  static void shape_of(const T&, Shape&) {}
  static void append(const T& v, Elem*& out, const int64_t*, const Site&) { *out++ = v; }
};
template <class T>
struct Nested<std::initializer_list<T>> {
  using Elem = typename Nested<T>::Elem;
  static void shape_of(const std::initializer_list<T>& v, Shape& s) {
    s.push_back(static_cast<int64_t>(v.size()));
    if (v.size()) Nested<T>::shape_of(*v.begin(), s);
  }
  static void append(const std::initializer_list<T>& v, Elem*& out, const int64_t* extent, const Site& s) {
    if (static_cast<int64_t>(v.size()) != *extent) throw_ragged(static_cast<size_t>(*extent), v.size(), s);
    for (const T& x : v) Nested<T>::append(x, out, extent + 1, s);
  }
};
template <class List>
Tensor from_lists(const List& v, MaybeDType dtype, MaybeDevice device, const Site& s) {
  using E = typename Nested<List>::Elem;
  Shape shape;
  Nested<List>::shape_of(v, shape);
  const size_t n = static_cast<size_t>(numel(shape));
  const std::unique_ptr<E[]> flat(new E[n + 1]);
  E* out = flat.get();
  Nested<List>::append(v, out, shape.begin(), s);
  return from_elements("tensor", flat.get(), n, shape, dtype_of<E>(),
                       dtype.or_else(literal_dtype(scalar_dtype<E>())), device, s);
}
template <class T>
using List = std::initializer_list<T>;
}  // namespace detail

/// Makes a tensor of a scalar or nested lists of one type, up to rank 5 (other lists: NestedList):
/// tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}). The element type gives the dtype: `double` the default dtype, `int`
/// int64, as literals do in Python; float float32, bool bool, and so on (from_span and asarray keep float64
/// and int32). Lists of unequal length throw ShapeError.
template <Element T>
Tensor tensor(T value, MaybeDType dtype = {}, MaybeDevice device = {}, Site s = Site::current()) {
  return detail::from_elements("tensor", &value, 1, {}, dtype_of<T>(),
                               dtype.or_else(detail::literal_dtype(detail::scalar_dtype<T>())), device, s);
}
template <Element T>
Tensor tensor(detail::List<T> v, MaybeDType dtype = {}, MaybeDevice device = {}, Site s = Site::current()) {
  return detail::from_lists(v, dtype, device, s);
}
template <Element T>
Tensor tensor(detail::List<detail::List<T>> v, MaybeDType dtype = {}, MaybeDevice device = {},
              Site s = Site::current()) {
  return detail::from_lists(v, dtype, device, s);
}
template <Element T>
Tensor tensor(detail::List<detail::List<detail::List<T>>> v, MaybeDType dtype = {}, MaybeDevice device = {},
              Site s = Site::current()) {
  return detail::from_lists(v, dtype, device, s);
}
template <Element T>
Tensor tensor(detail::List<detail::List<detail::List<detail::List<T>>>> v, MaybeDType dtype = {},
              MaybeDevice device = {}, Site s = Site::current()) {
  return detail::from_lists(v, dtype, device, s);
}
template <Element T>
Tensor tensor(detail::List<detail::List<detail::List<detail::List<detail::List<T>>>>> v,
              MaybeDType dtype = {}, MaybeDevice device = {}, Site s = Site::current()) {
  return detail::from_lists(v, dtype, device, s);
}

/// Makes a tensor of the dtype to which all the elements promote, each with the dtype of its own type.
Tensor tensor(const NestedList&, MaybeDType dtype = {}, MaybeDevice device = {}, Site s = Site::current());

namespace detail {
template <class T>
inline constexpr bool kIsBraces = false;
template <class T>
inline constexpr bool kIsBraces<std::initializer_list<T>> = true;

/// Returns true for ranges of elements, and for ranges of such ranges. Lists in braces and tensors have
/// functions of their own; characters are text.
template <class R>
consteval bool has_elements() {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::derived_from<T, Tensor> || kIsBraces<T>) {
    return false;
  } else if constexpr (requires(T & r) { std::begin(r) != std::end(r); }) {
    using V = std::iter_value_t<decltype(std::begin(std::declval<T&>()))>;
    if constexpr (Element<V>) return !std::same_as<V, char>;
    else return has_elements<V>();
  } else {
    return false;
  }
}
template <class R>
concept RangeOfElements = has_elements<R>();

/// Finds the type of a range's innermost elements.
template <class R>
struct InnermostOf {
  using type = typename InnermostOf<std::iter_value_t<decltype(std::begin(std::declval<R&>()))>>::type;
};
template <Element T>
struct InnermostOf<T> {
  using type = T;
};

/// Appends the elements of a range in row-major order and finds its shape; ShapeError for ranges of unequal
/// length side by side. An extent is -1 as long as it is not known.
template <class R, class Out>
void append_range(R&& range, Out& out, Shape& shape, int level, const Site& s) {
  if (level == shape.size()) shape.push_back(-1);
  int64_t count = 0;
  for (auto&& v : range) {
    if constexpr (Element<std::iter_value_t<decltype(std::begin(range))>>)
      out.push_back(static_cast<typename Out::value_type>(v));
    else append_range(v, out, shape, level + 1, s);
    ++count;
  }
  int64_t& extent = shape[level];
  if (extent >= 0 && extent != count)
    throw_ragged(static_cast<size_t>(extent), static_cast<size_t>(count), s);
  extent = count;
}
}  // namespace detail

/// Copies a range of C++ - a vector, array, span, view - or a range of ranges, which becomes a matrix. Unlike
/// literals, the elements keep the dtype of exactly their C++ type, unless one is given. ShapeError for
/// ranges of unequal length side by side.
template <detail::RangeOfElements R>
Tensor tensor(R&& range, MaybeDType dtype = {}, MaybeDevice device = {}, Site s = Site::current()) {
  using E = typename detail::InnermostOf<std::remove_cvref_t<R>>::type;
  std::vector<std::conditional_t<std::same_as<E, bool>, unsigned char, E>> flat;  // no bits of vector<bool>
  Shape shape;
  detail::append_range(range, flat, shape, 0, s);
  return detail::from_elements("tensor", flat.data(), flat.size(), shape, dtype_of<E>(),
                               dtype.or_else(dtype_of<E>()), device, s);
}

/// Returns tensor(): NumPy's and MLX's name.
inline Tensor array(const NestedList& list, MaybeDType dtype = {}, MaybeDevice device = {},
                    Site s = Site::current()) {
  return tensor(list, dtype, device, s);
}
template <detail::RangeOfElements R>
Tensor array(R&& range, MaybeDType dtype = {}, MaybeDevice device = {}, Site s = Site::current()) {
  return tensor(range, dtype, device, s);
}

/// Copies a range of elements, in the dtype of exactly that C++ type; row-major in `shape`, or in one
/// dimension. ShapeError if the sizes differ.
template <class T, size_t N>
requires Element<std::remove_const_t<T>> Tensor from_span(std::span<T, N> v, ShapeArg shape,
                                                          MaybeDevice device = {}, Site s = Site::current()) {
  constexpr DType t = dtype_of<std::remove_const_t<T>>();
  return detail::from_elements("from_span", v.data(), v.size(), shape, t, t, device, s);
}
template <class T, size_t N>
requires Element<std::remove_const_t<T>> Tensor from_span(std::span<T, N> v, MaybeDevice device = {},
                                                          Site s = Site::current()) {
  return from_span(v, ShapeArg(v.size()), device, s);
}
template <Element T>
requires(!std::same_as<T, bool>) Tensor
    from_span(const std::vector<T>& v, MaybeDevice device = {}, Site s = Site::current()) {
  return from_span(std::span(v), device, s);
}
template <Element T>
requires(!std::same_as<T, bool>) Tensor
    from_span(const std::vector<T>& v, ShapeArg shape, MaybeDevice device = {}, Site s = Site::current()) {
  return from_span(std::span(v), shape, device, s);
}

/// Makes a tensor of a tensor (the same value, on its device unless another is given), a scalar, or a vector
/// (copied).
Tensor asarray(Arg x, MaybeDType dtype = {}, MaybeDevice device = {});
template <Element T>
Tensor asarray(const std::vector<T>& v, MaybeDType dtype = {}, MaybeDevice device = {},
               Site s = Site::current()) {
  if constexpr (std::same_as<T, bool>) {
    const std::unique_ptr<bool[]> flat(new bool[v.size() + 1]);
    std::copy(v.begin(), v.end(), flat.get());
    return detail::from_elements("asarray", flat.get(), v.size(), {static_cast<int64_t>(v.size())}, bool_,
                                 dtype.or_else(bool_), device, s);
  } else {
    return detail::from_elements("asarray", v.data(), v.size(), {static_cast<int64_t>(v.size())},
                                 dtype_of<T>(), dtype.or_else(dtype_of<T>()), device, s);
  }
}

template <Element E>
Tensor::Tensor(const std::vector<E>& elements, Site s) : Tensor(asarray(elements, {}, {}, s)) {}
template <Element E>
Tensor::Tensor(const std::vector<E>& elements, ShapeArg shape, Site s) {
  detail::check_filled("Tensor", elements.size(), shape, s);
  *this = asarray(elements, {}, {}, s).reshape(shape, s);
}

}  // namespace lazy
