// Goes through the steps of recurrent layers with vectors. Threads share the sequences of a batch, so that
// none waits for another before the end.
#include <immintrin.h>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/backend/backend.hpp"
#include "jit/calls/recurrent_steps.hpp"

#define LAZY_AVX2 __attribute__((target("avx2,fma")))
#define LAZY_AVX512 \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))

namespace lazy::cpu_backend {
namespace {

using namespace jit::calls;
using jit::CallRun;

constexpr int64_t kRowsOfThread = 4;  // sequences that a thread takes at least: a tile of products
constexpr double kFlopsInNanosecond = 20;

// c += a b by tiles in registers; what is left of rows and columns goes in tiles of one.
#define LAZY_PRODUCT(LEVEL, T, NAME, V, kLanes, LOAD, STORE, ALL, FMA)                                      \
  template <int kRows, int kVectors>                                                                        \
  LEVEL __attribute__((always_inline)) inline void NAME##_tile(T* c, const T* a, const T* b, int64_t depth, \
                                                               int64_t columns) {                           \
    V sums[kRows][kVectors];                                                                                \
    for (int i = 0; i < kRows; ++i)                                                                         \
      for (int v = 0; v < kVectors; ++v) sums[i][v] = LOAD(c + i * columns + v * kLanes);                   \
    for (int64_t k = 0; k < depth; ++k) {                                                                   \
      V row[kVectors];                                                                                      \
      for (int v = 0; v < kVectors; ++v) row[v] = LOAD(b + k * columns + v * kLanes);                       \
      for (int i = 0; i < kRows; ++i)                                                                       \
        for (int v = 0; v < kVectors; ++v) sums[i][v] = FMA(ALL(a[i * depth + k]), row[v], sums[i][v]);     \
    }                                                                                                       \
    for (int i = 0; i < kRows; ++i)                                                                         \
      for (int v = 0; v < kVectors; ++v) STORE(c + i * columns + v * kLanes, sums[i][v]);                   \
  }                                                                                                         \
  template <int kRows>                                                                                      \
  LEVEL __attribute__((always_inline)) inline void NAME##_rows(T* c, const T* a, const T* b, int64_t depth, \
                                                               int64_t columns) {                           \
    int64_t j = 0;                                                                                          \
    for (; j + 3 * kLanes <= columns; j += 3 * kLanes)                                                      \
      NAME##_tile<kRows, 3>(c + j, a, b + j, depth, columns);                                               \
    for (; j + kLanes <= columns; j += kLanes) NAME##_tile<kRows, 1>(c + j, a, b + j, depth, columns);      \
    for (; j < columns; ++j)                                                                                \
      for (int i = 0; i < kRows; ++i) {                                                                     \
        T sum = c[i * columns + j];                                                                         \
        for (int64_t k = 0; k < depth; ++k) sum = std::fma(a[i * depth + k], b[k * columns + j], sum);      \
        c[i * columns + j] = sum;                                                                           \
      }                                                                                                     \
  }                                                                                                         \
  LEVEL void NAME(T* c, const T* a, const T* b, int64_t rows, int64_t depth, int64_t columns) {             \
    int64_t i = 0;                                                                                          \
    for (; i + kRowsOfThread <= rows; i += kRowsOfThread)                                                   \
      NAME##_rows<kRowsOfThread>(c + i * columns, a + i * depth, b, depth, columns);                        \
    for (; i < rows; ++i) NAME##_rows<1>(c + i * columns, a + i * depth, b, depth, columns);                \
  }
LAZY_PRODUCT(LAZY_AVX2, float, product2, __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps,
             _mm256_fmadd_ps)
LAZY_PRODUCT(LAZY_AVX2, double, product2, __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
             _mm256_fmadd_pd)
LAZY_PRODUCT(LAZY_AVX512, float, product512, __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps,
             _mm512_fmadd_ps)
LAZY_PRODUCT(LAZY_AVX512, double, product512, __m512d, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd,
             _mm512_fmadd_pd)
#undef LAZY_PRODUCT

struct Avx2 {
  static constexpr const char* kName = "steps of sequences, avx2";
  template <class T>
  LAZY_AVX2 static void forward(const Recurrence<T>& s, int64_t first, int64_t last) {
    recurrent_forward(s, first, last,
                      static_cast<void (*)(T*, const T*, const T*, int64_t, int64_t, int64_t)>(product2));
  }
  template <class T>
  LAZY_AVX2 static void backward(const Recurrence<T>& s, int64_t first, int64_t last) {
    recurrent_backward(s, first, last,
                       static_cast<void (*)(T*, const T*, const T*, int64_t, int64_t, int64_t)>(product2));
  }
};
struct Avx512 {
  static constexpr const char* kName = "steps of sequences, avx512";
  template <class T>
  LAZY_AVX512 static void forward(const Recurrence<T>& s, int64_t first, int64_t last) {
    recurrent_forward(s, first, last,
                      static_cast<void (*)(T*, const T*, const T*, int64_t, int64_t, int64_t)>(product512));
  }
  template <class T>
  LAZY_AVX512 static void backward(const Recurrence<T>& s, int64_t first, int64_t last) {
    recurrent_backward(s, first, last,
                       static_cast<void (*)(T*, const T*, const T*, int64_t, int64_t, int64_t)>(product512));
  }
};

template <class Level>
class Steps final : public jit::CallKernel {
 public:
  explicit Steps(bool backward) : backward_(backward) {}
  void run(const CallRun& r) const override {
    r.operands[0].dtype == float32 ? run_as<float>(r) : run_as<double>(r);
  }
  std::string schedule() const override { return Level::kName; }

 private:
  template <class T>
  void run_as(const CallRun& r) const {
    with_recurrence<T>(r, backward_, [&](const Recurrence<T>& s) {
      const auto range = [&](int64_t first, int64_t last) {
        if (backward_) Level::backward(s, first, last);
        else Level::forward(s, first, last);
      };
      const double flops =
          2.0 * static_cast<double>(s.steps * s.batch) * static_cast<double>(s.row() * s.outputs);
      const int64_t tiles = (s.batch + kRowsOfThread - 1) / kRowsOfThread;
      const int64_t pieces = std::min<int64_t>(tiles, thread_count());
      if (pieces <= 1 || !worth_threads(flops / kFlopsInNanosecond)) return range(0, s.batch);
      r.backend.for_each(pieces, [&](int64_t p) {
        const auto begin = [&](int64_t q) { return std::min(s.batch, tiles * q / pieces * kRowsOfThread); };
        range(begin(p), begin(p + 1));
      });
    });
  }
  bool backward_;
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_recurrent(Isa isa, bool backward) {
  if (isa >= Isa::avx512) return std::make_unique<Steps<Avx512>>(backward);
  if (isa == Isa::avx2) return std::make_unique<Steps<Avx2>>(backward);
  return nullptr;
}

}  // namespace lazy::cpu_backend
