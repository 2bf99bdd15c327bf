// Tests programs that run under another floating-point environment: the same bits, on every instruction set
// and every thread, and the caller's environment is as it was.
#include <immintrin.h>

#include <boost/test/unit_test.hpp>
#include <cfenv>
#include <functional>
#include <thread>

#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "support/float_mode.hpp"
#include "tests/differential/isas.hpp"

using namespace lazy;

namespace {

constexpr uint32_t kFlags = 0x3f, kTraps = 0x1f80, kDaz = 0x40, kFtz = 0x8000, kDefault = 0x1f80;

/// Sets MXCSR for a scope, and the x87 unit's rounding and traps.
class Mode {
 public:
  explicit Mode(uint32_t mxcsr) : before_(_mm_getcsr()) {
    std::fegetenv(&whole_);
    uint16_t control;
    asm volatile("fnstcw %0" : "=m"(control));
    control = static_cast<uint16_t>((control & ~0xc3f) | (mxcsr >> 3 & 0xc00) | (mxcsr >> 7 & 0x3f));
    asm volatile("fldcw %0" ::"m"(control));
    _mm_setcsr(mxcsr);
  }
  ~Mode() {
    std::fesetenv(&whole_);
    _mm_setcsr(before_);
  }

 private:
  std::fenv_t whole_;
  uint32_t before_;
};

/// Returns modes with other rounding, flushing, traps, flags already raised.
std::vector<uint32_t> modes() {
  std::vector<uint32_t> all;
  for (uint32_t rounding = 0; rounding < 4; ++rounding)
    for (const uint32_t flush : {0u, kFtz, kDaz, kFtz | kDaz})
      all.push_back(kDefault | rounding << 13 | flush | (rounding % 2 ? kFlags : 0));
  all.push_back(kDefault & ~0xe80u);             // invalid, zero, overflow trap
  all.push_back((kDefault & ~kTraps) | 0x4000);  // everything does, rounding up
  return all;
}

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> f;
};
const std::vector<Case>& cases() {
#define LAZY_CASE(expression)                                                          \
  Case {                                                                               \
#expression, []([[maybe_unused]] const Tensor& a,                                  \
                    [[maybe_unused]] const Tensor& b) -> Tensor { return expression; } \
  }
  static const std::vector<Case> all{
      LAZY_CASE(a / b),
      LAZY_CASE(a * b + 0.1f),
      LAZY_CASE(a - b * 1e-3),
      LAZY_CASE(floor_divide(a, b)),
      LAZY_CASE(remainder(a, b)),
      LAZY_CASE(sqrt(a) + rsqrt(b)),
      LAZY_CASE(exp(a) + expm1(b)),
      LAZY_CASE(log(a) + log1p(b)),
      LAZY_CASE(log2(a) * log10(b)),
      LAZY_CASE(sin(a * 100) + cos(b * 100)),
      LAZY_CASE(tan(a * 100)),
      LAZY_CASE(tanh(a) + sinh(b)),
      LAZY_CASE(atan2(a, b) + hypot(a, b)),
      LAZY_CASE(erf(a) + erfc(b)),
      LAZY_CASE(pow(a, b * 0.1)),
      LAZY_CASE(a.astype(int32) + round(b).astype(int32)),
      LAZY_CASE(floor(a) + ceil(b) + trunc(a) + round(b)),
      LAZY_CASE(a.astype(float16).astype(float32) + b.astype(bfloat16).astype(float32)),
      LAZY_CASE(sum(a) + mean(b)),
      LAZY_CASE(prod(a * 0.1)),
      LAZY_CASE(cumsum(a, 0)),
      LAZY_CASE(var(a)),
      LAZY_CASE(a * 1e-38 * 1e-3),
      LAZY_CASE(a + (full({}, 0.1f) * 3.3f + 1.7f / full({}, 3.f))),
      LAZY_CASE(linspace(0.1, 0.7, 37) + full({37}, 1.0 / 3)),
      LAZY_CASE(max(a) * exp(b - max(b)) / sum(exp(b - max(b)))),
      LAZY_CASE(matmul(reshape(a(slice(0, 36)), {4, 9}), reshape(b(slice(0, 36)), {9, 4}))),
  };
#undef LAZY_CASE
  return all;
}

/// Returns what the caller sees, to the bit: also through a conversion.
std::string bytes_of(const Tensor& x) {
  std::string s;
  const auto add = [&](const auto& v) {
    s.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof v[0]);
  };
  add(x.astype(float64).to_vector<double>());
  add(x.to_vector<float>());
  return s;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(float_environment)

BOOST_AUTO_TEST_CASE(the_bits_are_the_same_and_the_mode_stays) {
  // The sizes fill no vector: lanes past the end have any values.
  for (int isa = 0; isa < Isas::instance().count(); ++isa) {
    Isas::instance().use(isa);
    for (const DType t : {float32, float64}) {
      const Tensor a = linspace(0.01, 20, 37, true, t).eval(), b = linspace(3, 0.5, 37, true, t).eval();
      for (const Case& c : cases()) {
        const std::string expected = bytes_of(c.f(a, b));
        for (const uint32_t mode : modes())
          for (const bool compiled : {true, false}) {
            if (!compiled && mode != modes().back()) continue;
            if (!compiled) lazy::cache::clear();  // also compiled under that mode
            std::string got;
            uint32_t after = 0;
            {
              const Mode set(mode);
              got = bytes_of(c.f(a, b));
              after = _mm_getcsr();
            }
            BOOST_TEST((got == expected), Isas::instance().name() << ", " << c.name << ", " << name_of(t)
                                                                  << ", mode " << std::hex << mode);
            BOOST_TEST(after == mode, Isas::instance().name() << ", " << c.name << ", mode " << std::hex
                                                              << mode << ": then " << after);
          }
      }
    }
  }
  Isas::instance().use(0);
}

BOOST_AUTO_TEST_CASE(flags_of_a_launch_are_not_the_callers) {
  Isas::instance().use(Isas::instance().count() - 1);
  const Tensor a = linspace(0, 1, 37).eval();
  std::feclearexcept(FE_ALL_EXCEPT);
  (void)(1 / a + log(a - 2)).to_vector<float>();
  BOOST_TEST(std::fetestexcept(FE_ALL_EXCEPT) == 0);
  std::feraiseexcept(FE_DIVBYZERO);
  (void)(1 / a + log(a - 2)).to_vector<float>();
  BOOST_TEST(std::fetestexcept(FE_ALL_EXCEPT) == FE_DIVBYZERO);
  std::feclearexcept(FE_ALL_EXCEPT);
  Isas::instance().use(0);
}

BOOST_AUTO_TEST_CASE(on_every_thread) {
  Isas::instance().use(Isas::instance().count() - 1);
  const config::Override threads("LAZY_NUM_THREADS", "4");
  const Tensor a = linspace(0.01, 20, (1 << 20) + 3).eval();
  const auto f = [&] { return bytes_of(tan(a * 100) / (a - 10)) + bytes_of(sum(exp(-a))); };
  const std::string expected = f();
  for (const uint32_t mode : {kDefault & ~0xe80u, kDefault | 0x6000u | kFtz | kDaz}) {
    const Mode set(mode);
    BOOST_TEST((f() == expected));
    std::string other;  // a thread has its creator's mode
    std::thread([&] { other = f(); }).join();
    BOOST_TEST((other == expected));
  }
  Isas::instance().use(0);
}

BOOST_AUTO_TEST_CASE(a_mode_is_put_back_when_something_is_thrown) {
  const uint32_t mode = kDefault | 0x2000u | 1;
  const Mode set(mode);
  try {
    const FloatMode inside;
    BOOST_TEST((_mm_getcsr() & ~kFlags) == kDefault);
    throw 1;
  } catch (int) {}
  BOOST_TEST(_mm_getcsr() == mode);
}

BOOST_AUTO_TEST_SUITE_END()
