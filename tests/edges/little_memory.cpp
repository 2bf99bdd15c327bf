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
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"

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

/// Limits the address space to what the process has and some MiB more, for a scope.
class Limit {
 public:
  explicit Limit(long mib) {
    std::ifstream f("/proc/self/statm");
    long all = 0;
    f >> all;
    set(static_cast<rlim_t>(all * sysconf(_SC_PAGESIZE) + (mib << 20)));
  }
  ~Limit() { set(RLIM_INFINITY); }

 private:
  static void set(rlim_t bytes) {
    const rlimit r{bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &r);
  }
};

/// Trains a step in each of several limits. Prints if some were too little, and how many models have
/// parameters that cannot be read any more.
void train_in_limits() {
  int threw = 0, lost = 0;
  for (long mib = 64; mib < 82; ++mib) {
    Generator g(3);
    nn::Sequential m{nn::Linear{256, 512, {.generator = &g}}, nn::ReLU{}, nn::BatchNorm1d{512},
                     nn::Linear{512, 256, {.generator = &g}}};
    optim::Adam optimizer(m.named_parameters(), {.lr = 1e-3});
    const auto step = [&](int64_t n) {
      const Tensor x = randn(g, {n, 256});
      optimizer.zero_grad();
      const Tensor loss = mse_loss(m(x), x * 0.5f);
      loss.backward();
      optimizer.step();
      loss.eval();
    };
    step(64), step(64);
    for (const ParameterRef& p : m.parameters()) p->eval();
    release_memory();
    bool thrown = false;
    try {
      const Limit scope(mib);
      step(8192);
    } catch (const std::exception&) { thrown = true; }
    threw += thrown;
    try {
      for (const ParameterRef& p : m.parameters()) p->eval();
    } catch (const std::exception& e) {
      ++lost;
      std::printf("%ld MiB: %s\n", mib, e.what());
    }
  }
  std::printf("too little: %s, models lost: %d\n", threw > 0 ? "some" : "none", lost);
}

/// Multiplies matrices whose sides are packed, where there is memory for little but the result.
void multiply_in_little() {
  Generator g(5);
  const Tensor a = randn(g, {3000, 700}), b = randn(g, {700, 3000});
  const Tensor all = matmul(a, b);
  const auto wanted = all.to_vector<float>();
  release_memory();
  int computed = 0;
  bool same = true;
  for (long mib = 40; mib < 48; ++mib) try {
      const Limit scope(mib);
      const Tensor again = matmul(a, b).eval();
      const float* const got = again.data<float>();
      same &= std::equal(wanted.begin(), wanted.end(), got);
      ++computed;
    } catch (const std::exception&) {}
  std::printf("computed %s, %s\n", computed == 8 ? "in all" : std::to_string(computed).c_str(),
              same ? "the same bits" : "other bits");
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
  if (scenario == "training") train_in_limits();
  if (scenario == "product") multiply_in_little();
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
