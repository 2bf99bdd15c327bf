// Calls the emulated driver and NVRTC for the tests.
#pragma once
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/driver_types.hpp"
#include "tests/emulated_cuda/emulated_cuda.hpp"

namespace emulated_test {

using namespace lazy::cuda_backend::api;

struct Api {
#define LAZY_DRIVER(field, name, ...) Result (*field)(__VA_ARGS__) = nullptr;
#include "tests/emulated_cuda/driver.def"
  Api();
};
extern const Api api;

extern "C" {
int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status);
#define LAZY_NVRTC(field, name, ...) Result name(__VA_ARGS__);
#include "backends/cuda/api/nvrtc.def"
}

#define CHECK_CUDA(call) BOOST_REQUIRE_EQUAL(emulated_test::api.call, lazy::cuda_backend::api::kSuccess)

using Environment = std::initializer_list<std::pair<const char*, const char*>>;

/// Sets up a machine as an environment describes it, with device 0 current; its destructor restores
/// everything.
class Gpu {
 public:
  explicit Gpu(Environment = {});
  ~Gpu();

  Stream stream = nullptr;
  Context context = nullptr;

 private:
  std::vector<const char*> set_;
};

struct Compilation {
  Result result = 0;
  std::string log, cubin;
};
Compilation compile(const std::string& text, std::vector<const char*> options = {
                                                 "-arch=sm_90", "-Xptxas=-v", "-fmad=false", "--std=c++17"});

/// Holds a loaded module.
class Program {
 public:
  explicit Program(const std::string& text);
  ~Program();
  Function function(const char* name) const;
  /// Returns the result of the launch; `args` is the kernel's one parameter.
  template <class Args>
  Result launch(const char* name, unsigned blocks, unsigned threads, Args args, Stream stream = nullptr,
                unsigned shared_bytes = 0) const {
    void* params[] = {&args};
    return api.launch(function(name), blocks, 1, 1, threads, 1, 1, shared_bytes, stream, params, nullptr);
  }

 private:
  Library library_ = nullptr;
};

/// Holds device memory of `n` floats on a stream.
class Floats {
 public:
  Floats(const Gpu&, size_t n);
  Floats(const Gpu&, const std::vector<float>&);
  ~Floats();
  std::vector<float> read() const;
  float* pointer() const { return reinterpret_cast<float*>(memory_); }
  DevicePtr address() const { return memory_; }

 private:
  const Gpu& gpu_;
  size_t n_;
  DevicePtr memory_ = 0;
};

}  // namespace emulated_test
