// Gives a host compiler the CUDA language; it is included before a kernel's text: the keywords, and
// the builtins that the emitter uses, no others. Includes no standard headers, for compile time's
// sake.
#include "module_interface.hpp"

#define __device__
#define __constant__
#define __grid_constant__
#ifdef __OPTIMIZE__
#define __forceinline__ inline __attribute__((always_inline))
#else  // where time is not spent on speed, one copy of a function is less to compile
#define __forceinline__ inline
#endif
#define __global__ __forceinline__
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)  // read from the text by scan.cpp
// Only one block of a module runs at a time. The section marks what the driver fills with garbage, and its
// size.
#define __shared__ static __attribute__((section("emulated_shared")))

static emulated::State emulated_state;
#define threadIdx emulated_state.thread
#define blockIdx emulated_state.block
#define blockDim emulated_state.block_dim
#define gridDim emulated_state.grid_dim
/// Replaces `extern __shared__`, for a prelude that needs it.
#define EMULATED_DYNAMIC_SHARED emulated_state.dynamic_shared

#define __syncthreads() emulated_state.barrier(emulated_state.runner, __LINE__)

namespace emulated {

template <class Word, class T>
inline Word bits(T value) {
  return __builtin_bit_cast(Word, value);
}
inline unsigned long long pack(int v) { return static_cast<unsigned>(v); }
inline unsigned long long pack(unsigned v) { return v; }
inline unsigned long long pack(long v) { return static_cast<unsigned long>(v); }
inline unsigned long long pack(unsigned long v) { return v; }
inline unsigned long long pack(long long v) { return static_cast<unsigned long long>(v); }
inline unsigned long long pack(unsigned long long v) { return v; }
inline unsigned long long pack(float v) { return bits<unsigned>(v); }
inline unsigned long long pack(double v) { return bits<unsigned long long>(v); }
template <class T>
inline T unpack(unsigned long long word) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, static_cast<unsigned>(word));
  } else {
    return __builtin_bit_cast(T, word);
  }
}

template <class T>
inline T shuffle(int line, Collective kind, unsigned mask, T value, unsigned argument, int width = 32) {
  return unpack<T>(
      emulated_state.collective(emulated_state.runner, kind, mask, pack(value), argument, width, line));
}
inline unsigned vote(int line, Collective kind, unsigned mask, int predicate = 0) {
  return static_cast<unsigned>(
      emulated_state.collective(emulated_state.runner, kind, mask, predicate != 0, 0, 32, line));
}
inline void sync_warp(int line, unsigned mask = 0xffffffffu) {
  emulated_state.collective(emulated_state.runner, Collective::sync, mask, 0, 0, 32, line);
}

/// Describes a kernel's entry in the module's table. Kernels have one parameter.
template <auto kernel>
struct Entry;
template <class Param, void (*kernel)(Param)>
struct Entry<kernel> {
  static constexpr unsigned kBytes = sizeof(Param);
  static_assert(kBytes <= 32764, "Formal parameter space overflowed");
  static void thread(void** params) { kernel(*static_cast<Param*>(params[0])); }
};

}  // namespace emulated

#define __shfl_sync(...) emulated::shuffle(__LINE__, emulated::Collective::shuffle, __VA_ARGS__)
#define __shfl_up_sync(...) emulated::shuffle(__LINE__, emulated::Collective::shuffle_up, __VA_ARGS__)
#define __shfl_down_sync(...) emulated::shuffle(__LINE__, emulated::Collective::shuffle_down, __VA_ARGS__)
#define __shfl_xor_sync(...) emulated::shuffle(__LINE__, emulated::Collective::shuffle_xor, __VA_ARGS__)
#define __any_sync(...) static_cast<int>(emulated::vote(__LINE__, emulated::Collective::any, __VA_ARGS__))
#define __all_sync(...) static_cast<int>(emulated::vote(__LINE__, emulated::Collective::all, __VA_ARGS__))
#define __ballot_sync(...) emulated::vote(__LINE__, emulated::Collective::ballot, __VA_ARGS__)
#define __syncwarp(...) emulated::sync_warp(__LINE__ __VA_OPT__(, ) __VA_ARGS__)

inline int __float_as_int(float v) { return __builtin_bit_cast(int, v); }
inline float __int_as_float(int v) { return __builtin_bit_cast(float, v); }
inline unsigned __float_as_uint(float v) { return __builtin_bit_cast(unsigned, v); }
inline float __uint_as_float(unsigned v) { return __builtin_bit_cast(float, v); }
inline long long __double_as_longlong(double v) { return __builtin_bit_cast(long long, v); }
inline double __longlong_as_double(long long v) { return __builtin_bit_cast(double, v); }

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v)); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }

// Compiled without errno, these are instructions where there are any.
#define EMULATED_UNARY(name)       \
  extern "C" float name##f(float); \
  extern "C" double name(double);  \
  inline float name(float v) { return name##f(v); }
EMULATED_UNARY(sqrt)
EMULATED_UNARY(floor)
EMULATED_UNARY(ceil)
EMULATED_UNARY(trunc)
EMULATED_UNARY(rint)
EMULATED_UNARY(fabs)
EMULATED_UNARY(sin)
EMULATED_UNARY(cos)
EMULATED_UNARY(tan)
#undef EMULATED_UNARY
#define EMULATED_BINARY(name)             \
  extern "C" float name##f(float, float); \
  extern "C" double name(double, double); \
  inline float name(float a, float b) { return name##f(a, b); }
EMULATED_BINARY(fmod)
EMULATED_BINARY(copysign)
#undef EMULATED_BINARY
extern "C" float fmaf(float, float, float);
extern "C" float exp2f(float);
extern "C" double fma(double, double, double);
inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
