// Combines an element with an update, by dtype.
#include <cmath>
#include <type_traits>

#include "backends/cpu/scatter/scatter.hpp"
#include "support/error.hpp"
#include "support/fp16.hpp"

namespace lazy::cpu_backend {
namespace {
using jit::Op;

template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;

template <class T>
struct Add {
  static T of(T there, T update) {
    if constexpr (kFloat<T>) return there + update;
    else return static_cast<T>(static_cast<uint64_t>(there) + static_cast<uint64_t>(update));
  }
};
template <class T>
struct Multiply {
  static T of(T there, T update) {
    if constexpr (kFloat<T>) return there * update;
    else return static_cast<T>(static_cast<uint64_t>(there) * static_cast<uint64_t>(update));
  }
};
/// Takes the smaller value. Either NaN gives NaN; -0 is less than +0.
template <class T>
struct Minimum {
  static T of(T there, T update) {
    if constexpr (kFloat<T>) {
      if (std::isnan(there) || std::isnan(update)) return there + update;
      if (there == update) return std::signbit(there) ? there : update;
    }
    return there < update ? there : update;
  }
};
template <class T>
struct Maximum {
  static T of(T there, T update) {
    if constexpr (kFloat<T>) {
      if (std::isnan(there) || std::isnan(update)) return there + update;
      if (there == update) return std::signbit(there) ? update : there;
    }
    return there > update ? there : update;
  }
};
template <class T>
struct Set {
  static T of(T, T update) { return update; }
};

/// Combines 16-bit floats by float32, rounded each time.
template <class T, template <class> class F>
T combined(T there, T update) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return T(F<float>::of(static_cast<float>(there), static_cast<float>(update)));
  else return F<T>::of(there, update);
}

template <class T, template <class> class F>
void row(const ScatterRow& r) {
  const T* const updates = reinterpret_cast<const T*>(r.updates);
  if (r.at_step == 0) {
    if (r.at[0] < 0) return;
    char* const to = r.base + r.at[0] * static_cast<int64_t>(sizeof(T));
    if (r.base_step == sizeof(T) && r.update_step == 1) {
      T* __restrict__ const out = reinterpret_cast<T*>(to);
      const T* __restrict__ const in = updates;
      for (int64_t i = 0; i < r.count; ++i) out[i] = combined<T, F>(out[i], in[i]);
      return;
    }
    for (int64_t i = 0; i < r.count; ++i) {
      T& there = *reinterpret_cast<T*>(to + i * r.base_step);
      there = combined<T, F>(there, updates[i * r.update_step]);
    }
    return;
  }
  char* base = r.base;
  for (int64_t i = 0; i < r.count; ++i, base += r.base_step) {
    if (r.at[i] < 0) continue;
    T& there = reinterpret_cast<T*>(base)[r.at[i]];
    there = combined<T, F>(there, updates[i * r.update_step]);
  }
}

template <class T>
CombineRow arithmetic(Op combine) {
  switch (combine) {
    case Op::add: return row<T, Add>;
    case Op::multiply: return row<T, Multiply>;
    case Op::minimum: return row<T, Minimum>;
    case Op::maximum: return row<T, Maximum>;
    default: throw CompileError(std::string("a scatter does not combine by ") + jit::name_of(combine));
  }
}

}  // namespace

CombineRow combine_row(DType t, Op combine) {
  if (combine == Op::cast) {
    switch (size_of(t)) {
      case 1: return row<uint8_t, Set>;
      case 2: return row<uint16_t, Set>;
      case 4: return row<uint32_t, Set>;
      default: return row<uint64_t, Set>;
    }
  }
  switch (t) {
    case DType::int8: return arithmetic<int8_t>(combine);
    case DType::int16: return arithmetic<int16_t>(combine);
    case DType::int32: return arithmetic<int32_t>(combine);
    case DType::int64: return arithmetic<int64_t>(combine);
    case DType::uint8: return arithmetic<uint8_t>(combine);
    case DType::uint16: return arithmetic<uint16_t>(combine);
    case DType::uint32: return arithmetic<uint32_t>(combine);
    case DType::uint64: return arithmetic<uint64_t>(combine);
    case DType::float16: return arithmetic<float16_t>(combine);
    case DType::bfloat16: return arithmetic<bfloat16_t>(combine);
    case DType::float32: return arithmetic<float>(combine);
    case DType::float64: return arithmetic<double>(combine);
    case DType::complex64:  // no kernel has them
    case DType::complex128:
    case DType::bool_: break;
  }
  throw CompileError("a scatter of bool combines by nothing");
}

}  // namespace lazy::cpu_backend
