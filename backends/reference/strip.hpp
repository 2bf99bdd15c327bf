// Defines strips, by which the reference evaluates. One instruction runs over up to kStrip lanes of the
// innermost axis at a time, lane i of every value packed at index i of its own array.
#pragma once
#include <cstdint>
#include <type_traits>

#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::reference {

/// The number of lanes of a strip: a multiple of every jit::loop::reduce_lanes and a divisor of every
/// jit::loop::reduce_block.
inline constexpr int kStrip = 256;

template <class T>
inline constexpr bool kFloat = std::is_floating_point_v<T>;

/// Sets out[i] = f(a[i], b[i], c[i]) for i < n; operands that the op doesn't take are ignored. `out` may be
/// `a`.
using StripFn = void (*)(const void* a, const void* b, const void* c, void* out, int n);

template <auto F>
struct Lanes;

template <class R, class A, R (*F)(A)>
struct Lanes<F> {
  static void run(const void* a, const void*, const void*, void* out, int n) {
    for (int i = 0; i < n; ++i) static_cast<R*>(out)[i] = F(static_cast<const A*>(a)[i]);
  }
};

template <class R, class A, class B, R (*F)(A, B)>
struct Lanes<F> {
  static void run(const void* a, const void* b, const void*, void* out, int n) {
    for (int i = 0; i < n; ++i)
      static_cast<R*>(out)[i] = F(static_cast<const A*>(a)[i], static_cast<const B*>(b)[i]);
  }
};

template <class R, class A, class B, class C, R (*F)(A, B, C)>
struct Lanes<F> {
  static void run(const void* a, const void* b, const void* c, void* out, int n) {
    for (int i = 0; i < n; ++i)
      static_cast<R*>(out)[i] =
          F(static_cast<const A*>(a)[i], static_cast<const B*>(b)[i], static_cast<const C*>(c)[i]);
  }
};

/// Runs a scalar function over a strip.
template <auto F>
inline constexpr StripFn lanes = &Lanes<F>::run;

/// Calls f with a value of the C++ type that holds elements of `t`: bool is a uint8_t of 0 or 1, 16-bit
/// floats are their bits.
template <class F>
auto with_type(DType t, F&& f) {
  switch (t) {
    case DType::int8: return f(int8_t{});
    case DType::int16: return f(int16_t{});
    case DType::int32: return f(int32_t{});
    case DType::int64: return f(int64_t{});
    case DType::uint16: return f(uint16_t{});
    case DType::uint32: return f(uint32_t{});
    case DType::uint64: return f(uint64_t{});
    case DType::float16: return f(uint16_t{});
    case DType::bfloat16: return f(uint16_t{});
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::complex64:  // no kernel has them
    case DType::complex128:
    case DType::bool_:
    case DType::uint8: break;
  }
  return f(uint8_t{});
}

}  // namespace lazy::reference
