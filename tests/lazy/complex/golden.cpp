// Compares complex numbers with NumPy's results in tests/golden/complex.txt (tests/golden/make_complex.py).
#include <cmath>
#include <complex>
#include <fstream>
#include <functional>
#include <map>

#include "tests/common/check.hpp"
#include "tests/common/golden_complex.hpp"

using namespace lazy;
using golden::words;

namespace {

using C = std::complex<double>;

using Value = golden::ComplexValue;
using golden::complex_value;

Tensor tensor_of(const Value& v) { return from_span(v.elements, v.shape).astype(v.dtype); }

using In = const std::vector<Tensor>&;
using Function = std::function<Tensor(In)>;

#define ONE(name)                                \
  {                                              \
#name, [](In x) { return lazy::name(x[0]); } \
  }
#define TWO(name)                                      \
  {                                                    \
#name, [](In x) { return lazy::name(x[0], x[1]); } \
  }
#define ALONG(name)                                        \
  {#name "0", [](In x) { return lazy::name(x[0], 0); }}, { \
#name "1", [](In x) { return lazy::name(x[0], 1); }    \
  }

const std::map<std::string, Function> kFunctions = {
    ONE(exp),
    ONE(expm1),
    ONE(log),
    ONE(log1p),
    ONE(log2),
    ONE(log10),
    ONE(sqrt),
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
    ONE(negative),
    ONE(abs),
    ONE(sign),
    ONE(square),
    ONE(reciprocal),
    ONE(isnan),
    ONE(isinf),
    ONE(isfinite),
    ONE(conj),
    ONE(angle),
    ONE(real),
    ONE(imag),
    TWO(add),
    TWO(subtract),
    TWO(multiply),
    TWO(divide),
    {"power", [](In x) { return pow(x[0], x[1]); }},
    TWO(equal),
    TWO(not_equal),
    ALONG(sum),
    ALONG(prod),
    ALONG(mean),
    ALONG(var),
    ALONG(std),
    ALONG(cumsum),
    ALONG(cumprod),
    {"norm0", [](In x) { return norm(x[0], 2, 0); }},
    {"norm1", [](In x) { return norm(x[0], 2, 1); }},
    TWO(matmul),
    TWO(vdot),
    TWO(vecdot),
    {"einsum",
     [](In x) {
       return einsum("ij,jk->ki", {x[0], x[1]});
     }},
    TWO(outer),
    {"cov", [](In x) { return cov(x[0], 1); }},
    ONE(nansum),
    ONE(trace),
    ONE(tril),
    ONE(transpose),
    {"flip", [](In x) { return flip(x[0], 0); }},
    {"take",
     [](In x) {
       return take(x[0], tensor({2, 0, 0, -1}), 0);
     }},
    {"concat",
     [](In x) {
       return concat({x[0], x[1]}, 0);
     }},
    {"where", [](In x) { return where(real(x[0]) > 0, x[0], x[1]); }},
    TWO(kron),
    ONE(diff)};

bool is_near(double got, double want, double scale, double eps) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || !std::isfinite(got)) return got == want;
  return std::abs(got - want) <= eps * scale;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(complex_golden)

BOOST_AUTO_TEST_CASE(numpy) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/complex.txt");
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const std::vector<std::string> fields = golden::fields(line);
    const auto f = kFunctions.find(fields[0]);
    BOOST_REQUIRE_MESSAGE(f != kFunctions.end(), fields[0]);
    std::vector<Tensor> operands;
    std::vector<Value> given;
    for (size_t i = 1; i + 1 < fields.size(); ++i) {
      given.push_back(complex_value(fields[i]));
      operands.push_back(tensor_of(given.back()));
    }
    const Value want = complex_value(fields.back());
    const Tensor y = f->second(operands);
    BOOST_TEST(y.dtype() == want.dtype, fields[0] << " is of " << name_of(y.dtype()));
    BOOST_TEST((y.shape() == want.shape), fields[0] << " is of " << to_string(y.shape()));
    if (!(y.shape() == want.shape)) continue;
    const std::vector<C> got = y.astype(is_complex(y.dtype()) ? y.dtype() : complex128).to_vector<C>();
    // Sums are as accurate as their largest terms.
    double largest = 0;
    for (const C& v : want.elements)
      if (std::isfinite(std::abs(v))) largest = std::max(largest, std::abs(v));
    const bool sums = std::isdigit(fields[0].back()) || want.elements.size() != given[0].elements.size();
    const double eps = (given[0].dtype == complex64 ? 0x1p-24 : 0x1p-53) * 32;
    for (size_t i = 0; i < got.size(); ++i) {
      const C w = want.elements[i];
      const double size = std::isfinite(std::abs(w))
                              ? std::abs(w)
                              : std::max(std::isfinite(w.real()) ? std::abs(w.real()) : 0,
                                         std::isfinite(w.imag()) ? std::abs(w.imag()) : 0);
      const double scale = sums ? largest : size;
      BOOST_TEST(
          (is_near(got[i].real(), w.real(), scale, eps) && is_near(got[i].imag(), w.imag(), scale, eps)),
          fields[0] << " of " << (given[0].elements.size() == got.size() ? given[0].elements[i] : C())
                    << " is " << got[i] << ", not " << w);
    }
  }
  BOOST_TEST(count > 100);
}

BOOST_AUTO_TEST_SUITE_END()
