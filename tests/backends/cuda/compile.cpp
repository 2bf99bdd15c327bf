// Compiles every kernel's text by the real NVRTC, where there is one: no GPU is needed for that.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <mutex>
#include <thread>

#include "backends/cuda/emitter/module.hpp"
#include "backends/cuda/emitter/pairs_module.hpp"
#include "tests/backends/cuda/direct.hpp"
#include "tests/common/asked.hpp"
#include "tests/differential/random_kernel.hpp"

using namespace lazy;
using namespace lazy::test;

BOOST_AUTO_TEST_SUITE(cuda_compile)

BOOST_AUTO_TEST_CASE(random_kernels_compile_for_each_architecture) {
  if (!no_real_nvrtc().empty()) {
    BOOST_TEST_MESSAGE("skipped: " << no_real_nvrtc());
    return;
  }
  const int archs[] = {75, 80, 90, 100};
  const int count = static_cast<int>(asked_cases(80));
  std::atomic<int> next = 0;
  std::mutex lock;
  std::vector<std::string> failures;
  const auto work = [&] {
    for (int seed; (seed = next++) < count;) {
      const Case c = random_case(static_cast<uint64_t>(seed));
      const std::string text = cuda_backend::emit(c.kernel, cuda_backend::Schedule::of(c.kernel));
      const int arch = archs[seed % 4];
      const Compiled made = with_real_nvrtc(text, arch);
      if (made.ok && !made.image.empty()) continue;
      const std::lock_guard guard(lock);
      failures.push_back("case " + std::to_string(seed) + " for sm_" + std::to_string(arch) + ": " +
                         made.log + "\n" + text);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(work);
  for (auto& t : threads) t.join();
  BOOST_TEST_MESSAGE(count << " kernels compiled");
  for (size_t i = 0; i < failures.size() && i < 3; ++i) BOOST_ERROR(failures[i]);
  BOOST_TEST(failures.empty());
}

BOOST_AUTO_TEST_CASE(pairs_of_planes_compile_for_each_architecture) {
  if (!no_real_nvrtc().empty()) {
    BOOST_TEST_MESSAGE("skipped: " << no_real_nvrtc());
    return;
  }
  for (const int arch : {75, 80, 90, 100})
    for (const DType t : {DType::float32, DType::float64}) {
      const Compiled made = with_real_nvrtc(cuda_backend::emit_pairs(t), arch);
      BOOST_TEST((made.ok && !made.image.empty()), "sm_" << arch << ": " << made.log);
    }
}

BOOST_AUTO_TEST_SUITE_END()
