// Implements cuBLASLt's functions (backends/cuda/api/cublaslt.def). Sums go in ascending order, each product
// added by a fused multiply-add: like the kernels, unlike a real cuBLASLt.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "backends/cuda/api/cublaslt.hpp"
#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/driver.hpp"
#include "tests/emulated_cuda/hash.hpp"

namespace lazy::cuda_backend::api {

struct BlasHandleStruct {
  ContextStruct* context;
};
struct BlasMatmulStruct {
  BlasCompute compute;
  BlasType scale;
  BlasOperation a = BlasOperation::none, b = BlasOperation::none;
  BlasEpilogue epilogue = BlasEpilogue::none;
  BlasType bias_type = BlasType::f32;
  const void* bias = nullptr;
};
struct BlasLayoutStruct {  // column-major
  BlasType type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};
struct BlasPreferenceStruct {
  uint64_t workspace = 0;
  std::array<uint32_t, 4> alignment = {256, 256, 256, 256};  // a, b, c, d
};

}  // namespace lazy::cuda_backend::api

namespace emulated {

extern "C" {
#define LAZY_CUBLASLT(field, name, ...) __attribute__((visibility("default"))) Result name(__VA_ARGS__);
#include "backends/cuda/api/cublaslt.def"
}

namespace {

// cublasStatus_t
constexpr Result kNotInitializedStatus = 1, kInvalidValueStatus = 7, kExecutionFailed = 13;

constexpr size_t kWorkspace = 1024;  // bytes; not used, but demanded

size_t size_of(BlasType type) {
  switch (type) {
    case BlasType::f64: return 8;
    case BlasType::f32: return 4;
    default: return 2;
  }
}

double element(BlasType type, const void* matrix, int64_t i) {
  const auto at = [&]<class T>(T) {
    T value;
    std::memcpy(&value, static_cast<const char*>(matrix) + i * static_cast<int64_t>(sizeof value),
                sizeof value);
    return value;
  };
  switch (type) {
    case BlasType::f64: return at(double{});
    case BlasType::f32: return at(float{});
    case BlasType::f16: return static_cast<float>(at(_Float16{}));
    default: return std::bit_cast<float>(static_cast<uint32_t>(at(uint16_t{})) << 16);
  }
}

uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // to nearest, ties to even
}

void store(BlasType type, void* matrix, int64_t i, double value) {
  const auto put = [&](auto v) {
    std::memcpy(static_cast<char*>(matrix) + i * static_cast<int64_t>(sizeof v), &v, sizeof v);
  };
  switch (type) {
    case BlasType::f64: return put(value);
    case BlasType::f32: return put(static_cast<float>(value));
    case BlasType::f16: return put(static_cast<_Float16>(static_cast<float>(value)));
    default: return put(to_bfloat16(static_cast<float>(value)));
  }
}

// A sum for each row, so that loops over rows may use vectors.
template <class T>
[[gnu::always_inline]] inline void scaled(T* __restrict sums, const T* __restrict column, T scale,
                                          size_t rows) {
  for (size_t i = 0; i < rows; ++i) sums[i] = std::fma(column[i], scale, sums[i]);
}
template <class T>
[[gnu::target("avx2,fma"), gnu::optimize("O3")]] void scaled_by_fma(T* sums, const T* column, T scale,
                                                                    size_t rows) {
  scaled(sums, column, scale, rows);
}
template <class T>
void add_scaled(T* sums, const T* column, T scale, size_t rows) {
  static const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma) scaled_by_fma(sums, column, scale, rows);
  else scaled(sums, column, scale, rows);
}

struct Product {
  BlasMatmulStruct how;
  BlasLayoutStruct a, b, c, d;

  uint64_t depth() const { return how.a == BlasOperation::none ? a.columns : a.rows; }
  bool consistent() const {
    const bool ta = how.a == BlasOperation::transpose, tb = how.b == BlasOperation::transpose;
    return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
           (tb ? b.columns : b.rows) == depth() && a.batch == d.batch && b.batch == d.batch &&
           c.batch == d.batch && c.rows == d.rows && c.columns == d.columns && c.type == d.type;
  }
  bool supported() const {
    const bool f64 = how.compute == BlasCompute::f64;
    if (a.type != b.type || (how.scale == BlasType::f64) != f64) return false;
    if (a.type == BlasType::f64 || f64) return f64 && a.type == BlasType::f64 && d.type == BlasType::f64;
    return d.type == a.type || (d.type == BlasType::f32 && a.type != BlasType::f32);
  }
  /// Returns the identity of the problem for which an algorithm is found: it serves no other.
  uint64_t identity() const {
    uint64_t h = hash({});
    const auto put = [&](auto... v) { ((h = hash({reinterpret_cast<const char*>(&v), sizeof v}, h)), ...); };
    put(how.compute, how.scale, how.a, how.b, how.epilogue);
    for (const auto* m : {&a, &b, &c, &d})
      put(m->type, m->rows, m->columns, m->ld, m->batch, m->batch_stride);
    return h;
  }

  template <class T>
  void run(T alpha, const void* pa, const void* pb, T beta, const void* pc, void* pd) const {
    const auto in = [](const BlasLayoutStruct& m, bool transposed, int64_t i, int64_t j, int32_t batch) {
      return batch * m.batch_stride + (transposed ? j + i * m.ld : i + j * m.ld);
    };
    const auto rows = static_cast<int64_t>(d.rows), all = static_cast<int64_t>(depth());
    std::vector<T> left(static_cast<size_t>(rows * all)), sums(static_cast<size_t>(rows));
    for (int32_t batch = 0; batch < d.batch; ++batch) {
      for (int64_t k = 0; k < all; ++k) {
        for (int64_t i = 0; i < rows; ++i) {
          const int64_t at = in(a, how.a == BlasOperation::transpose, i, k, batch);
          left[static_cast<size_t>(k * rows + i)] = static_cast<T>(element(a.type, pa, at));
        }
      }
      for (int64_t j = 0; j < static_cast<int64_t>(d.columns); ++j) {
        std::fill(sums.begin(), sums.end(), T{0});
        for (int64_t k = 0; k < all; ++k) {
          const int64_t at = in(b, how.b == BlasOperation::transpose, k, j, batch);
          add_scaled(sums.data(), &left[static_cast<size_t>(k * rows)],
                     static_cast<T>(element(b.type, pb, at)), sums.size());
        }
        for (int64_t i = 0; i < rows; ++i) {
          T sum = sums[static_cast<size_t>(i)];
          sum *= alpha;
          if (beta != 0) sum += beta * static_cast<T>(element(c.type, pc, in(c, false, i, j, batch)));
          const auto epilogue = static_cast<int>(how.epilogue);
          if ((epilogue & static_cast<int>(BlasEpilogue::bias)) != 0)
            sum += static_cast<T>(element(how.bias_type, how.bias, i));
          if ((epilogue & static_cast<int>(BlasEpilogue::relu)) != 0) sum = sum > 0 ? sum : 0;
          store(d.type, pd, in(d, false, i, j, batch), sum);
        }
      }
    }
  }
};

/// True if device `device` has the complete matrix.
bool in_memory(const BlasLayoutStruct& m, const void* matrix, int device) {
  const int64_t last = (m.batch - 1) * m.batch_stride + (static_cast<int64_t>(m.columns) - 1) * m.ld +
                       static_cast<int64_t>(m.rows);
  return machine()->memory.device_of(reinterpret_cast<DevicePtr>(matrix),
                                     static_cast<size_t>(last) * size_of(m.type)) == device;
}

template <class Struct, class... Args>
Result make(Struct** handle, Args... args) {
  *handle = new Struct{args...};
  handles().add(*handle);
  return kSuccess;
}
template <class Struct>
Result destroy(Struct* handle) {
  if (!handles().has<Struct>(handle)) return kInvalidValueStatus;
  handles().remove(handle);
  delete handle;
  return kSuccess;
}
template <class T>
Result set(T& to, const void* value, size_t bytes) {
  if (bytes != sizeof to) return kInvalidValueStatus;
  std::memcpy(&to, value, bytes);
  return kSuccess;
}

bool gather(Product& p, BlasMatmul how, BlasLayout a, BlasLayout b, BlasLayout c, BlasLayout d) {
  if (!handles().has<BlasMatmulStruct>(how)) return false;
  for (const BlasLayout m : {a, b, c, d}) {
    if (!handles().has<BlasLayoutStruct>(m)) return false;
  }
  p = {*how, *a, *b, *c, *d};
  return p.consistent();
}

}  // namespace

Result cublasLtCreate(BlasHandle* handle) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (machine() == nullptr || current_context() == nullptr) return kNotInitializedStatus;
  static std::deque<BlasHandleStruct>& all = *new std::deque<BlasHandleStruct>;  // none is ever destroyed
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  *handle = &all.emplace_back(BlasHandleStruct{current_context()});
  handles().add(*handle);
  return kSuccess;
}

Result cublasLtMatmulDescCreate(BlasMatmul* matmul, BlasCompute compute, BlasType scale) {
  if (const auto injected = count_call(__func__)) return *injected;
  return make(matmul, compute, scale);
}

Result cublasLtMatmulDescDestroy(BlasMatmul matmul) {
  if (const auto injected = count_call(__func__)) return *injected;
  return destroy(matmul);
}

Result cublasLtMatmulDescSetAttribute(BlasMatmul matmul, BlasMatmulAttribute attribute, const void* value,
                                      size_t bytes) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!handles().has<BlasMatmulStruct>(matmul)) return kInvalidValueStatus;
  switch (attribute) {
    case BlasMatmulAttribute::transpose_a: return set(matmul->a, value, bytes);
    case BlasMatmulAttribute::transpose_b: return set(matmul->b, value, bytes);
    case BlasMatmulAttribute::epilogue: return set(matmul->epilogue, value, bytes);
    case BlasMatmulAttribute::bias_pointer: return set(matmul->bias, value, bytes);
    case BlasMatmulAttribute::bias_type: return set(matmul->bias_type, value, bytes);
  }
  return kInvalidValueStatus;
}

Result cublasLtMatrixLayoutCreate(BlasLayout* layout, BlasType type, uint64_t rows, uint64_t columns,
                                  int64_t ld) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (rows == 0 || columns == 0 || ld < static_cast<int64_t>(rows)) return kInvalidValueStatus;
  return make(layout, type, rows, columns, ld);
}

Result cublasLtMatrixLayoutDestroy(BlasLayout layout) {
  if (const auto injected = count_call(__func__)) return *injected;
  return destroy(layout);
}

Result cublasLtMatrixLayoutSetAttribute(BlasLayout layout, BlasLayoutAttribute attribute, const void* value,
                                        size_t bytes) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!handles().has<BlasLayoutStruct>(layout)) return kInvalidValueStatus;
  switch (attribute) {
    case BlasLayoutAttribute::batch_count: return set(layout->batch, value, bytes);
    case BlasLayoutAttribute::batch_stride: return set(layout->batch_stride, value, bytes);
  }
  return kInvalidValueStatus;
}

Result cublasLtMatmulPreferenceCreate(BlasPreference* preference) {
  if (const auto injected = count_call(__func__)) return *injected;
  return make(preference);
}

Result cublasLtMatmulPreferenceDestroy(BlasPreference preference) {
  if (const auto injected = count_call(__func__)) return *injected;
  return destroy(preference);
}

Result cublasLtMatmulPreferenceSetAttribute(BlasPreference preference, BlasPreferenceAttribute attribute,
                                            const void* value, size_t bytes) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!handles().has<BlasPreferenceStruct>(preference)) return kInvalidValueStatus;
  switch (attribute) {
    case BlasPreferenceAttribute::workspace_bytes: return set(preference->workspace, value, bytes);
    case BlasPreferenceAttribute::alignment_a: return set(preference->alignment[0], value, bytes);
    case BlasPreferenceAttribute::alignment_b: return set(preference->alignment[1], value, bytes);
    case BlasPreferenceAttribute::alignment_c: return set(preference->alignment[2], value, bytes);
    case BlasPreferenceAttribute::alignment_d: return set(preference->alignment[3], value, bytes);
  }
  return kInvalidValueStatus;
}

// An algorithm holds the problem's identity and the promised alignment.
Result cublasLtMatmulAlgoGetHeuristic(BlasHandle handle, BlasMatmul matmul, BlasLayout a, BlasLayout b,
                                      BlasLayout c, BlasLayout d, BlasPreference preference, int wanted,
                                      BlasHeuristic* found, int* count) {
  if (const auto injected = count_call(__func__)) return *injected;
  Product product{};
  *count = 0;
  if (!handles().has<BlasHandleStruct>(handle) || !handles().has<BlasPreferenceStruct>(preference) ||
      wanted < 1 || !gather(product, matmul, a, b, c, d)) {
    return kInvalidValueStatus;
  }
  if (!product.supported() || preference->workspace < kWorkspace) return kBlasNotSupported;
  *found = {};
  found->algorithm.data[0] = product.identity();
  for (size_t i = 0; i < 4; ++i) found->algorithm.data[1 + i] = preference->alignment[i];
  found->workspace_bytes = kWorkspace;
  found->waves = 1;
  *count = 1;
  return kSuccess;
}

Result cublasLtMatmul(BlasHandle handle, BlasMatmul matmul, const void* alpha, const void* a,
                      BlasLayout layout_a, const void* b, BlasLayout layout_b, const void* beta,
                      const void* c, BlasLayout layout_c, void* d, BlasLayout layout_d,
                      const BlasAlgorithm* algorithm, void* workspace, size_t workspace_bytes, Stream given) {
  if (const auto injected = count_call(__func__)) return *injected;
  Product product{};
  StreamStruct* stream = nullptr;
  if (!handles().has<BlasHandleStruct>(handle) || algorithm == nullptr ||
      !gather(product, matmul, layout_a, layout_b, layout_c, layout_d) ||
      algorithm->data[0] != product.identity()) {
    return kInvalidValueStatus;
  }
  if (current_context() != handle->context || driver::find_stream(given, stream) != kSuccess ||
      stream->context != handle->context) {
    return kExecutionFailed;
  }
  const int device = stream->context->ordinal;
  const std::array<const void*, 4> pointers = {a, b, c, d};
  for (size_t i = 0; i < 4; ++i) {
    const BlasLayoutStruct& layout = *std::array{&product.a, &product.b, &product.c, &product.d}[i];
    if (!in_memory(layout, pointers[i], device) ||
        reinterpret_cast<uintptr_t>(pointers[i]) % algorithm->data[1 + i] != 0) {
      std::fprintf(stderr,
                   "emulated_cuda: cublasLtMatmul: matrix %c is not in the device's memory, or less aligned "
                   "than promised\n",
                   "ABCD"[i]);
      return kInvalidValueStatus;
    }
  }
  if (workspace_bytes < kWorkspace ||
      machine()->memory.device_of(reinterpret_cast<DevicePtr>(workspace), workspace_bytes) != device) {
    return kInvalidValueStatus;
  }
  const bool f64 = product.how.scale == BlasType::f64;
  const double scale = element(product.how.scale, alpha, 0), old = element(product.how.scale, beta, 0);
  stream->queue->submit([=, context = stream->context] {
    if (context->failure != 0) return;
    const Memory::Access access(machine()->memory);
    std::memset(workspace, 0xa5, workspace_bytes);
    if (f64) {
      product.run<double>(scale, a, b, old, c, d);
    } else {
      product.run<float>(static_cast<float>(scale), a, b, static_cast<float>(old), c, d);
    }
  });
  return kSuccess;
}

}  // namespace emulated
