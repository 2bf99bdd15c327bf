#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"

#include <numeric>

using namespace emulated_test;

namespace {

std::vector<float> iota(size_t n, float first = 0) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run)

BOOST_AUTO_TEST_CASE(saxpy) {
  for (const char* order : {"forward", "reverse", "shuffled:7"}) {
    Gpu gpu({{"EMULATED_CUDA_ORDER", order}});
    Program program(kSaxpy);
    Floats x(gpu, iota(1000)), y(gpu, iota(1000, 5));
    BOOST_CHECK_EQUAL(
        program.launch("saxpy", 8, 128, SaxpyArgs{2, x.pointer(), y.pointer(), 1000}, gpu.stream), 0);
    const auto result = y.read();
    for (size_t i = 0; i < 1000; ++i) BOOST_REQUIRE_EQUAL(result[i], 3 * static_cast<float>(i) + 5);
    BOOST_CHECK_EQUAL(emulated_cuda_count("cuLaunchKernel"), 1);
  }
}

BOOST_AUTO_TEST_CASE(sum_of_rows) {
  for (const char* order : {"forward", "reverse", "shuffled"}) {
    Gpu gpu({{"EMULATED_CUDA_ORDER", order}});
    Program program(kRowSum);
    for (const unsigned threads : {32u, 256u}) {
      Floats x(gpu, iota(7 * 1000)), y(gpu, 7);
      BOOST_CHECK_EQUAL(
          program.launch("row_sum", 7, threads, RowArgs{x.pointer(), y.pointer(), 1000}, gpu.stream), 0);
      const auto result = y.read();
      for (size_t r = 0; r < 7; ++r) {
        BOOST_CHECK_EQUAL(result[r], 1000 * (static_cast<float>(r) * 1000 + 499.5f));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
