// Defines the vocabulary of x(...): integers, slices, `_`, `ellipsis`, `newaxis`, tensors and lists of
// positions.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "lazy/core/arg.hpp"
#include "support/shadowing.hpp"

namespace lazy {

struct NoneType {};
struct AllIndices {};
struct EllipsisType {};
struct NewAxisType {};
inline constexpr NoneType none{};          // omits a bound
inline constexpr AllIndices _{};           // selects all of an axis
inline constexpr EllipsisType ellipsis{};  // stands for as many `_` as fit
inline constexpr NewAxisType newaxis{};    // adds an axis of extent 1

/// Holds one end (or the step) of a slice: an integer, or `none` or `_` for an open one.
struct SliceBound {
  int64_t value = 0;
  bool given = false;
  constexpr SliceBound(NoneType) {}
  constexpr SliceBound(AllIndices) {}
  template <IntegerType T>
  constexpr SliceBound(T v) : value(IntegerArg(v)), given(true) {}
};
struct Slice {
  SliceBound start = none, stop = none, step = none;
};
/// Makes Python's slice: negative bounds count from the end, bounds out of range are clamped, the step may be
/// negative.
constexpr Slice slice(SliceBound start, SliceBound stop, SliceBound step = none) {
  return {start, stop, step};
}
constexpr Slice slice(SliceBound stop) { return {none, stop, none}; }
constexpr Slice slice() { return {none, none, none}; }

/// Holds one entry of x(...). A tensor of integers holds positions, one of bool is a mask for as many axes as
/// it has dimensions; a list of integers means the tensor with these elements.
struct Index {
  LAZY_SHADOWING_BEGIN
  enum class Kind : uint8_t { absent, integer, slice, all, ellipsis, newaxis, tensor, list };
  LAZY_SHADOWING_END
  Kind kind = Kind::absent;
  int64_t value = 0;
  Slice range{none, none, none};
  Site site{};
  struct Computed {
    jit::Handle tensor;         // of a tensor: empty if that is default-constructed
    std::vector<int64_t> list;  // of a list: positions
  };
  std::shared_ptr<const Computed> computed;  // of a tensor or a list. One pointer keeps the others cheap
  Index() = default;
  template <IntegerType T>
  Index(T i, Site s = Site::current()) : kind(Kind::integer), value(IntegerArg(i)), site(s) {
    if (IntegerArg(i).above) throw_above(static_cast<uint64_t>(i), s);
  }
  Index(Slice r, Site s = Site::current()) : kind(Kind::slice), range(r), site(s) {}
  Index(AllIndices, Site s = Site::current()) : kind(Kind::all), site(s) {}
  Index(EllipsisType, Site s = Site::current()) : kind(Kind::ellipsis), site(s) {}
  Index(NewAxisType, Site s = Site::current()) : kind(Kind::newaxis), site(s) {}
  Index(const Tensor& t, Site s = Site::current());
  Index(jit::Handle t, Site s)
      : kind(Kind::tensor), site(s), computed(std::make_shared<Computed>(Computed{std::move(t), {}})) {}
  /// Reads the selected elements.
  Index(const Selection& v, Site s = Site::current());
  Index(std::vector<int64_t> positions, Site s = Site::current())
      : kind(Kind::list), site(s), computed(std::make_shared<Computed>(Computed{{}, std::move(positions)})) {}
  template <IntegerType T>
  Index(const std::vector<T>& positions, Site s = Site::current())
      : Index(std::vector<int64_t>(positions.begin(), positions.end()), s) {}
  Index(std::initializer_list<IntegerArg> positions, Site s = Site::current())
      : Index(std::vector<int64_t>(positions.begin(), positions.end()), s) {}

 private:
  [[noreturn]] static void throw_above(uint64_t, const Site&);
};
/// Exceeds the number of entries that any index of a tensor of kMaxRank dimensions needs.
inline constexpr int kMaxIndices = 10;

}  // namespace lazy
