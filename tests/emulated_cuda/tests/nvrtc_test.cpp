#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"

using namespace emulated_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Result load(const std::string& cubin) {
  Library library = nullptr;
  const Result result = api.library_load(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == kSuccess) CHECK_CUDA(library_unload(library));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(nvrtc)

BOOST_AUTO_TEST_CASE(version_and_archs) {
  int major = 0, minor = 0, count = 0;
  BOOST_CHECK_EQUAL(nvrtcVersion(&major, &minor), kSuccess);
  BOOST_CHECK_EQUAL(major, 13);
  BOOST_CHECK_EQUAL(nvrtcGetNumSupportedArchs(&count), kSuccess);
  std::vector<int> archs(static_cast<size_t>(count));
  BOOST_CHECK_EQUAL(nvrtcGetSupportedArchs(archs.data()), kSuccess);
  BOOST_CHECK_EQUAL(archs.front(), 75);
  BOOST_CHECK(std::find(archs.begin(), archs.end(), 90) != archs.end());
}

BOOST_AUTO_TEST_CASE(errors_name_the_line) {
  const Compilation c =
      compile("struct Args { int* y; };\n\nextern \"C\" __global__ void f(const Args a) { b = 1; }\n");
  BOOST_CHECK_EQUAL(c.result, 6);
  BOOST_CHECK(c.cubin.empty());
  BOOST_CHECK_MESSAGE(has(c.log, "kernel.cu:3:") && has(c.log, "error") && has(c.log, "'b'"), c.log);
  // Comments are left out, their lines are not.
  BOOST_CHECK(has(compile("/* one\n two */ // three\nint f() { return b; } // four").log, "kernel.cu:3:"));
  // The emulated language does not have the host's library.
  BOOST_CHECK_EQUAL(
      compile("struct A { float* y; };\nextern \"C\" __global__ void f(const A a) { a.y[0] = expf(1.0f); }")
          .result,
      6);
}

BOOST_AUTO_TEST_CASE(options) {
  BOOST_CHECK_EQUAL(compile(kSaxpy, {"-arch=sm_90", "--minimal", "--modify-stack-limit=false", "-Xptxas=-v",
                                     "-fmad=false", "--std=c++17", "-default-device"})
                        .result,
                    kSuccess);
  Compilation c = compile(kSaxpy, {"-arch=sm_90", "--foo"});
  BOOST_CHECK_EQUAL(c.result, 5);
  BOOST_CHECK_EQUAL(c.log, "nvrtc: error: unrecognized option --foo found\n");
  c = compile(kSaxpy, {"-arch=sm_12"});
  BOOST_CHECK_EQUAL(c.result, 5);
  BOOST_CHECK_EQUAL(c.log, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
}

BOOST_AUTO_TEST_CASE(log_of_resources) {
  const Compilation c = compile(kRowSum);
  BOOST_CHECK_EQUAL(c.log,
                    "ptxas info    : 0 bytes gmem\n"
                    "ptxas info    : Compiling entry function 'row_sum' for 'sm_90'\n"
                    "ptxas info    : Function properties for row_sum\n"
                    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                    "ptxas info    : Used 32 registers, used 1 barriers, 128 bytes smem\n"
                    "ptxas info    : Compile time = 0.000 ms\n");
  BOOST_CHECK_EQUAL(compile(kRowSum, {"-arch=sm_90"}).log, "");
}

// What the cache has comes without the assembler's report.
BOOST_AUTO_TEST_CASE(what_was_compiled_before_has_no_log) {
  const std::string text = std::string(kRowSum) + "// compiled before\n";
  BOOST_CHECK(has(compile(text, {"-arch=sm_90", "-Xptxas=-v"}).log, "registers"));
  BOOST_CHECK_EQUAL(compile(text, {"-arch=sm_90", "-Xptxas=-v"}).log, "");
  BOOST_CHECK(has(compile(text, {"-arch=sm_90", "-Xptxas=-v", "--no-cache"}).log, "registers"));
}

BOOST_AUTO_TEST_CASE(too_much_shared_memory) {
  const Compilation c = compile(
      "struct A { float* y; };\nextern \"C\" __global__ void f(const A a) { __shared__ double s[6145]; "
      "s[threadIdx.x] = 1; "
      "__syncthreads(); a.y[0] = s[blockIdx.x]; }");
  BOOST_CHECK_EQUAL(c.result, 6);
  BOOST_CHECK_MESSAGE(has(c.log, "uses too much shared data"), c.log);
}

BOOST_AUTO_TEST_CASE(images) {
  Gpu gpu({{"EMULATED_CUDA_ARCH", "sm_86"}});
  BOOST_CHECK_EQUAL(load(compile(kSaxpy, {"-arch=sm_86"}).cubin), kSuccess);
  BOOST_CHECK_EQUAL(load(compile(kSaxpy, {"-arch=sm_80"}).cubin), kSuccess);
  BOOST_CHECK_EQUAL(load(compile(kSaxpy, {"-arch=sm_89"}).cubin), 209);
  BOOST_CHECK_EQUAL(load(compile(kSaxpy, {"-arch=sm_90"}).cubin), 209);
  std::string damaged = compile(kSaxpy, {"-arch=sm_86"}).cubin;
  damaged[damaged.size() / 2] ^= 1;
  BOOST_CHECK_EQUAL(load(damaged), kInvalidImage);
  BOOST_CHECK_EQUAL(load("\x7f"
                         "ELF, but nothing more"),
                    kInvalidImage);
  Library library = nullptr;
  CudaKernel kernel = nullptr;
  const std::string cubin = compile(kSaxpy, {"-arch=sm_86"}).cubin;
  CHECK_CUDA(library_load(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  BOOST_CHECK_EQUAL(api.library_kernel(&kernel, library, "sax"), kNotFound);
  CHECK_CUDA(library_unload(library));
  BOOST_CHECK_EQUAL(api.library_unload(library), kInvalidHandle);
}

BOOST_AUTO_TEST_CASE(same_text_same_bytes) { BOOST_CHECK(compile(kSaxpy).cubin == compile(kSaxpy).cubin); }

BOOST_AUTO_TEST_CASE(several_at_once) {
  Gpu gpu;
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      NvrtcProgram program = nullptr;
      const std::string text = kSaxpy + std::string("// ") + std::to_string(t);
      good += nvrtcCreateProgram(&program, text.c_str(), nullptr, 0, nullptr, nullptr) == kSuccess &&
              nvrtcCompileProgram(program, 0, nullptr) == kSuccess;
      nvrtcDestroyProgram(&program);
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_CHECK_EQUAL(good.load(), 4);
}

BOOST_AUTO_TEST_CASE(cache) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "emulated_cuda_test.XXXXXX").string();
  BOOST_REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string kept = folder + "/kept";
  {
    Gpu gpu({{"EMULATED_CUDA_CACHE", kept.c_str()}});
    const Compilation first = compile(kSaxpy), again = compile(kSaxpy);
    BOOST_CHECK(first.cubin == again.cubin);
    BOOST_CHECK_EQUAL(std::distance(fs::directory_iterator(kept), {}), 1);
    struct stat status {};
    BOOST_REQUIRE_EQUAL(stat(kept.c_str(), &status), 0);
    BOOST_CHECK_EQUAL(status.st_mode & 0777u, 0700u);
    BOOST_CHECK_EQUAL(compile(kRowSum).result, kSuccess);
    BOOST_CHECK_EQUAL(std::distance(fs::directory_iterator(kept), {}), 2);
    // Where an expression was written makes no other code.
    for (const char* comments : {"// here /* and there\n", "//\n", "/**//* four\nkernels */"}) {
      BOOST_CHECK_EQUAL(compile(comments + std::string(kSaxpy)).result, kSuccess);
    }
    BOOST_CHECK_EQUAL(std::distance(fs::directory_iterator(kept), {}), 4);
    // The cache is really used: what lies there comes out.
    for (const auto& entry : fs::directory_iterator(kept)) {
      std::ofstream(entry.path(), std::ios::app) << "kept for long";
    }
    BOOST_CHECK(!has(first.cubin, "kept for long"));
    BOOST_CHECK(has(compile(kSaxpy).cubin, "kept for long") && has(compile(kRowSum).cubin, "kept for long"));
  }
  fs::remove_all(folder);
}

BOOST_AUTO_TEST_SUITE_END()
