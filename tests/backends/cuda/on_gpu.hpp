// Shared by the tests of the runtime: puts tensors on the GPU, and reads the emulated device's counters.
#pragma once
#include <dlfcn.h>

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/cuda/gpu.hpp"
#include "jit/backend/registry.hpp"
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "tests/common/thrown.hpp"

namespace lazy::test {

using config::Override;

/// Makes new tensors on the first GPU; no programs are cached; counters are zero.
struct OnGpu {
  OnGpu() {
    cache::clear();
    set_default_device(cuda);
    reset_metrics();
  }
  ~OnGpu() {
    cache::clear();
    set_default_device(cpu);
  }
};

/// Makes new tensors on the CPU for a scope.
struct OnCpu {
  OnCpu() { set_default_device(cpu); }
  ~OnCpu() { set_default_device(cuda); }
};

inline cuda_backend::Gpu& gpu(int index = 0) {
  return *reinterpret_cast<cuda_backend::Gpu*>(jit::backend_of(cuda(index), Site{}).context());
}

/// True on the emulated device; a precondition of tests that count calls or make them fail.
inline boost::test_tools::assertion_result is_emulated(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result r(std::getenv("LAZY_CUDA_PATH") != nullptr);
  r.message() << "the device is not the emulated one";
  return r;
}

/// Calls what emulated_cuda.hpp declares, in the library that the runtime uses.
class Emulated {
 public:
  static bool inject(const char* function, int nth_call, int result) {
    return find<bool (*)(const char*, int, int)>("emulated_cuda_inject")(function, nth_call, result);
  }
  static int64_t count(const char* function) {
    const int64_t n = find<int64_t (*)(const char*)>("emulated_cuda_count")(function);
    if (n < 0) throw std::logic_error(std::string("no function ") + function);
    return n;
  }
  static size_t live_bytes() { return find<size_t (*)()>("emulated_cuda_live_bytes")(); }

 private:
  template <class F>
  static F find(const char* name) {
    static void* const library =
        dlopen((std::string(std::getenv("LAZY_CUDA_PATH")) + "/libcuda.so.1").c_str(), RTLD_NOW);
    void* const f = library ? dlsym(library, name) : nullptr;
    if (!f) throw std::logic_error(std::string(name) + " is not in LAZY_CUDA_PATH's libcuda.so.1");
    return reinterpret_cast<F>(f);
  }
};

/// Counts calls of a driver function since its construction.
class Calls {
 public:
  explicit Calls(const char* function) : function_(function), before_(Emulated::count(function)) {}
  int64_t operator()() const { return Emulated::count(function_) - before_; }

 private:
  const char* const function_;
  const int64_t before_;
};

/// Returns the elements' bits, for exact comparisons.
inline std::vector<uint64_t> bits(const Tensor& t) {
  std::vector<uint64_t> b;
  for (double v : t.to_vector<double>()) b.push_back(v == v ? std::bit_cast<uint64_t>(v) : ~uint64_t{0});
  return b;
}

/// Returns values that round badly, made on the CPU.
inline Tensor varied(Shape shape, DType t = float32, uint32_t seed = 1) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (double& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<double>(seed >> 8) / 4194304.0 - 2;
  }
  const Device before = default_device();
  set_default_device(cpu);
  Tensor made = astype(from_span(v, shape), t);
  made.eval();
  set_default_device(before);
  return made;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace lazy::test
