// Computes with vectors of one width, for calls written in C++. Included after the file of a width
// (lanes_avx2.hpp, lanes_avx512.hpp). What is computed element by element is the same bits for all widths.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace lazy::cpu_backend {
namespace {

template <class T>
using Vector = typename Lanes<T>::V;

/// Load and store `count` elements, which may be more than there are lanes.
template <class T>
LAZY_LEVEL_INLINE Vector<T> load_some(const T* p, int64_t count) {
  using L = Lanes<T>;
  if (count >= L::kCount) return L::load(p);
  T all[L::kCount] = {};
  std::memcpy(all, p, static_cast<size_t>(count) * sizeof(T));
  return L::load(all);
}
template <class T>
LAZY_LEVEL_INLINE void store_some(T* p, Vector<T> v, int64_t count) {
  using L = Lanes<T>;
  if (count >= L::kCount) return L::store(p, v);
  T all[L::kCount];
  L::store(all, v);
  std::memcpy(p, all, static_cast<size_t>(count) * sizeof(T));
}

/// Returns e^x (Cephes' polynomial; within 2 ulp); NaN stays.
LAZY_LEVEL_INLINE Vector<float> exponential(Vector<float> x) {
  using L = Lanes<float>;
  x = L::smaller(L::all(88), L::larger(L::all(-87), x));
  const auto n = L::nearest(x * L::all(1.44269504088896341f));
  const auto r = L::fma(n, L::all(2.12194440e-4f), L::fma(n, L::all(-0.693359375f), x));
  auto p = L::all(1.9875691500e-4f);
  for (const float c :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = L::fma(p, r, L::all(c));
  return L::fma(p * r, r, r + L::all(1)) * L::power_of_two(n);
}
template <class F>
LAZY_LEVEL_INLINE Vector<double> each_lane(Vector<double> x, F f) {
  double lanes[Lanes<double>::kCount];
  Lanes<double>::store(lanes, x);
  for (double& v : lanes) v = f(v);
  return Lanes<double>::load(lanes);
}

}  // namespace
}  // namespace lazy::cpu_backend
