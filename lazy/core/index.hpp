// Defines the vocabulary of x(...): integers, slices, `_`, `ellipsis`, `newaxis`.
#pragma once
#include <cstdint>

#include "lazy/core/arg.hpp"

namespace lazy {

struct None {};
struct All {};
struct Ellipsis {};
struct NewAxis {};
inline constexpr None none{};          // omits a bound
inline constexpr All _{};              // selects all of an axis
inline constexpr Ellipsis ellipsis{};  // stands for as many `_` as fit
inline constexpr NewAxis newaxis{};    // adds an axis of extent 1

/// Holds one end (or the step) of a slice: an integer or `none`.
struct Bound {
  int64_t value = 0;
  bool given = false;
  constexpr Bound(None) {}
  template <IntegerType T>
  constexpr Bound(T v) : value(Integer(v)), given(true) {}
};
struct Slice {
  Bound start, stop, step;
};
/// Makes Python's slice: negative bounds count from the end, bounds out of range are clamped, the step may be
/// negative.
constexpr Slice slice(Bound start, Bound stop, Bound step = none) { return {start, stop, step}; }
constexpr Slice slice(Bound stop) { return {none, stop, none}; }

/// Holds one entry of x(...).
struct Index {
  enum class Kind : uint8_t { absent, integer, slice, all, ellipsis, newaxis };
  Kind kind = Kind::absent;
  int64_t value = 0;
  Slice range{none, none, none};
  Site site{};
  Index() = default;
  template <IntegerType T>
  Index(T i, Site s = Site::current()) : kind(Kind::integer), value(Integer(i)), site(s) {
    if (Integer(i).above) throw_above(static_cast<uint64_t>(i), s);
  }
  Index(Slice r, Site s = Site::current()) : kind(Kind::slice), range(r), site(s) {}
  Index(All, Site s = Site::current()) : kind(Kind::all), site(s) {}
  Index(Ellipsis, Site s = Site::current()) : kind(Kind::ellipsis), site(s) {}
  Index(NewAxis, Site s = Site::current()) : kind(Kind::newaxis), site(s) {}

 private:
  [[noreturn]] static void throw_above(uint64_t, const Site&);
};
/// Exceeds the number of entries that any index of a tensor of kMaxRank dimensions needs.
inline constexpr int kMaxIndices = 10;

}  // namespace lazy
