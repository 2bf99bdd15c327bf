// Measures the vector math through the interpreter of vector IR:
//    accuracy FUNCTION f32 [STEP [LIMIT]]  every STEP-th of the 2^32 inputs (1: all), up to |x| = LIMIT
//                                      functions of two arguments: 2^32 / STEP random pairs
//    accuracy FUNCTION f64 [SAMPLES]
// Reference: the C library one precision up (double for f32, x87 long double for f64). Prints the greatest
// error in units of the last place of the exact result, where it is, and any wrong special value.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backends/vector/vecmath/vecmath.hpp"
#include "backends/vector/vir_interpret.hpp"

namespace {
using namespace lazy;
using vir::Builder;
using vir::Val;

template <class R>
R exact_sigmoid(R x) {
  return 1 / (1 + std::exp(-x));
}
template <class R>
R exact_gelu(R x) {
  return std::isinf(x) && x < 0 ? -R(0) : x / 2 * std::erfc(-x / std::sqrt(R(2)));
}
template <class R>
R exact_rsqrt(R x) {
  return 1 / std::sqrt(x);
}

template <class R>
struct Entry {
  const char* name;
  Val (*one)(Builder&, Val);
  Val (*two)(Builder&, Val, Val);
  R (*exact1)(R);
  R (*exact2)(R, R);
};
template <class R>
const std::vector<Entry<R>>& entries() {
#define ONE(f)                                                           \
  {                                                                      \
#f, vecmath::f, nullptr, [](R x) -> R { return std::f(x); }, nullptr \
  }
#define FORM(form, f)                                                                    \
  {                                                                                      \
#form "." #f, vecmath::form::f, nullptr, [](R x) -> R { return std::f(x); }, nullptr \
  }
#define FORM2(form, f)                                                                           \
  {                                                                                              \
#form "." #f, nullptr, vecmath::form::f, nullptr, [](R x, R y) -> R { return std::f(x, y); } \
  }
#define TWO(f)                                                                   \
  {                                                                              \
#f, nullptr, vecmath::f, nullptr, [](R x, R y) -> R { return std::f(x, y); } \
  }
  static const std::vector<Entry<R>> all = {
      ONE(exp),
      ONE(expm1),
      ONE(log),
      ONE(log1p),
      ONE(log2),
      ONE(log10),
      ONE(sin),
      ONE(cos),
      ONE(tan),
      ONE(sinh),
      ONE(cosh),
      ONE(tanh),
      ONE(asin),
      ONE(acos),
      ONE(atan),
      ONE(asinh),
      ONE(acosh),
      ONE(atanh),
      ONE(erf),
      ONE(erfc),
      TWO(atan2),
      {"gelu", vecmath::gelu, nullptr, exact_gelu<R>, nullptr},
      TWO(pow),
      TWO(hypot),
      {"sigmoid", vecmath::sigmoid, nullptr, exact_sigmoid<R>, nullptr},
      {"rsqrt", vecmath::rsqrt, nullptr, exact_rsqrt<R>, nullptr},
      FORM(standard, exp),
      FORM(standard, expm1),
      FORM(standard, log),
      FORM(standard, log1p),
      FORM(standard, sin),
      FORM(standard, cos),
      FORM(standard, tanh),
      FORM(standard, erf),
      FORM(standard, erfc),
      FORM2(standard, pow),
      {"standard.sigmoid", vecmath::standard::sigmoid, nullptr, exact_sigmoid<R>, nullptr},
      {"standard.gelu", vecmath::standard::gelu, nullptr, exact_gelu<R>, nullptr},
      FORM(fast, exp),
      FORM(fast, log),
      FORM(fast, sin),
      FORM(fast, cos),
      FORM(fast, tanh),
      FORM(fast, erf),
      FORM2(fast, pow),
      {"fast.gelu", vecmath::fast::gelu, nullptr, exact_gelu<R>, nullptr},
      {"fast.sigmoid", vecmath::fast::sigmoid, nullptr, exact_sigmoid<R>, nullptr}};
  return all;
}

template <class F, class R>
struct Worst {
  double error = -1;
  F x{}, y{}, got{};
  R want{};
  uint64_t specials = 0, count = 0;

  void see(F x_, F y_, F got_, R want_) {
    count++;
    const F near = static_cast<F>(want_);
    double e = 0;
    if (std::isnan(near) || std::isinf(near) || near == 0) {
      bool right =
          std::isnan(near) ? std::isnan(got_) : got_ == near && std::signbit(got_) == std::signbit(near);
      if (!right && !std::isnan(near) &&
          !std::isnan(got_)) {  // next to the threshold of overflow or underflow
        const F max = std::numeric_limits<F>::max(), tiny = std::numeric_limits<F>::denorm_min();
        right = std::signbit(got_) == std::signbit(near) &&
                (std::isinf(near) ? std::isfinite(want_) && std::fabs(got_) == max
                                  : want_ != 0 && std::fabs(got_) <= tiny);
      }
      if (right) return;
      e = std::numeric_limits<double>::infinity();
      if (specials++ > 3 && error == e) return;
    } else if (std::isinf(got_) && std::fabs(near) == std::numeric_limits<F>::max()) {
      return;
    } else {
      int exponent;
      std::frexp(want_, &exponent);
      const int lowest = std::numeric_limits<F>::min_exponent;
      const int unit = (exponent < lowest ? lowest : exponent) - std::numeric_limits<F>::digits;
      e = static_cast<double>(std::fabs(std::ldexp(static_cast<R>(got_) - want_, -unit)));
      if (std::isnan(e) || (want_ == 0 ? false : std::signbit(got_) != std::signbit(want_) && got_ == 0))
        e = 1e30;
    }
    if (e > error) error = e, x = x_, y = y_, got = got_, want = want_;
  }
  void merge(const Worst& o) {
    const auto c = count + o.count, s = specials + o.specials;
    if (o.error > error) *this = o;
    count = c, specials = s;
  }
};

template <class F>
F from_bits(uint64_t bits) {
  if constexpr (sizeof(F) == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else return std::bit_cast<double>(bits);
}

// Draws random pairs that matter to pow: the result is mostly in range. Pairs for other functions have any
// bits.
template <class F>
void draw(const std::string& name, std::mt19937_64& g, F& x, F& y) {
  const bool is_pow = name.ends_with("pow");
  x = from_bits<F>(g());
  y = from_bits<F>(g());
  // Half of the single arguments lie within a few binades of 1, where results cancel.
  if (sizeof(F) == 8 && g() % 2)
    x = std::copysign(
        std::ldexp(F(0.5) + static_cast<F>(g() >> 11) * F(0x1p-54), static_cast<int>(g() % 12) - 4), x);
  if (!is_pow && name != "hypot" && name != "atan2") return;
  const int kind = static_cast<int>(g() % 8);
  if (is_pow) {
    if (kind > 1) x = std::fabs(x);
    if (kind > 3) x = std::ldexp(F(0.5) + static_cast<F>(g() >> 11) * F(0x1p-53), static_cast<int>(g() % 4));
    const F reach = (std::numeric_limits<F>::max_exponent + std::numeric_limits<F>::digits) /
                    std::fabs(std::log2(std::fabs(x)));
    if (kind) y = reach * (static_cast<F>(static_cast<int64_t>(g())) * F(0x1p-63));
    if (kind == 2) y = std::round(y);
  } else if (kind) {
    y = std::ldexp(x, static_cast<int>(g() % 40) - 20) * (1 + static_cast<F>(g() >> 11) * F(0x1p-53));
  }
}

template <class F, class R>
int measure(const std::string& name, uint64_t amount, double limit) {
  for (const Entry<R>& entry : entries<R>()) {
    if (name != entry.name) continue;
    Builder b;
    const auto type = sizeof(F) == 4 ? vir::Type::f32 : vir::Type::f64;
    const Val x = b.input(type, 0);
    const Val result = entry.one ? entry.one(b, x) : entry.two(b, x, b.input(type, 1));
    const bool all = sizeof(F) == 4 && entry.one;
    const uint64_t total = sizeof(F) == 4 ? (uint64_t{1} << 32) / amount : amount;
    const unsigned threads = 2;
    std::vector<Worst<F, R>> worst(threads);
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; t++)
      pool.emplace_back([&, t] {
        vir::Interpreter run(b.code);
        constexpr uint64_t block = 512;
        std::vector<F> xs(block), ys(block), out(block);
        std::mt19937_64 g(1234 + t);
        for (uint64_t begin = t * block; begin < total; begin += threads * block) {
          const uint64_t n = std::min(block, total - begin);
          for (uint64_t i = 0; i < n; i++) {
            if (all) xs[i] = from_bits<F>((begin + i) * amount);
            else draw(name, g, xs[i], ys[i]);
          }
          const void* in[] = {xs.data(), ys.data()};
          void* const to[] = {out.data()};
          run.run(in, n, std::span(&result, 1), to);
          for (uint64_t i = 0; i < n; i++)
            if (!(std::fabs(static_cast<double>(xs[i])) > limit))
              worst[t].see(xs[i], ys[i], out[i],
                           entry.one ? entry.exact1(static_cast<R>(xs[i]))
                                     : entry.exact2(static_cast<R>(xs[i]), static_cast<R>(ys[i])));
        }
      });
    for (auto& t : pool) t.join();
    worst[0].merge(worst[1]);
    const auto& w = worst[0];
    size_t constants = 0;
    for (const auto& i : b.code) constants += i.op == vir::Op::constant || i.op == vir::Op::input;
    std::printf(
        "%-8s %s  max %.4f ulp at %a %s%a  got %a want %La  wrong specials %llu of %llu  instructions %zu "
        "constants %zu\n",
        name.c_str(), sizeof(F) == 4 ? "f32" : "f64", w.error, static_cast<double>(w.x),
        entry.two ? ", " : "(", static_cast<double>(w.y), static_cast<double>(w.got),
        static_cast<long double>(w.want), static_cast<unsigned long long>(w.specials),
        static_cast<unsigned long long>(w.count), b.code.size() - constants, constants);
    std::fflush(stdout);
    return 0;
  }
  std::fprintf(stderr, "no function %s\n", name.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "accuracy FUNCTION f32|f64 [STEP|SAMPLES]\n"), 2;
  const bool f32 = !std::strcmp(argv[2], "f32");
  const uint64_t amount = argc > 3 ? std::strtoull(argv[3], nullptr, 0) : f32 ? 1 : 10'000'000;
  if (!amount) return 2;
  const double limit = argc > 4 ? std::strtod(argv[4], nullptr) : std::numeric_limits<double>::infinity();
  return f32 ? measure<float, double>(argv[1], amount, limit)
             : measure<double, long double>(argv[1], amount, limit);
}
