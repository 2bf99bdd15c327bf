// A block of 32 columns is factored alone, stored by columns so that each step is along memory. What is right
// of it is done by groups of strips: a strip's rows of the block are copied, solved with L's triangle, and,
// times L, subtracted from the rows below, in registers. A few rows of L are copied for all strips of a
// group: they lie far apart, often in the same lines of the cache. Right-hand sides are such strips, too.
#include "backends/cpu/calls/linalg/lu_blocks.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "backends/cpu/threads/parallel.hpp"
#include "jit/built_in/linalg/scalars.hpp"

// Every level of the CPU backend but the reference has these instructions.
#define LAZY_AVX2 __attribute__((target("avx2,fma")))
#define LAZY_AVX2_INLINE __attribute__((target("avx2,fma"), always_inline)) inline

namespace lazy::cpu_backend {
namespace {

using namespace jit::calls;

constexpr int64_t kDepth = 32;            // columns of a block
constexpr double kWorthAThread = 200000;  // flops
constexpr int kVectors = 3, kRows = 4;    // a tile of 12 registers

template <class T>
struct Lanes;
template <>
struct Lanes<double> {
  using V = __m256d;
  using Factor = V;  // a number for each element
  static constexpr int kCount = 4;
  LAZY_AVX2_INLINE static V load(const double* p) { return _mm256_loadu_pd(p); }
  LAZY_AVX2_INLINE static V all(double v) { return _mm256_set1_pd(v); }
  LAZY_AVX2_INLINE static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  /// Returns c - a b.
  LAZY_AVX2_INLINE static V less(V a, V b, V c) { return _mm256_fnmadd_pd(a, b, c); }
};
template <>
struct Lanes<float> {
  using V = __m256;
  using Factor = V;
  static constexpr int kCount = 8;
  LAZY_AVX2_INLINE static V load(const float* p) { return _mm256_loadu_ps(p); }
  LAZY_AVX2_INLINE static V all(float v) { return _mm256_set1_ps(v); }
  LAZY_AVX2_INLINE static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  LAZY_AVX2_INLINE static V less(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
};
// Complex numbers lie as pairs: c - f b is c less re(f) times b, and less im(f) times i b, whose parts are
// those of b exchanged.
template <>
struct Lanes<std::complex<double>> {
  using V = __m256d;
  struct Factor {
    V re, im;  // im: -im(f), im(f) in turn
  };
  static constexpr int kCount = 2;
  LAZY_AVX2_INLINE static V load(const std::complex<double>* p) {
    return _mm256_loadu_pd(reinterpret_cast<const double*>(p));
  }
  LAZY_AVX2_INLINE static Factor all(std::complex<double> v) {
    return {_mm256_set1_pd(v.real()), _mm256_setr_pd(-v.imag(), v.imag(), -v.imag(), v.imag())};
  }
  LAZY_AVX2_INLINE static void store(std::complex<double>* p, V v) {
    _mm256_storeu_pd(reinterpret_cast<double*>(p), v);
  }
  LAZY_AVX2_INLINE static V less(const Factor& a, V b, V c) {
    return _mm256_fnmadd_pd(a.im, _mm256_permute_pd(b, 0x5), _mm256_fnmadd_pd(a.re, b, c));
  }
};
template <>
struct Lanes<std::complex<float>> {
  using V = __m256;
  struct Factor {
    V re, im;
  };
  static constexpr int kCount = 4;
  LAZY_AVX2_INLINE static V load(const std::complex<float>* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
  LAZY_AVX2_INLINE static Factor all(std::complex<float> v) {
    const float i = v.imag();
    return {_mm256_set1_ps(v.real()), _mm256_setr_ps(-i, i, -i, i, -i, i, -i, i)};
  }
  LAZY_AVX2_INLINE static void store(std::complex<float>* p, V v) {
    _mm256_storeu_ps(reinterpret_cast<float*>(p), v);
  }
  LAZY_AVX2_INLINE static V less(const Factor& a, V b, V c) {
    return _mm256_fnmadd_ps(a.im, _mm256_permute_ps(b, 0xB1), _mm256_fnmadd_ps(a.re, b, c));
  }
};

/// Returns c - a b, rounded as lanes are.
template <class T>
LAZY_AVX2_INLINE T less(T a, T b, T c) {
  if constexpr (is_complex_v<T>)
    return {std::fma(a.imag(), b.imag(), std::fma(-a.real(), b.real(), c.real())),
            std::fma(-a.imag(), b.real(), std::fma(-a.real(), b.imag(), c.imag()))};
  else return std::fma(-a, b, c);
}

/// Subtracts f times `from` from `to`, along memory.
template <class T>
LAZY_AVX2_INLINE void subtract_scaled(T f, const T* from, T* to, int64_t count) {
  using L = Lanes<T>;
  const auto all = L::all(f);
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount)
    L::store(to + i, L::less(all, L::load(from + i), L::load(to + i)));
  for (; i < count; ++i) to[i] = less(f, from[i], to[i]);
}

template <class T>
inline constexpr int64_t kWidthOf = int64_t{kVectors} * Lanes<T>::kCount;

/// Subtracts the product of kRows rows of a and `depth` rows of b from a tile of c. Element p of row r is at
/// a[r * step + p * apart].
template <class T>
LAZY_AVX2_INLINE void subtract_tile(const T (*b)[kWidthOf<T>], int64_t depth, const T* a, int64_t step,
                                    int64_t apart, T* c, int64_t c_step) {
  using L = Lanes<T>;
  typename L::V sum[kRows][kVectors];  // in registers: loops over them are unrolled
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = L::load(c + r * c_step + v * L::kCount);
  for (int64_t p = 0; p < depth; ++p) {
    typename L::V row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = L::load(b[p] + v * L::kCount);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto f = L::all(a[r * step + p * apart]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = L::less(f, row[v], sum[r][v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) L::store(c + r * c_step + v * L::kCount, sum[r][v]);
}

/// Subtracts likewise for `some` rows and `width` columns of a tile that are less than all.
template <class T>
LAZY_AVX2 void subtract_edge(const T (*b)[kWidthOf<T>], int64_t depth, int64_t width, const T* a,
                             int64_t some, T* c, int64_t c_step) {
  constexpr int64_t kWidth = kWidthOf<T>;
  T edge[kRows * kWidth] = {};
  for (int64_t r = 0; r < some; ++r) std::copy_n(c + r * c_step, width, edge + r * kWidth);
  subtract_tile(b, depth, a, 1, kRows, edge, kWidth);
  for (int64_t r = 0; r < some; ++r) std::copy_n(edge + r * kWidth, width, c + r * c_step);
}

/// Copies kRows rows of `depth` elements, of which `some` are there and the others 0, so that elements of one
/// column are neighbours.
template <class T>
LAZY_AVX2_INLINE void pack_rows(const T* a, int64_t step, int64_t some, int64_t depth, T* to) {
  static_assert(kRows == 4);
  if (some == kRows) {
    const T *const b = a + step, *const c = b + step, *const d = c + step;
    for (int64_t p = 0; p < depth; ++p)
      to[4 * p] = a[p], to[4 * p + 1] = b[p], to[4 * p + 2] = c[p], to[4 * p + 3] = d[p];
    return;
  }
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t r = 0; r < kRows; ++r) to[kRows * p + r] = r < some ? a[r * step + p] : T{0};
}

/// Copies rows of a few columns, side by side.
template <class T>
struct Strip {
  static constexpr int64_t kWidth = kWidthOf<T>;
  alignas(32) T rows[kDepth][kWidth];
  int64_t depth, width;

  Strip(const T* from, int64_t step, int64_t depth_, int64_t width_) : depth(depth_), width(width_) {
    for (int64_t i = 0; i < depth; ++i) {
      std::copy_n(from + i * step, width, rows[i]);
      std::fill(rows[i] + width, rows[i] + kWidth, T{0});
    }
  }
  /// Takes conjugated rows as columns.
  static Strip adjoint(const T* from, int64_t step, int64_t depth, int64_t width) {
    Strip s(depth, width);
    for (int64_t i = 0; i < depth; ++i)
      for (int64_t c = 0; c < kWidth; ++c) s.rows[i][c] = c < width ? conjugate(from[c * step + i]) : T{0};
    return s;
  }
  void write_adjoint(T* to, int64_t step) const {
    for (int64_t c = 0; c < width; ++c)
      for (int64_t i = 0; i < depth; ++i) to[c * step + i] = conjugate(rows[i][c]);
  }
  void write(T* to, int64_t step) const {
    for (int64_t i = 0; i < depth; ++i) std::copy_n(rows[i], width, to + i * step);
  }
  /// Solves with the triangle of L at `a`, whose diagonal is 1.
  LAZY_AVX2 void solve_lower(const T* a, int64_t step) {
    for (int64_t i = 1; i < depth; ++i) subtract_rows(a + i * step, 0, i, i);
  }
  /// Solves with the triangle of L at `a` and its diagonal.
  LAZY_AVX2 void solve_cholesky(const T* a, int64_t step) {
    for (int64_t i = 0; i < depth; ++i) {
      subtract_rows(a + i * step, 0, i, i);
      for (T& v : rows[i]) v /= a[i * step + i];
    }
  }
  /// Solves with the triangle of U at `a`.
  LAZY_AVX2 void solve_upper(const T* a, int64_t step) {
    for (int64_t i = depth; i-- > 0;) {
      subtract_rows(a + i * step, i + 1, depth, i);
      for (T& v : rows[i]) v /= a[i * step + i];
    }
  }

 private:
  Strip(int64_t depth_, int64_t width_) : depth(depth_), width(width_) {}
  /// Subtracts rows [first, last), each times its element of `factors`, from row i.
  LAZY_AVX2_INLINE void subtract_rows(const T* factors, int64_t first, int64_t last, int64_t i) {
    using L = Lanes<T>;
    typename L::V sum[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[v] = L::load(rows[i] + v * L::kCount);
    for (int64_t p = first; p < last; ++p) {
      const auto f = L::all(factors[p]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[v] = L::less(f, L::load(rows[p] + v * L::kCount), sum[v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) L::store(rows[i] + v * L::kCount, sum[v]);
  }
};

/// Holds a strip as it is multiplied. Of complex numbers parts lie side by side, and c - a b is c - re(a) b -
/// im(a) i b: a row of a is one of twice as many real numbers, by which rows of b and of i b are multiplied.
template <class T>
struct Multiplied {
  using R = RealOf<T>;
  static constexpr int64_t kParts = is_complex_v<T> ? 2 : 1, kWidth = kParts * Strip<T>::kWidth;
  alignas(32) R rows[kParts * kDepth][kWidth];
  int64_t depth, width;

  explicit Multiplied(const Strip<T>& s) : depth(kParts * s.depth), width(kParts * s.width) {
    for (int64_t p = 0; p < s.depth; ++p)
      if constexpr (is_complex_v<T>) {
        for (int64_t i = 0; i < Strip<T>::kWidth; ++i) {
          const T b = s.rows[p][i];
          rows[2 * p][2 * i] = rows[2 * p + 1][2 * i + 1] = b.real();
          rows[2 * p][2 * i + 1] = b.imag(), rows[2 * p + 1][2 * i] = -b.imag();
        }
      } else {
        std::copy_n(s.rows[p], kWidth, rows[p]);
      }
  }
};

/// Holds strips side by side; all but the last are of full width.
template <class T>
class Group {
 public:
  /// Is as many as stay in a first-level cache.
  static constexpr int64_t kMost = (int64_t{24} << 10) / static_cast<int64_t>(sizeof(Multiplied<T>::rows));

  Group(const T* from, int64_t step, int64_t depth, int64_t width) {
    strips_.reserve(static_cast<size_t>((width + kWidth - 1) / kWidth));
    for (int64_t c = 0; c < width; c += kWidth)
      strips_.emplace_back(from + c, step, depth, std::min(kWidth, width - c));
  }
  /// Takes conjugated rows as columns.
  static Group adjoint(const T* from, int64_t step, int64_t depth, int64_t width) {
    Group g;
    for (int64_t c = 0; c < width; c += kWidth)
      g.strips_.push_back(Strip<T>::adjoint(from + c * step, step, depth, std::min(kWidth, width - c)));
    return g;
  }
  template <class F>
  void each(F&& f) {
    for (Strip<T>& s : strips_) f(s);
  }
  void write(T* to, int64_t step) const {
    for (const Strip<T>& s : strips_) {
      s.write(to, step);
      to += kWidth;
    }
  }
  /// Subtracts the product of a, `count` rows, and the strips from as many rows of c; if `lower`, but for
  /// rows that are above the diagonal.
  LAZY_AVX2 void subtract_product(const T* a, int64_t step, int64_t count, T* c, int64_t c_step,
                                  bool lower = false) const {
    using M = Multiplied<T>;
    using R = RealOf<T>;
    const std::vector<M> by(strips_.begin(), strips_.end());
    alignas(32) R tile[M::kParts * kDepth * kRows];
    for (int64_t i = 0; i < count; i += kRows) {
      const int64_t some = std::min<int64_t>(kRows, count - i), to_step = M::kParts * c_step;
      pack_rows(reinterpret_cast<const R*>(a + i * step), M::kParts * step, some, by[0].depth, tile);
      R* to = reinterpret_cast<R*>(c + i * c_step);
      for (int64_t column = 0; const M& b : by) {
        if (lower && i + kRows <= column) break;
        if (some == kRows && b.width == M::kWidth)
          subtract_tile(b.rows, b.depth, tile, 1, kRows, to, to_step);
        else subtract_edge(b.rows, b.depth, b.width, tile, some, to, to_step);
        to += M::kWidth;
        column += kWidth;
      }
    }
  }

 private:
  static constexpr int64_t kWidth = Strip<T>::kWidth;
  Group() = default;
  std::vector<Strip<T>> strips_;
};

/// Calls f(first column, width) for each group of up to `most` strips of `count` columns, on several threads
/// if so many flops of a column are worth it.
template <class T, class F>
void each_group(int64_t count, int64_t most, double flops_of_a_column, const EachPiece& each, F&& f) {
  const int64_t strips = (count + Strip<T>::kWidth - 1) / Strip<T>::kWidth;
  const int64_t width =
      std::clamp(strips / thread_count(), std::min<int64_t>(2, most), most) * Strip<T>::kWidth;
  const int64_t groups = (count + width - 1) / width;
  const auto one = [&](int64_t g) { f(g * width, std::min(width, count - g * width)); };
  const auto a_piece = std::max<int64_t>(
      1, static_cast<int64_t>(kWorthAThread / (flops_of_a_column * static_cast<double>(width))));
  const int64_t pieces = std::max<int64_t>(1, groups / a_piece);
  if (pieces == 1)
    for (int64_t g = 0; g < groups; ++g) one(g);
  else
    each(pieces, [&](int64_t p) {
      for (int64_t g = groups * p / pieces; g < groups * (p + 1) / pieces; ++g) one(g);
    });
}

/// Factors m rows of up to kDepth columns; column j of them is at columns + j * m. Pivots count from 1.
template <class T>
LAZY_AVX2 int64_t factor_columns(T* columns, int64_t m, int64_t count, int32_t* pivots) {
  int64_t singular = 0;
  for (int64_t j = 0; j < count; ++j) {
    T* const own = columns + j * m;
    int64_t p = j;
    for (int64_t i = j + 1; i < m; ++i)
      if (magnitude(own[i]) > magnitude(own[p])) p = i;
    pivots[j] = static_cast<int32_t>(p + 1);
    if (own[p] == T{0}) {
      if (!singular) singular = j + 1;
      continue;
    }
    if (p != j)
      for (int64_t c = 0; c < count; ++c) std::swap(columns[c * m + j], columns[c * m + p]);
    const T pivot = own[j];
    for (int64_t i = j + 1; i < m; ++i) own[i] /= pivot;
    for (int64_t c = j + 1; c < count; ++c)
      subtract_scaled(columns[c * m + j], own + j + 1, columns + c * m + j + 1, m - j - 1);
  }
  return singular;
}

}  // namespace

template <class T>
int64_t factor_lu_by_blocks(T* a, int64_t m, int64_t n, int32_t* pivots, const EachPiece& each) {
  const int64_t k = std::min(m, n);
  const auto columns = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(m * std::min(k, kDepth)));
  int64_t singular = 0;
  for (int64_t j = 0; j < k; j += kDepth) {
    const int64_t depth = std::min(kDepth, k - j), rows = m - j, right = j + depth;
    T* const block = a + j * n + j;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < depth; ++c) columns[static_cast<size_t>(c * rows + i)] = block[i * n + c];
    const int64_t order = factor_columns(columns.get(), rows, depth, pivots + j);
    if (order && !singular) singular = j + order;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < depth; ++c) block[i * n + c] = columns[static_cast<size_t>(c * rows + i)];
    for (int64_t i = j; i < right; ++i) {
      pivots[i] += static_cast<int32_t>(j);
      T* const one = a + i * n;
      T* const other = a + (pivots[i] - 1) * n;
      if (one == other) continue;
      std::swap_ranges(one, one + j, other);
      std::swap_ranges(one + right, one + n, other + right);
    }
    const double flops = static_cast<double>(2 * depth) * static_cast<double>(rows);
    each_group<T>(n - right, Group<T>::kMost, flops, each, [&](int64_t first, int64_t width) {
      T* const c = a + j * n + right + first;
      Group<T> group(c, n, depth, width);
      group.each([&](Strip<T>& s) { s.solve_lower(block, n); });
      group.write(c, n);
      group.subtract_product(block + depth * n, n, rows - depth, c + depth * n, n);
    });
  }
  return singular;
}

template <class T>
void solve_lu_by_blocks(const T* a, int64_t n, const int32_t* pivots, T* x, int64_t count,
                        const EachPiece& each) {
  for (int64_t i = 0; i < n; ++i)
    if (pivots[i] != i + 1) std::swap_ranges(x + i * count, x + (i + 1) * count, x + (pivots[i] - 1) * count);
  const double flops = 2 * static_cast<double>(n) * static_cast<double>(n);
  each_group<T>(count, Group<T>::kMost, flops, each, [&](int64_t first, int64_t width) {
    // Rows that lie far apart are solved in a copy, all of which stays in a cache.
    const bool apart = count > width;
    const auto own = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(apart ? n * width : 0));
    T* const c = apart ? own.get() : x;
    const int64_t step = apart ? width : count;
    for (int64_t i = 0; apart && i < n; ++i) std::copy_n(x + i * count + first, width, c + i * width);
    for (int64_t j = 0; j < n; j += kDepth) {
      const int64_t depth = std::min(kDepth, n - j), below = j + depth;
      Group<T> group(c + j * step, step, depth, width);
      group.each([&](Strip<T>& s) { s.solve_lower(a + j * n + j, n); });
      group.write(c + j * step, step);
      group.subtract_product(a + below * n + j, n, n - below, c + below * step, step);
    }
    for (int64_t j = (n - 1) / kDepth * kDepth; j >= 0; j -= kDepth) {
      Group<T> group(c + j * step, step, std::min(kDepth, n - j), width);
      group.each([&](Strip<T>& s) { s.solve_upper(a + j * n + j, n); });
      group.write(c + j * step, step);
      group.subtract_product(a + j, n, j, c, step);
    }
    for (int64_t i = 0; apart && i < n; ++i) std::copy_n(c + i * width, width, x + i * count + first);
  });
}

template <class T>
int64_t factor_cholesky_by_blocks(T* a, int64_t n, const EachPiece& each) {
  for (int64_t j = 0; j < n; j += kDepth) {
    const int64_t depth = std::min(kDepth, n - j), rows = n - j - depth;
    T* const block = a + j * n + j;
    for (int64_t i = 0; i < depth; ++i)
      for (int64_t c = 0; c <= i; ++c) {
        T sum = block[i * n + c];
        for (int64_t p = 0; p < c; ++p) sum -= times(block[i * n + p], conjugate(block[c * n + p]));
        if (c < i) block[i * n + c] = sum / real_part(block[c * n + c]);
        else if (real_part(sum) > 0) block[i * n + i] = std::sqrt(real_part(sum));
        else return j + i + 1;
      }
    T* const below = block + depth * n;
    each_group<T>(rows, 1, static_cast<double>(depth * depth), each, [&](int64_t first, int64_t width) {
      auto strip = Strip<T>::adjoint(below + first * n, n, depth, width);
      strip.solve_cholesky(block, n);
      strip.write_adjoint(below + first * n, n);
    });
    const double flops = static_cast<double>(depth) * static_cast<double>(rows);
    each_group<T>(rows, Group<T>::kMost, flops, each, [&](int64_t first, int64_t width) {
      const auto group = Group<T>::adjoint(below + first * n, n, depth, width);
      group.subtract_product(below + first * n, n, rows - first, below + first * n + depth + first, n, true);
    });
  }
  return 0;
}

#define LAZY_BLOCKS(T)                                                                    \
  template int64_t factor_cholesky_by_blocks(T*, int64_t, const EachPiece&);              \
  template int64_t factor_lu_by_blocks(T*, int64_t, int64_t, int32_t*, const EachPiece&); \
  template void solve_lu_by_blocks(const T*, int64_t, const int32_t*, T*, int64_t, const EachPiece&);
LAZY_BLOCKS(float)
LAZY_BLOCKS(double)
LAZY_BLOCKS(std::complex<float>)
LAZY_BLOCKS(std::complex<double>)
#undef LAZY_BLOCKS

}  // namespace lazy::cpu_backend
