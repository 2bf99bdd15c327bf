// Runs with a cache under fire: computes a dozen expressions with the cache as the environment says, compares
// each with plain loops, and exits with status 1 and a line if one is wrong. Prints what was compiled and
// loaded.
//   victim [ROUNDS [SEED]]: which expressions come first depends on the seed
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "lazy/lazy.hpp"

using namespace lazy;

namespace {

using Values = std::vector<float>;

struct Expression {
  std::function<Tensor(const Tensor&)> lazily;
  std::function<double(const Values&)> plainly;  // computes the sum by loops
};

double total(const Values& x, const std::function<double(double)>& f) {
  return std::accumulate(x.begin(), x.end(), 0., [&](double s, float v) { return s + f(v); });
}

std::vector<Expression> expressions() {
  std::vector<Expression> all;
  for (int k = 1; k <= 6; ++k) {
    all.push_back({[k](const Tensor& x) {
                     Tensor y = x;
                     for (int i = 0; i < k; ++i) y = y * 0.5f + 1;
                     return sum(y);
                   },
                   [k](const Values& x) {
                     return total(x, [k](double v) {
                       for (int i = 0; i < k; ++i) v = v * 0.5 + 1;
                       return v;
                     });
                   }});
    all.push_back({[k](const Tensor& x) {
                     Tensor y = abs(x);
                     for (int i = 0; i < k; ++i) y = sqrt(y + 2);
                     return sum(y);
                   },
                   [k](const Values& x) {
                     return total(x, [k](double v) {
                       v = std::abs(v);
                       for (int i = 0; i < k; ++i) v = std::sqrt(v + 2);
                       return v;
                     });
                   }});
  }
  all.push_back({[](const Tensor& x) {
                   return sum(matmul(reshape(x, {-1, 1}), ones({1, 3})));
                 },
                 [](const Values& x) { return 3 * total(x, [](double v) { return v; }); }});
  all.push_back({[](const Tensor& x) {
                   const Tensor e = exp(x - max(x));
                   return sum(e / sum(e));
                 },
                 [](const Values&) { return 1.; }});
  all.push_back({[](const Tensor& x) { return sum(sort(x).values); },  // a call, which has no kernel
                 [](const Values& x) { return total(x, [](double v) { return v; }); }});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 0);
  std::vector<Expression> all = expressions();
  try {
    for (int round = 0; round < rounds; ++round) {
      if (round > 0) cache::clear();
      std::shuffle(all.begin(), all.end(), random);
      Values x(200 + random() % 800);
      for (float& v : x) v = static_cast<float>(random() % 1000) / 100 - 5;
      const Tensor t = from_span<float>(x, {static_cast<int64_t>(x.size())});
      for (const Expression& e : all) {
        const double got = e.lazily(t).item<float>(), expected = e.plainly(x);
        if (!(std::abs(got - expected) <=
              1e-4 * std::max(1., std::abs(expected)) + 1e-4 * std::sqrt(x.size()))) {
          std::fprintf(stderr, "victim: got %g, expected %g\n", got, expected);
          return 1;
        }
      }
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "victim: %s\n", e.what());
    return 1;
  }
  const Metrics m = metrics();
  std::printf("compiled %lu loaded %lu\n", static_cast<unsigned long>(m.kernels_compiled),
              static_cast<unsigned long>(m.kernels_loaded));
}
