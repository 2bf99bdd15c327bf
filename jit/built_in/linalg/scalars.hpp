// Lets algorithms be written once for real and complex elements.
#pragma once
#include <cmath>
#include <complex>
#include <type_traits>

namespace lazy::jit::calls {

template <class T>
struct ScalarTraits {
  using Real = T;
  using Wide = double;  // in which textbook algorithms compute
};
template <class T>
struct ScalarTraits<std::complex<T>> {
  using Real = T;
  using Wide = std::complex<double>;
};
template <class T>
using RealOf = typename ScalarTraits<T>::Real;
template <class T>
using WideOf = typename ScalarTraits<T>::Wide;
template <class T>
inline constexpr bool is_complex_v = !std::is_same_v<T, RealOf<T>>;

template <class T>
T conjugate(T x) {
  if constexpr (is_complex_v<T>) return std::conj(x);
  else return x;
}
template <class T>
RealOf<T> real_part(T x) {
  if constexpr (is_complex_v<T>) return x.real();
  else return x;
}
template <class T>
RealOf<T> imaginary_part(T x) {
  if constexpr (is_complex_v<T>) return x.imag();
  else return 0;
}
/// Returns |re| + |im|, by which LAPACK chooses pivots.
template <class T>
RealOf<T> magnitude(T x) {
  return std::abs(real_part(x)) + std::abs(imaginary_part(x));
}
/// Returns |x|^2.
template <class T>
RealOf<T> squared(T x) {
  return real_part(x) * real_part(x) + imaginary_part(x) * imaginary_part(x);
}
/// Returns the product, whose parts are plain sums: infinities and NaN need no care of their own.
template <class T>
T times(T a, T b) {
  if constexpr (is_complex_v<T>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}
template <class T>
bool is_finite(T x) {
  return std::isfinite(real_part(x)) && std::isfinite(imaginary_part(x));
}
/// Returns x / |x|, of a real number its sign; 1 of 0.
template <class T>
T direction(T x) {
  if constexpr (is_complex_v<T>) return x == T{0} ? T{1} : x / std::abs(x);
  else return std::copysign(T{1}, x);
}

}  // namespace lazy::jit::calls
