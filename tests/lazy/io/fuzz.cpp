// Loads some thousand mutated files; tests/io_fuzz/main.cpp loads as many as wanted.
#include "tests/io_fuzz/fuzz.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <exception>
#include <random>

BOOST_AUTO_TEST_SUITE(io_fuzzed)

BOOST_AUTO_TEST_CASE(mutated_files) {
  const char* const given = std::getenv("LAZY_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  io_fuzz::Fuzz fuzz(LAZY_SOURCE_DIR "/tests/golden/files");
  for (uint64_t i = 0; i < 10000; ++i) BOOST_TEST_CONTEXT("LAZY_TEST_SEED=" << seed << ", case " << i) {
      try {
        fuzz.run(seed, i);
      } catch (const std::exception& e) { BOOST_FAIL("not one of the documented errors: " << e.what()); }
    }
  for (size_t f = 0; f < io_fuzz::kFormatCount; ++f) BOOST_TEST_CONTEXT(io_fuzz::kFormats[f].ending) {
      BOOST_TEST(fuzz.outcome(f).loaded > 10u);
      BOOST_TEST(fuzz.outcome(f).refused > 50u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
