// Compares the library with hand.cpp in one run: both sides alternate, so that other work of the machine hits
// both alike.
//   bench_compare --check      compares results; nothing is timed
//   bench_compare --about      prints about,SIDE,TEXT: what each side runs on
//   bench_compare [THREADS] [REGEX]     prints workload,size,threads,lazy_us,hand_us,ratio
//   (hand/lazy: above 1 we win)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "backends/cpu/machine/features.hpp"
#include "hand.hpp"
#include "inputs.hpp"
#include "support/config.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Holds one workload: what each side runs, and the largest difference between their results (relative to 1
/// or to the value).
struct Pair {
  std::string name, size;
  std::function<void()> lazy, hand;
  std::function<double()> difference;
  double tolerance;
};

double difference(const Tensor& got, const std::vector<float>& want) {
  const auto v = got.to_vector<float>();
  double worst = v.size() == want.size() ? 0 : INFINITY;
  for (size_t i = 0; i < want.size() && i < v.size(); ++i) {
    const double d = std::abs(double{v[i]} - double{want[i]}) / std::max(1.0, std::abs(double{want[i]}));
    if (!(d <= worst)) worst = d;
  }
  return worst;
}

using Column = std::vector<float>;
using Four = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&);
using HandFour = void (*)(const float*, const float*, const float*, const float*, float*, size_t);

Pair four(const std::string& name, int64_t n, Four lazy, HandFour by_hand) {
  struct Data {
    Column a, b, c, d, y;
    Tensor ta, tb, tc, td;
  };
  auto p = std::make_shared<Data>();
  p->a = uniform(n, -2, 2, 1), p->b = uniform(n, -2, 2, 2), p->c = uniform(n, -2, 2, 3),
  p->d = uniform(n, -2, 2, 4);
  p->y.resize(static_cast<size_t>(n));
  p->ta = from_span<float>(p->a), p->tb = from_span<float>(p->b), p->tc = from_span<float>(p->c),
  p->td = from_span<float>(p->d);
  const auto hand = [=] {
    by_hand(p->a.data(), p->b.data(), p->c.data(), p->d.data(), p->y.data(), p->y.size());
  };
  return {name,
          std::to_string(n),
          [=] { lazy(p->ta, p->tb, p->tc, p->td).eval(); },
          hand,
          [=] {
            hand();
            return difference(lazy(p->ta, p->tb, p->tc, p->td), p->y);
          },
          2e-6};
}

Pair stream(int64_t n) {
  struct Data {
    Column a, b, y;
    Tensor ta, tb;
  };
  auto p = std::make_shared<Data>();
  p->a = uniform(n, -2, 2, 1), p->b = uniform(n, -2, 2, 2);
  p->y.resize(static_cast<size_t>(n));
  p->ta = from_span<float>(p->a), p->tb = from_span<float>(p->b);
  const auto hand = [=] { hand::triad(p->a.data(), p->b.data(), p->y.data(), p->y.size()); };
  return {"triad",
          std::to_string(n),
          [=] { triad(p->ta, p->tb).eval(); },
          hand,
          [=] {
            hand();
            return difference(triad(p->ta, p->tb), p->y);
          },
          1e-6};
}

Pair overhead() {
  struct Data {
    Column a = uniform(16, -1, 1, 1), b = uniform(16, -1, 1, 2), c = uniform(16, -1, 1, 3), y = Column(16);
    Tensor ta = from_span<float>(a), tb = from_span<float>(b), tc = from_span<float>(c);
  };
  auto p = std::make_shared<Data>();
  const auto hand = [=] { hand::chain10(p->a.data(), p->b.data(), p->c.data(), p->y.data(), 16); };
  return {"overhead_chain10",
          "16",
          [=] { chain10(p->ta, p->tb, p->tc).eval(); },
          hand,
          [=] {
            hand();
            return difference(chain10(p->ta, p->tb, p->tc), p->y);
          },
          1e-6};
}

Pair options(int64_t n) {
  struct Data {
    Column spot, strike, years, volatility, call, put;
    Tensor s, k, t, v;
  };
  auto p = std::make_shared<Data>();
  p->spot = uniform(n, 80, 120, 1), p->strike = uniform(n, 80, 120, 2), p->years = uniform(n, 0.1f, 2.1f, 3);
  p->volatility = uniform(n, 0.1f, 0.5f, 4);
  p->call.resize(static_cast<size_t>(n)), p->put.resize(static_cast<size_t>(n));
  p->s = from_span<float>(p->spot), p->k = from_span<float>(p->strike), p->t = from_span<float>(p->years);
  p->v = from_span<float>(p->volatility);
  const auto hand = [=] {
    hand::black_scholes(p->spot.data(), p->strike.data(), p->years.data(), p->volatility.data(),
                        p->call.data(), p->put.data(), p->call.size());
  };
  const auto lazy = [=] {
    auto both = black_scholes(p->s, p->k, p->t, p->v);
    eval(both.first, both.second);
    return both;
  };
  return {"black_scholes",
          std::to_string(n),
          [=] { lazy(); },
          hand,
          [=] {
            hand();
            const auto [call, put] = lazy();
            return std::max(difference(call, p->call), difference(put, p->put));
          },
          5e-5};  // prices near 0 are differences of numbers near 100
}

Pair fractal(int64_t n) {
  struct Data {
    Column cr, ci, count;
    Tensor tr, ti;
  };
  auto p = std::make_shared<Data>();
  p->cr = uniform(n, -2, 1, 1), p->ci = uniform(n, -1.2f, 1.2f, 2);
  p->count.resize(static_cast<size_t>(n));
  p->tr = from_span<float>(p->cr), p->ti = from_span<float>(p->ci);
  const auto hand = [=] {
    hand::mandelbrot(p->cr.data(), p->ci.data(), p->count.data(), p->count.size(), 100);
  };
  return {"mandelbrot100",
          std::to_string(n),
          [=] { mandelbrot(p->tr, p->ti, 100).eval(); },
          hand,
          [=] {
            hand();  // one rounding more or less moves a point at the border by many steps: count the points
                     // that differ
            const auto v = mandelbrot(p->tr, p->ti, 100).to_vector<float>();
            size_t differ = 0;
            for (size_t i = 0; i < v.size(); ++i) differ += std::abs(v[i] - p->count[i]) > 1;
            return static_cast<double>(differ) / static_cast<double>(v.size());
          },
          0.002};
}

/// Compares functions of rows: x (rows, columns), weight and bias (columns), a result of `x`'s shape or of
/// one a row.
Pair rows(const std::string& name, int64_t count, int64_t columns,
          Tensor (*lazy)(const Tensor&, const Tensor&, const Tensor&),
          void (*by_hand)(const float*, const float*, const float*, float*, size_t, size_t)) {
  struct Data {
    Column x, w, b, y;
    Tensor tx, tw, tb;
  };
  auto p = std::make_shared<Data>();
  p->x = uniform(count * columns, -2, 2, 1), p->w = uniform(columns, -2, 2, 2),
  p->b = uniform(columns, -2, 2, 3);
  p->tx = from_span<float>(p->x, {count, columns}), p->tw = from_span<float>(p->w),
  p->tb = from_span<float>(p->b);
  p->y.resize(static_cast<size_t>(numel(lazy(p->tx, p->tw, p->tb).shape())));
  const auto hand = [=] {
    by_hand(p->x.data(), p->w.data(), p->b.data(), p->y.data(), static_cast<size_t>(count),
            static_cast<size_t>(columns));
  };
  return {name,
          std::to_string(count) + "x" + std::to_string(columns),
          [=] { lazy(p->tx, p->tw, p->tb).eval(); },
          hand,
          [=] {
            hand();
            return difference(lazy(p->tx, p->tw, p->tb), p->y);
          },
          2e-5};
}

double seconds(const std::function<void()>& f, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) f();
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void measure(const Pair& w, int threads) {
  seconds(w.lazy, 3), seconds(w.hand, 3);
  const auto calls = [](double one) { return std::max(1, static_cast<int>(200e-6 / std::max(one, 1e-9))); };
  const int lazy_calls = calls(seconds(w.lazy, 3)), hand_calls = calls(seconds(w.hand, 3));
  std::vector<double> lazy, hand;
  for (const auto start = Clock::now();
       lazy.size() < 15 || (lazy.size() < 500 && Clock::now() - start < std::chrono::milliseconds(1500));) {
    lazy.push_back(seconds(w.lazy, lazy_calls));
    hand.push_back(seconds(w.hand, hand_calls));
  }
  const double l = median(lazy), h = median(hand);
  std::printf("%s,%s,%d,%.4g,%.4g,%.3f\n", w.name.c_str(), w.size.c_str(), threads, l * 1e6, h * 1e6, h / l);
  std::fflush(stdout);
}

/// Makes one workload after the other, so that only one's inputs are in memory.
void each(const std::regex& want, bool small, const std::function<void(const Pair&)>& f) {
  const auto one = [&](const std::string& name, auto make) {
    if (std::regex_search(name, want)) f(make());
  };
  one("overhead_chain10", overhead);
  for (const int64_t n : {1000, 10000, 100000, 1000000, 10000000, 100000000}) {
    if (small && n > 100000) break;
    one("triad", [n] { return stream(n); });
  }
  for (const int64_t n : {1000, 100000, 1000000, 10000000}) {
    if (small && n > 100000) break;
    one("fused_chain", [n] { return four("fused_chain", n, fused_chain, hand::fused_chain); });
    one("fused_chain_accurate",
        [n] { return four("fused_chain_accurate", n, fused_chain, hand::fused_chain_accurate); });
    one("arith_chain", [n] { return four("arith_chain", n, arith_chain, hand::arith_chain); });
  }
  using T = Tensor;
  using F = float;
  for (const int64_t columns : {64, 100, 256, 1000, 4096, 16384, 50257})
    for (const int64_t elements : {int64_t{1} << 16, int64_t{1} << 24}) {
      if (small && elements > 1 << 16) break;
      const auto add = [&](const char* name, auto lazy, auto by_hand) {
        one(name,
            [&] { return rows(name, std::max<int64_t>(elements / columns, 2), columns, lazy, by_hand); });
      };
      add(
          "softmax", [](const T& x, const T&, const T&) { return softmax(x); },
          [](const F* x, const F*, const F*, F* y, size_t r, size_t c) { hand::softmax(x, y, r, c); });
      add(
          "log_softmax", [](const T& x, const T&, const T&) { return log_softmax(x); },
          [](const F* x, const F*, const F*, F* y, size_t r, size_t c) { hand::log_softmax(x, y, r, c); });
      add(
          "logsumexp", [](const T& x, const T&, const T&) { return logsumexp_rows(x); },
          [](const F* x, const F*, const F*, F* y, size_t r, size_t c) { hand::logsumexp(x, y, r, c); });
      add(
          "layernorm", [](const T& x, const T& w, const T& b) { return layernorm(x, w, b); },
          hand::layernorm);
      add(
          "rmsnorm", [](const T& x, const T& w, const T&) { return rmsnorm(x, w); },
          [](const F* x, const F* w, const F*, F* y, size_t r, size_t c) { hand::rmsnorm(x, w, y, r, c); });
    }
  one("black_scholes", [&] { return options(small ? 10007 : 1000000); });
  one("mandelbrot100", [&] { return fractal(small ? 10007 : 1000000); });
}

int check() {
  int bad = 0;
  each(std::regex(".*"), true, [&](const Pair& w) {
    const double d = w.difference();
    const bool ok = d <= w.tolerance;
    std::printf("%s %s: difference %.2g (allowed %.2g)%s\n", w.name.c_str(), w.size.c_str(), d, w.tolerance,
                ok ? "" : "  FAILED");
    bad += !ok;
  });
  return bad ? 1 : 0;
}

/// Prints what both sides run on; for the library as it is set now.
int about() {
  using Asked = config::CpuIsa;
  const Asked asked = config::get().cpu_isa.get();
  const cpu_backend::Isa isa = asked == Asked::reference ? cpu_backend::Isa::reference
                               : asked == Asked::avx2    ? cpu_backend::Isa::avx2
                                                         : cpu_backend::best_isa();
  std::printf("about,lazy,its own products; %s\n", cpu_backend::name_of(isa));
  std::printf("about,hand,loops by hand; GCC %s; %s\n", __VERSION__, hand::instructions());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--check") == 0) return bench::check();
  if (argc > 1 && std::strcmp(argv[1], "--about") == 0) return bench::about();
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  lazy::config::set("LAZY_NUM_THREADS", std::to_string(threads));
  bench::hand::set_threads(threads);
  std::printf("workload,size,threads,lazy_us,hand_us,ratio\n");
  bench::each(std::regex(argc > 2 ? argv[2] : ".*"), false,
              [&](const bench::Pair& w) { bench::measure(w, threads); });
  return 0;
}
