// Defines what operators and functions take: a tensor or a scalar, together with the user's line.
//
// The converting constructors have std::source_location::current() as a default argument. It is evaluated
// where the conversion happens, which is in the user's code, even for `a + b`.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "jit/core/device.hpp"
#include "jit/core/shape.hpp"
#include "jit/graph/handle.hpp"
#include "lazy/core/counts.hpp"
#include "lazy/core/element.hpp"
#include "support/site.hpp"

namespace lazy {

class Tensor;
class Selection;

namespace detail {
/// Counts the variables of the process that have no value of their own (recipe.hpp).
extern constinit std::atomic<uint32_t> recipes;
inline bool any_recipes() noexcept { return recipes.load(std::memory_order_relaxed) != 0; }
/// Records the value of a variable that has a recipe, at a line or at the variable's own; returns nothing for
/// one that has a value. (Args are built where their fields can stay in registers: so this takes no Arg.)
jit::Handle read_recipe(const jit::Handle& variable, Site);
jit::Handle read_recipe(const jit::Handle& variable);
/// Returns the value of a complex literal.
jit::Handle complex_literal(std::complex<double>, DType, const Site&);
}  // namespace detail

/// Holds a C++ scalar: its kind decides how it promotes (see promotion.hpp), its value is exact.
struct ScalarNumber {
  /// natural: above the range of int64. complex: the Arg has the value (Arg::handle()).
  enum class Kind : uint8_t { boolean, integer, natural, real, complex };
  Kind kind = Kind::integer;
  DType dtype = int64;  // scalar_dtype() of the C++ type; matters only when no operand is a tensor
  union {
    int64_t i = 0;
    uint64_t u;
    double d;
  };
  ScalarNumber() = default;
  template <ScalarType T>
  constexpr ScalarNumber(T v) : dtype(detail::scalar_dtype<T>()) {
    if constexpr (std::is_same_v<T, bool>) {
      kind = Kind::boolean;
      i = v;
    } else if constexpr (std::integral<T>) {
      if (std::is_unsigned_v<T> && static_cast<uint64_t>(v) > static_cast<uint64_t>(INT64_MAX)) {
        kind = Kind::natural;
        u = static_cast<uint64_t>(v);
      } else {
        i = static_cast<int64_t>(v);
      }
    } else {
      kind = Kind::real;
      d = static_cast<double>(v);
    }
  }
  /// Returns the dtype that the scalar has when no operand is a tensor.
  DType literal_dtype() const { return detail::literal_dtype(dtype); }
  double as_double() const {
    return kind == Kind::real ? d : kind == Kind::natural ? static_cast<double>(u) : static_cast<double>(i);
  }
};

/// Holds a tensor or scalar operand and where it was written. Lives for one expression: it refers to the
/// Tensor it came from, or takes over the value of a temporary, so that `(sin(x) * 2).eval()` does not keep
/// sin(x). Of a variable that has a recipe in place of a value it takes what that records now.
class Arg {
 public:
  Arg(const Tensor& t, Site site = Site::current());
  Arg(Tensor&& t, Site site = Site::current());
  /// Reads the selected elements (of a mask: evaluates it).
  Arg(const Selection& v, Site site = Site::current());
  template <ScalarType T>
  Arg(T v, Site site = Site::current()) : number_(v), site_(site) {}
  /// Takes a complex literal: it promotes as scalars do, but has its value as a tensor has.
  template <ComplexType T>
  Arg(T v, Site site = Site::current())
      : owned_(detail::complex_literal(v, dtype_of<T>(), site)), site_(site) {
    number_.kind = ScalarNumber::Kind::complex;
    number_.dtype = dtype_of<T>();
  }
  Arg(ScalarNumber v, Site site) : number_(v), site_(site) {}
  Arg(jit::Handle h, Site site) : owned_(std::move(h)), is_tensor_(true), site_(site) {}

  bool is_tensor() const { return is_tensor_; }
  /// Returns the tensor's handle, or a complex literal's; empty for a default-constructed Tensor and for any
  /// other scalar.
  const jit::Handle& handle() const { return borrowed_ ? *borrowed_ : owned_; }
  /// Returns the handle, moved out of the Arg if that owns it: parameters live until the caller's statement
  /// ends, and a value that has a handle then is stored.
  jit::Handle take() { return borrowed_ ? *borrowed_ : std::move(owned_); }
  /// Returns the variable that the Arg refers to; null for a temporary or a scalar.
  const jit::Handle* variable() const { return borrowed_; }
  /// Returns the variable, which has a recipe, whose value the Arg has read; null for all others.
  const jit::Handle* read_of() const {
    return is_tensor_ ? reinterpret_cast<const jit::Handle*>(number_.u) : nullptr;
  }
  const ScalarNumber& number() const { return number_; }
  const Site& site() const { return site_; }

 private:
  const jit::Handle* borrowed_ = nullptr;
  jit::Handle owned_;
  ScalarNumber number_;  // of a tensor: 0, or the address that read_of() returns
  bool is_tensor_ = false;
  Site site_;
};

namespace detail {
/// Accepts vectors, arrays and spans of integers, which characters are not.
template <class R>
concept IntegersInMemory = requires(const R& r) {
  r.size();
  requires IntegerType<std::remove_cvref_t<decltype(*r.data())>> &&
      !std::same_as<std::remove_cvref_t<decltype(*r.data())>, char>;
};
}  // namespace detail

/// Takes one of several extents that are written without braces, as in reshape(4, 3).
struct ExtentArg {
  IntegerArg extent = 0;
  bool given = false;
  Site site{};
  ExtentArg() = default;
  template <IntegerType T>
  ExtentArg(T v, Site s = Site::current()) : extent(v), given(true), site(s) {}
};

/// Takes a shape: `{3, 4}`, a Shape, a vector, array or span of integers, or one integer for one dimension.
/// An extent above the range of int64 throws ShapeError.
class ShapeArg : public Shape {
 public:
  ShapeArg() = default;
  ShapeArg(std::initializer_list<IntegerArg> v, Site site = Site::current());
  ShapeArg(const Shape& s) : Shape(s) {}
  ShapeArg(const std::vector<int64_t>& v, Site site = Site::current());
  template <detail::IntegersInMemory R>
  ShapeArg(const R& v, Site site = Site::current())
      : ShapeArg(std::span<const IntegerArg>(std::vector<IntegerArg>(v.data(), v.data() + v.size())), site) {}
  template <IntegerType T>
  ShapeArg(T extent, Site site = Site::current()) : ShapeArg({IntegerArg(extent)}, site) {}
  ShapeArg(std::span<const IntegerArg> v, const Site& site);
};
namespace detail {
/// Returns the extents that are given, which come first.
ShapeArg extents(std::initializer_list<ExtentArg>);
}  // namespace detail

/// Takes axes to work along: `{0, -1}` or one integer; negative ones count from the end. None (or `{}`) means
/// all.
class Axes : public Dims {
 public:
  Axes() = default;
  Axes(std::initializer_list<IntegerArg> v, Site site = Site::current());
  explicit Axes(const Dims& d) : Dims(d) {}
  template <detail::IntegersInMemory R>
  Axes(const R& v, Site site = Site::current())
      : Axes(std::span<const IntegerArg>(std::vector<IntegerArg>(v.data(), v.data() + v.size())), site) {}
  template <IntegerType T>
  Axes(T axis) : Dims({IntegerArg(axis).value}) {}
  Axes(std::span<const IntegerArg> v, const Site& site);
};

/// Takes `keepdims`, which leaves the axes that a reduction reduces in place with extent 1, or a bool.
struct KeepDims {
  bool value = false;
  template <std::same_as<bool> B>
  constexpr KeepDims(B v) : value(v) {}
};
inline constexpr KeepDims keepdims{true};
inline constexpr KeepDims dropdims{false};

/// Takes a dtype that may be omitted.
struct MaybeDType {
  bool given = false;
  DType value{};
  constexpr MaybeDType() = default;
  constexpr MaybeDType(DType t) : given(true), value(t) {}
  constexpr DType or_else(DType t) const { return given ? value : t; }
};

namespace detail {
/// Returns the device of a name: "cpu", "cuda" (the first GPU), "cuda:1". DeviceError for other names.
Device device_named(std::string_view name, const Site&);
}  // namespace detail

/// Takes a device, or its name ("cuda:1"), that may be omitted: then it is the default device.
struct MaybeDevice {
  bool given = false;
  Device value{};
  constexpr MaybeDevice() = default;
  constexpr MaybeDevice(Device d) : given(true), value(d) {}
  MaybeDevice(const char* name, Site s = Site::current())
      : given(true), value(detail::device_named(name, s)) {}
};

}  // namespace lazy
