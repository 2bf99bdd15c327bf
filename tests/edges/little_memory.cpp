// Shows what a process with little memory can compute: little_memory <scenario> <MiB of address space>.
// Prints what happened.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "lazy/lazy.hpp"

using namespace lazy;

namespace {

long resident_mib() {
  std::ifstream f("/proc/self/statm");
  long all = 0, resident = 0;
  f >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE) >> 20;
}

/// Runs rounds of five values that are alive together, each round larger than the last, up to `most` bytes in
/// all; some 50 rounds where that is much.
int growing(int64_t most) {
  int failed = 0;
  for (int64_t n = 200000; 5 * n * 4 < most; n += std::max<int64_t>(100000, most / 1000)) try {
      std::vector<Tensor> all;
      for (int k = 0; k < 5; ++k) all.push_back((ones({n}) * k).eval());
      if (all[4](n - 1).item<float>() != 4) return -1;
    } catch (const std::exception& e) {
      if (failed++ == 0) std::printf("%s with %zu MiB live\n", e.what(), size_t{metrics().bytes_live >> 20});
    }
  return failed;
}

}  // namespace

int main(int, char** arguments) {
  ::alarm(100);
  const std::string scenario = arguments[1];
  const auto limit = static_cast<rlim_t>(std::atol(arguments[2])) << 20;
  // Allocates everything except values before memory gets scarce: threads' stacks, programs.
  if ((ones({10}) * 2)(3).item<float>() != 2) return 1;
  (void)growing(5 << 20);
  if (limit) {
    const rlimit r{limit, limit};
    setrlimit(RLIMIT_AS, &r);
  }
  if (scenario == "growing") std::printf("failed %d\n", growing(static_cast<int64_t>(limit / 2)));
  if (scenario == "too_much") {  // fails; later values can be computed
    const int failed = growing(static_cast<int64_t>(limit * 2));
    std::printf("\nfailed %s, then %d\n", failed > 0 ? "some" : "none",
                growing(static_cast<int64_t>(limit / 2)));
  }
  if (scenario == "dead") {  // sizes that don't come again
    for (int i = 0; i < 40; ++i) {
      Tensor x = (arange(0, static_cast<int64_t>(4e6 * (1 + 0.13 * i)), 1, float32) + i).eval();
    }
    const long kept = resident_mib();
    const size_t released = release_memory() >> 20;
    std::printf("kept %s, released %s, left %s\n", kept < 300 ? "some" : "too much",
                released > 90 ? "much" : "little", resident_mib() < 100 ? "little" : "much");
  }
  if (scenario == "threads") {  // each thread caches blocks
    std::vector<std::thread> all;
    int failed[4] = {};
    for (int& f : failed) all.emplace_back([&f, limit] { f = growing(static_cast<int64_t>(limit / 10)); });
    for (std::thread& t : all) t.join();
    std::printf("failed %d\n", failed[0] + failed[1] + failed[2] + failed[3]);
  }
  return 0;
}
