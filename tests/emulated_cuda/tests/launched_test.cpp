// Tests kernels that are compiled when they are first launched.
#include <sys/wait.h>

#include <filesystem>

#include "tests/common/child.hpp"
#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"
#include "tests/emulated_cuda/tests/stderr.hpp"

using namespace emulated_test;

namespace {

struct Args {
  float* y;
};

const char* const kTwo = R"(
struct Args { float* y; };
__device__ float three() { return 3; }
extern "C" __global__ void one(const Args args) { args.y[0] += three(); }
extern "C" __global__ void __launch_bounds__(8) two(const Args args) {
  __shared__ float s[100];
  s[threadIdx.x] = 2;
  __syncthreads();
  args.y[1] += s[0];
}
)";
const char* const kWrong = R"(
struct Args { float* y; };
extern "C" __global__ void one(const Args args) { args.y[0] = 1; }
extern "C" __global__ void two(const Args args) { args.z[0] = 2; }
)";

/// Returns the exit status of this program, where it runs one disabled test case.
int status_of(const char* test_case) {
  const std::string option = std::string("--run_test=launched/") + test_case;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const pid_t child = lazy::test::fork_child();
  if (child == 0) {
    execl(self.c_str(), self.c_str(), option.c_str(), "--log_level=nothing", "--report_level=no", nullptr);
    _exit(127);
  }
  int status = 0;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(launched)

BOOST_AUTO_TEST_CASE(each_kernel_by_itself) {
  namespace fs = std::filesystem;
  std::string kept = (fs::temp_directory_path() / "emulated_cuda_test.XXXXXX").string();
  BOOST_REQUIRE(mkdtemp(kept.data()) != nullptr);
  const auto modules = [&] { return std::distance(fs::directory_iterator(kept), {}); };
  {
    Gpu gpu({{"EMULATED_CUDA_COMPILE", "launched"}, {"EMULATED_CUDA_CACHE", kept.c_str()}});
    const Program program(kTwo);
    Floats y(gpu, {1, 1});
    BOOST_CHECK_EQUAL(modules(), 0);
    BOOST_CHECK_EQUAL(program.launch("two", 1, 8, Args{y.pointer()}, gpu.stream), kSuccess);
    BOOST_CHECK_EQUAL(modules(), 1);
    BOOST_CHECK_EQUAL(program.launch("two", 1, 8, Args{y.pointer()}, gpu.stream), kSuccess);
    BOOST_CHECK_EQUAL(program.launch("two", 1, 9, Args{y.pointer()}, gpu.stream), kLaunchOutOfResources);
    BOOST_CHECK_EQUAL(modules(), 1);
    BOOST_CHECK_EQUAL(program.launch("one", 1, 1, Args{y.pointer()}, gpu.stream), kSuccess);
    BOOST_CHECK_EQUAL(modules(), 2);
    BOOST_TEST(y.read() == std::vector<float>({4, 33}));
    int bytes = 0;
    CHECK_CUDA(function_attribute(&bytes, FunctionAttribute::shared_bytes, program.function("two")));
    BOOST_CHECK_EQUAL(bytes, 400);
  }
  fs::remove_all(kept);
}

BOOST_AUTO_TEST_CASE(names_are_known_before) {
  Gpu gpu({{"EMULATED_CUDA_COMPILE", "launched"}});
  const std::string cubin = compile(kTwo).cubin;
  Library library = nullptr;
  CudaKernel kernel = nullptr;
  CHECK_CUDA(library_load(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  BOOST_CHECK_EQUAL(api.library_kernel(&kernel, library, "one"), kSuccess);
  BOOST_CHECK_EQUAL(api.library_kernel(&kernel, library, "three"), kNotFound);
  CHECK_CUDA(library_unload(library));
  std::string damaged = cubin;
  damaged[damaged.size() / 2] ^= 1;
  BOOST_CHECK_EQUAL(api.library_load(&library, damaged.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                    kInvalidImage);
}

BOOST_AUTO_TEST_CASE(an_error_ends_the_process) {
  const auto check = [](const char* test_case, int expected, const char* message) {
    int status = -1;
    const std::string said = stderr_of([&] { status = status_of(test_case); });
    BOOST_CHECK_MESSAGE(status == expected && said.find(message) != said.npos,
                        test_case << ": " << status << ", " << said);
  };
  check("right", 0, "");
  check("wrong_and_launched", 2, "kernel.cu:4:");
  check("wrong_and_not_launched", 2, "was not launched does not compile\nkernel.cu: ");
  check("wrong_and_not_launched", 2, "kernel.cu:4:");
  check("too_much_shared_memory", 2, "kernel 'f' has 49160 bytes of shared memory");
}

// What the children of the test above do.

BOOST_AUTO_TEST_CASE(right, *boost::unit_test::disabled()) {
  Gpu gpu({{"EMULATED_CUDA_COMPILE", "launched"}});
  const Program two(kTwo);
  compile(kSaxpy);
  compile(std::string(kSaxpy) + "struct Other { int x; };");  // kernels of both have the same name
  Floats y(gpu, {1, 1});
  BOOST_CHECK_EQUAL(two.launch("one", 1, 1, Args{y.pointer()}, gpu.stream), kSuccess);
}

BOOST_AUTO_TEST_CASE(wrong_and_launched, *boost::unit_test::disabled()) {
  Gpu gpu({{"EMULATED_CUDA_COMPILE", "launched"}});
  Floats y(gpu, 2);
  Program(kWrong).launch("one", 1, 1, Args{y.pointer()}, gpu.stream);
}

BOOST_AUTO_TEST_CASE(wrong_and_not_launched, *boost::unit_test::disabled()) {
  Gpu gpu({{"EMULATED_CUDA_COMPILE", "launched"}});
  BOOST_CHECK_EQUAL(compile(kSaxpy).result, kSuccess);
  BOOST_CHECK_EQUAL(compile(kWrong).result, kSuccess);
}

BOOST_AUTO_TEST_CASE(too_much_shared_memory, *boost::unit_test::disabled()) {
  Gpu gpu({{"EMULATED_CUDA_COMPILE", "launched"}});
  Floats y(gpu, 2);
  Program(
      "struct A { float* y; };\nextern \"C\" __global__ void f(const A a) { __shared__ double s[6145]; "
      "s[threadIdx.x] = 1; __syncthreads(); a.y[0] = s[0]; }")
      .launch("f", 1, 1, Args{y.pointer()}, gpu.stream);
}

BOOST_AUTO_TEST_SUITE_END()
