// Computes with lazy in a shared object, for a program that knows nothing of it.
#include <lazy/lazy.hpp>
#include <string>

extern "C" {

/// Sums tanh(x) * x over n values, compiled; the process's programs must not mix with another plugin's.
__attribute__((visibility("default"))) double plugin_compute(int n) {
  using namespace lazy;
  const Tensor x = arange(n).astype(float64) / double(n);
  return sum(tanh(x) * x + PLUGIN_ADDS).item<double>();
}

/// Returns the number of kernels that this copy of the library has compiled.
__attribute__((visibility("default"))) long plugin_kernels() {
  return static_cast<long>(lazy::metrics().kernels_compiled);
}

/// True if an error of the library's can be caught by its type here and names this file.
__attribute__((visibility("default"))) bool plugin_catches() {
  try {
    (void)(lazy::ones({2}) + lazy::ones({3}));
  } catch (const lazy::ShapeError& e) {
    return std::string(e.what()).find("plugin.cpp") != std::string::npos;
  }
  return false;
}
}
