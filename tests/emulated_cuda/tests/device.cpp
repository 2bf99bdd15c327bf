#include "tests/emulated_cuda/tests/device.hpp"

namespace emulated_test {

Api::Api() {
#define LAZY_DRIVER(field, name, ...) \
  cuGetProcAddress_v2(#name, reinterpret_cast<void**>(&field), 12000, 0, nullptr);
#include "tests/emulated_cuda/driver.def"
}
const Api api;

Gpu::Gpu(Environment environment) {
  for (const auto& [name, value] : environment) {
    setenv(name, value, 1);
    set_.push_back(name);
  }
  emulated_cuda_reset();
  CHECK_CUDA(init(0));
  CHECK_CUDA(primary_context_retain(&context, 0));
  CHECK_CUDA(context_set(context));
  CHECK_CUDA(stream_create(&stream, kStreamNonBlocking));
}

Gpu::~Gpu() {
  for (const char* name : set_) unsetenv(name);
  emulated_cuda_reset();
}

Compilation compile(const std::string& text, std::vector<const char*> options) {
  NvrtcProgram program = nullptr;
  BOOST_REQUIRE_EQUAL(nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr), kSuccess);
  Compilation c;
  c.result = nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  size_t bytes = 0;
  BOOST_CHECK_EQUAL(nvrtcGetProgramLogSize(program, &bytes), kSuccess);
  c.log.resize(bytes);
  BOOST_CHECK_EQUAL(nvrtcGetProgramLog(program, c.log.data()), kSuccess);
  c.log.pop_back();
  BOOST_CHECK_EQUAL(nvrtcGetCUBINSize(program, &bytes), kSuccess);
  c.cubin.resize(bytes);
  BOOST_CHECK_EQUAL(nvrtcGetCUBIN(program, c.cubin.data()), kSuccess);
  BOOST_CHECK_EQUAL(nvrtcDestroyProgram(&program), kSuccess);
  return c;
}

Program::Program(const std::string& text) {
  const Compilation c = compile(text);
  BOOST_REQUIRE_MESSAGE(c.result == kSuccess, c.log);
  CHECK_CUDA(library_load(&library_, c.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
}

Program::~Program() { BOOST_CHECK_EQUAL(api.library_unload(library_), kSuccess); }

Function Program::function(const char* name) const {
  CudaKernel kernel = nullptr;
  Function function = nullptr;
  CHECK_CUDA(library_kernel(&kernel, library_, name));
  CHECK_CUDA(kernel_function(&function, kernel));
  return function;
}

Floats::Floats(const Gpu& gpu, size_t n) : gpu_(gpu), n_(n) {
  CHECK_CUDA(allocate_async(&memory_, n * sizeof(float), gpu.stream));
}

Floats::Floats(const Gpu& gpu, const std::vector<float>& values) : Floats(gpu, values.size()) {
  CHECK_CUDA(copy_to_device(memory_, values.data(), n_ * sizeof(float), gpu.stream));
  CHECK_CUDA(stream_synchronize(gpu.stream));
}

Floats::~Floats() { api.free_async(memory_, gpu_.stream); }

std::vector<float> Floats::read() const {
  std::vector<float> values(n_);
  CHECK_CUDA(copy_to_host(values.data(), memory_, n_ * sizeof(float), gpu_.stream));
  CHECK_CUDA(stream_synchronize(gpu_.stream));
  return values;
}

}  // namespace emulated_test
