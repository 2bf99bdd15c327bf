// Runs one program for a thousand sizes: sizes are arguments of compiled programs, not parts of them.
#include <chrono>
#include <cmath>
#include <cstdio>

#include "demo.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(shapes [COUNT]
Runs one expression on COUNT tensors of different sizes (default: 1000) and shows how many programs that took.
)";

void sizes(const demo::Arguments& arguments) {
  const long count = demo::number(arguments, 0, 1000, 1, 100000);
  const auto before = metrics();
  const auto start = std::chrono::steady_clock::now();
  double worst = 0;
  for (long i = 0; i < count; ++i) {
    const int64_t n = 1 + (i * 7919) % 20011;  // primes: no size comes twice in the first 20,011
    const Tensor x = linspace(0, 1, n);
    const float got = mean(tanh(x * 3 - 1) * 0.5 + sqrt(x)).item<float>();
    if (i % 100 == 0) {  // checked against plain double precision
      double want = 0;
      for (int64_t k = 0; k < n; ++k) {
        const double v = n > 1 ? static_cast<double>(k) / static_cast<double>(n - 1) : 0;
        want += std::tanh(v * 3 - 1) * 0.5 + std::sqrt(v);
      }
      worst = std::max(worst, std::abs(got - want / static_cast<double>(n)));
    }
  }
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const auto programs = metrics().program_misses - before.program_misses;
  std::printf("%ld sizes in %.1f ms: %llu programs compiled, worst error %.1e\n", count, ms,
              static_cast<unsigned long long>(programs), worst);
  demo::report("all sizes");
  if (programs > 2) throw demo::Failure("more than two programs were compiled");
  if (!(worst < 1e-5)) throw demo::Failure("a result is wrong");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 1, sizes); }
