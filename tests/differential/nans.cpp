// Tests NaNs of elementary functions: which results, and with what sign and payload.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <functional>
#include <limits>

#include "lazy/lazy.hpp"
#include "tests/differential/isas.hpp"

using namespace lazy;

namespace {

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
  bool as_reference;  // to the bit; if false any NaN is right
};
const std::vector<Case>& cases() {
#define LAZY_CASE(name, as_reference)                            \
  Case {                                                         \
#name, [](const Tensor& a) { return name(a); }, as_reference \
  }
  static const std::vector<Case> all{
      LAZY_CASE(sqrt, true), LAZY_CASE(rsqrt, true), LAZY_CASE(exp, true),     LAZY_CASE(expm1, true),
      LAZY_CASE(log, true),  LAZY_CASE(log1p, true), LAZY_CASE(log2, true),    LAZY_CASE(log10, true),
      LAZY_CASE(sin, false), LAZY_CASE(cos, false),  LAZY_CASE(tan, true),     LAZY_CASE(sinh, true),
      LAZY_CASE(cosh, true), LAZY_CASE(tanh, true),  LAZY_CASE(asin, true),    LAZY_CASE(acos, true),
      LAZY_CASE(atan, true), LAZY_CASE(asinh, true), LAZY_CASE(acosh, true),   LAZY_CASE(atanh, true),
      LAZY_CASE(erf, true),  LAZY_CASE(erfc, true),  LAZY_CASE(sigmoid, true),
  };
#undef LAZY_CASE
  return all;
}

template <class T, class Bits>
void compare() {
  constexpr int kTop = sizeof(T) * 8 - 1;
  constexpr Bits quiet = sizeof(T) == 4 ? Bits{0x7fc00000} : static_cast<Bits>(0x7ff8000000000000ull);
  const auto of = [](Bits b) {
    T v;
    std::memcpy(&v, &b, sizeof v);
    return v;
  };
  constexpr T inf = std::numeric_limits<T>::infinity();
  std::vector<T> in{of(quiet),
                    of(quiet | Bits{1} << kTop),
                    of(quiet | 123),
                    of(quiet | Bits{1} << kTop | 456),
                    -inf,
                    inf,
                    T(-1e30),
                    T(1e30),
                    -7,
                    -2,
                    T(-1.5),
                    T(-0.5),
                    T(-1e-40),
                    T(-0.0),
                    0,
                    T(0.5),
                    T(1.5),
                    3};
  const Tensor x = from_blob(in.data(), {static_cast<int64_t>(in.size())}).copy().eval();
  const auto bits_of = [&](const Case& c, int isa) {
    Isas::instance().use(isa);
    const auto v = c.f(x).template to_vector<T>();
    std::vector<Bits> bits(v.size());
    std::memcpy(bits.data(), v.data(), v.size() * sizeof(T));
    return bits;
  };
  const int isas = Isas::instance().count();
  for (const Case& c : cases()) {
    const auto reference = bits_of(c, 0);
    std::vector<std::vector<Bits>> all;
    for (int isa = 1; isa < isas; ++isa) all.push_back(bits_of(c, isa));
    for (size_t i = 0; i < in.size(); ++i)
      for (size_t k = 0; k < all.size(); ++k) {
        const T wanted = of(reference[i]), got = of(all[k][i]);
        BOOST_TEST((wanted != wanted) == (got != got), c.name << "(" << in[i] << ")");
        if (got == got) continue;
        BOOST_TEST(all[k][i] == all[0][i], c.name << "(" << in[i] << "): instruction sets differ");
        if (c.as_reference)
          BOOST_TEST(all[k][i] == reference[i], c.name << "(" << in[i] << "): " << std::hex << all[k][i]
                                                       << ", the reference " << reference[i]);
      }
  }
  Isas::instance().use(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(nans)

BOOST_AUTO_TEST_CASE(of_float32) { compare<float, uint32_t>(); }
BOOST_AUTO_TEST_CASE(of_float64) { compare<double, uint64_t>(); }

BOOST_AUTO_TEST_SUITE_END()
