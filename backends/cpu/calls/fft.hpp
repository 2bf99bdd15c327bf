// Declares how Fourier transforms are done with vectors of one width.
#pragma once
#include "jit/built_in/fft/run.hpp"

namespace lazy::cpu_backend::fft {

/// Transforms rows [first, last); `first` is a multiple of kRowsTogether.
template <class T>
struct Level {
  int64_t (*scratch)(const jit::calls::FftRun<T>&);
  void (*rows)(const jit::calls::FftRun<T>&, int64_t first, int64_t last, T* scratch, jit::calls::FftShare);
};
inline constexpr int64_t kRowsTogether = 16;

/// Holds what transforms with vectors of one width.
struct Vectors {
  Level<float> floats;
  Level<double> doubles;
  const char* name;
};
extern const Vectors kAvx2, kAvx512;

}  // namespace lazy::cpu_backend::fft
