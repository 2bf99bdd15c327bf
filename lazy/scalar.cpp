#include "lazy/scalar.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "lazy/arg.hpp"

namespace lazy::detail {

void convert(DType from, const void* in, DType to, void* out, size_t n) {
  if (from == to) {
    if (n) std::memcpy(out, in, n * size_of(to));
    return;
  }
  with_type(from, [&](auto f) {
    with_type(to, [&](auto t) {
      const auto* source = static_cast<const decltype(f)*>(in);
      auto* target = static_cast<decltype(t)*>(out);
      for (size_t i = 0; i < n; ++i) target[i] = cast_value<decltype(t)>(source[i]);
    });
  });
}

jit::Scalar convert(jit::Scalar v, DType from, DType to) {
  jit::Scalar r;
  convert(from, &v.bits, to, &r.bits, 1);
  return r;
}

jit::Scalar to_scalar(const Number& n, DType to) {
  switch (n.kind) {
    case Number::Kind::boolean:
    case Number::Kind::integer: return convert(jit::Scalar::of(n.i), int64, to);
    case Number::Kind::natural: return convert(jit::Scalar::of(n.u), uint64, to);
    case Number::Kind::real: break;
  }
  if (to == float32) return jit::Scalar::of(static_cast<float>(n.d));
  return convert(jit::Scalar::of(n.d), float64, to);
}

bool number_fits(const Number& n, DType t) {
  if (!is_int(t) || n.kind == Number::Kind::real) return true;
  return with_type(t, [&](auto v) -> bool {
    using T = decltype(v);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return n.kind == Number::Kind::natural ? std::in_range<T>(n.u) : std::in_range<T>(n.i);
    else return true;
  });
}

}  // namespace lazy::detail
