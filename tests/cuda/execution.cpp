// Random kernels on the emulated device: to the bit as the reference has them. LAZY_TEST_SEED and
// LAZY_TEST_CASES as in tests/differential/kernels.cpp.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <random>

#include "backends/reference/kernel.hpp"
#include "tests/cuda/direct.hpp"
#include "tests/differential/interpreted.hpp"
#include "tests/differential/trial.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

uint64_t number(const char* variable, uint64_t otherwise) {
  const char* v = std::getenv(variable);
  return v && *v ? std::strtoull(v, nullptr, 0) : otherwise;
}

std::string compare(const Case& c) {
  const char *form = std::getenv("LAZY_TEST_FORM"), *skip = std::getenv("LAZY_TEST_SKIP");
  const std::string text = print(c.kernel);
  if ((form && text.rfind(form, 0) != 0) || (skip && text.find(skip) != text.npos)) return {};
  return trial(c,
               {"reference",
                [](const jit::loop::LoopKernel& k) {
                  return std::make_unique<reference::LoopsKernel>(k, interpreted_meaning);
                }},
               {{"emulated CUDA", on_emulated_device}});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_execution)

BOOST_AUTO_TEST_CASE(random_kernels_agree_to_the_bit) {
  const uint64_t first = number("LAZY_TEST_SEED", std::random_device{}());
  const uint64_t count = number("LAZY_TEST_CASES", 60);
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << first << " LAZY_TEST_CASES=" << count);
  int failures = 0;
  for (uint64_t i = first; i < first + count && failures < 3;) {
    const Failure x =
        first_failure(i, first + count, [](uint64_t seed) { return compare(random_case(seed)); });
    i = x.index;
    if (x.text.empty()) continue;
    ++failures;
    BOOST_ERROR("LAZY_TEST_SEED=" << i << " LAZY_TEST_CASES=1 fails: " << x.text << describe(random_case(i)));
    ++i;
  }
}

BOOST_AUTO_TEST_SUITE_END()
