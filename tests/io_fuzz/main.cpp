// io_fuzz COUNT [SEED [FIRST]]: loads COUNT mutated files, cases FIRST and on of the seed; a case that does
// what no reader may do is named, and can be run alone by COUNT 1. Meant for the asan preset, where io_fuzz
// 1000000 is some minutes of work.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/io_fuzz/fuzz.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "io_fuzz COUNT [SEED [FIRST]]\n");
    return 2;
  }
  const uint64_t count = std::strtoull(argv[1], nullptr, 10);
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  const uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  io_fuzz::Fuzz fuzz(LAZY_SOURCE_DIR "/tests/golden/files");
  for (uint64_t i = first; i < first + count; ++i) {
    try {
      fuzz.run(seed, i);
    } catch (const std::exception& e) {
      std::printf("FAILED: io_fuzz 1 %llu %llu: %s\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(i), e.what());
      return 1;
    }
  }
  for (size_t f = 0; f < io_fuzz::kFormatCount; ++f)
    std::printf("%-13s %8zu loaded, %8zu refused\n", io_fuzz::kFormats[f].ending, fuzz.outcome(f).loaded,
                fuzz.outcome(f).refused);
  return 0;
}
