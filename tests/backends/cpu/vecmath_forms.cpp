// Compares the less accurate forms of elementary functions with MPFR on random inputs, within the bounds of
// the table in docs/math.md; checks what they give for NaN, infinities and zeros, and that ops.def, forms.def
// and that table tell of the same forms. (All float32 inputs: tools/accuracy.cpp.)
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "backends/vector/vecmath/forms.hpp"
#include "backends/vector/vir_interpret.hpp"

using namespace lazy;
using jit::Accuracy;
using jit::Op;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// Holds one form, and the bound that the table of docs/math.md has for it.
struct FormRow {
  Op op;
  Accuracy accuracy;
  double bound = -1;  // -1: the table has no such row
  bool of_x = false;  // the bound is of the error against |x|, in units of 2^-24; else of ulp
  double each = 0;    // of powers: what each unit of |y log2 x| adds to the bound
};

std::vector<FormRow> forms() {
  std::vector<FormRow> all = {
#define LAZY_FORM(op, form, recipe) FormRow{Op::op, Accuracy::form},
#define LAZY_FORM2(op, form, recipe) LAZY_FORM(op, form, recipe)
#include "backends/vector/vecmath/forms.def"
  };
  std::ifstream page(LAZY_SOURCE_DIR "/docs/math.md");
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string bar, name, form, unit;
    double bound = 0;
    if (!(words >> bar >> name >> bar >> form >> bar >> bound >> unit)) continue;
    for (FormRow& f : all)
      if (name == jit::name_of(f.op) && form == (f.accuracy == Accuracy::fast ? "fast" : "standard"))
        if (f.bound = bound, f.of_x = unit != "ulp"; unit == "ulp" && words >> bar) words >> f.each;
  }
  return all;
}
bool is_of_pairs(const FormRow& f) { return jit::row_of(f.op).arity == 2; }
std::vector<FormRow> forms_of_one() {
  std::vector<FormRow> all = forms();
  std::erase_if(all, is_of_pairs);
  return all;
}
/// True where a form promises nothing but a number in [-1, 1].
bool beyond_limit(const FormRow& f, float x) {
  return f.accuracy == Accuracy::fast && (f.op == Op::sin || f.op == Op::cos) && std::fabs(x) > 1e5f;
}

std::string name_of(const FormRow& f) { return std::string(jit::name_of(f.op)) + jit::suffix_of(f.accuracy); }

std::vector<float> evaluate(const FormRow& f, const std::vector<float>& x, const std::vector<float>& y = {}) {
  vir::Builder b;
  const vir::Val first = b.input(vir::Type::f32, 0);
  const vir::Val result = is_of_pairs(f)
                              ? vecmath::binary(f.op, f.accuracy)(b, first, b.input(vir::Type::f32, 1))
                              : vecmath::unary(f.op, f.accuracy)(b, first);
  std::vector<float> out(x.size());
  const void* inputs[] = {x.data(), y.data()};
  void* const to[] = {out.data()};
  vir::Interpreter(b.code).run(inputs, x.size(), std::span(&result, 1), to);
  return out;
}

/// Sets r to the exact value.
void exact(Op op, mpfr_t r, const mpfr_t x) {
  switch (op) {
    case Op::exp: mpfr_exp(r, x, MPFR_RNDN); return;
    case Op::expm1: mpfr_expm1(r, x, MPFR_RNDN); return;
    case Op::log: mpfr_log(r, x, MPFR_RNDN); return;
    case Op::log1p: mpfr_log1p(r, x, MPFR_RNDN); return;
    case Op::sin: mpfr_sin(r, x, MPFR_RNDN); return;
    case Op::cos: mpfr_cos(r, x, MPFR_RNDN); return;
    case Op::tanh: mpfr_tanh(r, x, MPFR_RNDN); return;
    case Op::erf: mpfr_erf(r, x, MPFR_RNDN); return;
    case Op::erfc: mpfr_erfc(r, x, MPFR_RNDN); return;
    case Op::sigmoid:
      mpfr_neg(r, x, MPFR_RNDN);
      mpfr_exp(r, r, MPFR_RNDN);
      mpfr_add_ui(r, r, 1, MPFR_RNDN);
      mpfr_ui_div(r, 1, r, MPFR_RNDN);
      return;
    case Op::gelu:
      mpfr_sqrt_ui(r, 2, MPFR_RNDN);
      mpfr_div(r, x, r, MPFR_RNDN);
      mpfr_neg(r, r, MPFR_RNDN);
      mpfr_erfc(r, r, MPFR_RNDN);
      mpfr_mul(r, r, x, MPFR_RNDN);
      mpfr_div_2ui(r, r, 1, MPFR_RNDN);
      return;
    default: BOOST_FAIL("no exact value of " << jit::name_of(op));
  }
}

class Measurement {
 public:
  Measurement() { mpfr_inits2(200, x_, r_, static_cast<mpfr_ptr>(nullptr)); }
  Measurement(const Measurement&) = delete;
  ~Measurement() { mpfr_clears(x_, r_, static_cast<mpfr_ptr>(nullptr)); }

  /// Returns the error in the form's unit; what is below the smallest normal number may be 0.
  double error(const FormRow& f, float x, float got) {
    mpfr_set_flt(x_, x, MPFR_RNDN);
    exact(f.op, r_, x_);
    return distance(f, x, got);
  }
  /// Returns the error of x^y in ulp.
  double error_of_power(const FormRow& f, float x, float y, float got) {
    mpfr_set_flt(x_, x, MPFR_RNDN);
    mpfr_set_flt(r_, y, MPFR_RNDN);
    mpfr_pow(r_, x_, r_, MPFR_RNDN);
    return distance(f, x, got);
  }

 private:
  double distance(const FormRow& f, float x, float got) {
    const float nearest = mpfr_get_flt(r_, MPFR_RNDN);
    if (std::isnan(nearest) && std::isnan(got)) return 0;
    if (std::isinf(nearest) || std::isinf(got) || std::isnan(got))
      return got == nearest || (std::isinf(nearest) && got == std::copysign(kLargest, nearest)) ? 0 : kInf;
    const long exponent = mpfr_zero_p(r_) ? -1000 : mpfr_get_exp(r_);
    mpfr_set_flt(x_, got, MPFR_RNDN);
    mpfr_sub(r_, r_, x_, MPFR_RNDN);
    const double off = std::fabs(mpfr_get_d(r_, MPFR_RNDN));
    if (off < 0x1p-126) return 0;
    if (f.of_x) return off / (std::fabs(static_cast<double>(x)) * 0x1p-24);
    return std::ldexp(off, static_cast<int>(24 - std::max(exponent, -125L)));
  }

  static constexpr float kLargest = std::numeric_limits<float>::max();
  mpfr_t x_, r_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(vecmath_forms)

BOOST_AUTO_TEST_CASE(each_is_within_its_bound) {
  const auto seed = uint64_t{20240607};
  Measurement m;
  for (const FormRow& f : forms()) {
    BOOST_REQUIRE_MESSAGE(f.bound > 0, name_of(f) << " is not in the table of docs/math.md");
    if (is_of_pairs(f)) continue;
    std::mt19937_64 g(seed);
    std::vector<float> x;
    for (int i = 0; i < 30000; ++i) {
      const double unit = static_cast<double>(g() >> 11) * 0x1p-53;
      if (i % 4 == 0) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(g())));
      else if (i % 4 == 1)
        x.push_back(static_cast<float>((unit - 0.5) * std::ldexp(4.0, -static_cast<int>(g() % 30))));
      else if (i % 4 == 2) x.push_back(static_cast<float>(20 * unit - 10));
      else x.push_back(static_cast<float>(180 * unit - 90));
    }
    std::erase_if(x, [&](float v) { return !std::isfinite(v) || beyond_limit(f, v); });
    const std::vector<float> y = evaluate(f, x);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (const double e = m.error(f, x[i], y[i]); e > worst) worst = e, at = i;
    BOOST_CHECK_MESSAGE(worst <= f.bound, name_of(f) << ": " << worst << " at " << std::hexfloat << x[at]
                                                     << " gives " << y[at] << " (seed " << seed << ")");
    BOOST_CHECK_MESSAGE(worst > 0.45, name_of(f) << ": a measurement that finds no error finds nothing");
  }
}

BOOST_AUTO_TEST_CASE(powers_are_within_their_bounds) {
  const auto seed = uint64_t{20261123};
  Measurement m;
  for (const FormRow& f : forms()) {
    if (!is_of_pairs(f)) continue;
    BOOST_REQUIRE_MESSAGE(f.each > 0, name_of(f) << ": the table has no part for each unit of |y log2 x|");
    std::mt19937_64 g(seed);
    std::vector<float> x, y;
    for (int i = 0; i < 60000; ++i) {
      const double unit = static_cast<double>(g() >> 11) * 0x1p-53;
      x.push_back(static_cast<float>(i % 2 ? std::exp2(250 * unit - 125) : 0.4 + 2 * unit));
      const double reach = (i % 3 ? 125 : 10) / std::max(1e-3, std::fabs(std::log2(double{x.back()})));
      y.push_back(static_cast<float>(reach * (static_cast<double>(g() >> 11) * 0x1p-52 - 1)));
    }
    const std::vector<float> z = evaluate(f, x, y);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = m.error_of_power(f, x[i], y[i], z[i]);
      const double bound = f.bound + f.each * std::fabs(y[i] * std::log2(double{x[i]}));
      BOOST_REQUIRE_MESSAGE(e <= bound, name_of(f) << "(" << std::hexfloat << x[i] << ", " << y[i]
                                                   << ") = " << z[i] << ": " << std::defaultfloat << e
                                                   << " ulp (seed " << seed << ")");
      worst = std::max(worst, e / bound);
    }
    BOOST_CHECK_MESSAGE(worst > 0.2, name_of(f) << ": a measurement that finds no error finds nothing");
  }
}

BOOST_AUTO_TEST_CASE(special_pairs) {
  std::vector<float> x, y;
  const float values[] = {0,  -0.f, 1,     -1,   2,     -2,   3,         -3,         0.5f,  -0.5f,
                          -7, 2.5f, -2.5f, kInf, -kInf, kNan, 0x1p-149f, -0x1p-149f, 1e30f, -1e30f};
  for (const float a : values)
    for (const float b : values) x.push_back(a), y.push_back(b);
  for (const FormRow& f : forms()) {
    if (!is_of_pairs(f)) continue;
    const std::vector<float> z = evaluate(f, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = std::pow(x[i], y[i]);
      const bool tiny = std::fabs(want) < 0x1p-126f && std::fabs(z[i]) < 0x1p-126f;
      const bool right = std::isnan(want) ? std::isnan(z[i])
                         : std::isinf(want) || want == 0 || want == 1
                             ? z[i] == want
                             : tiny || std::fabs(z[i] - want) <= 1e-4f * std::fabs(want);
      BOOST_CHECK_MESSAGE(right && (std::isnan(want) || std::signbit(want) == std::signbit(z[i])),
                          name_of(f) << "(" << x[i] << ", " << y[i] << ") = " << z[i] << ", not " << want);
    }
  }
}

BOOST_AUTO_TEST_CASE(beyond_their_limits_sines_stay_within_one) {
  std::vector<float> x;
  for (uint32_t bits = std::bit_cast<uint32_t>(9e4f); bits < std::bit_cast<uint32_t>(kInf); bits += 9973)
    x.push_back(std::bit_cast<float>(bits));
  for (const FormRow& f : forms_of_one()) {
    if (f.accuracy != Accuracy::fast || (f.op != Op::sin && f.op != Op::cos)) continue;
    for (const float y : evaluate(f, x)) BOOST_REQUIRE_MESSAGE(std::fabs(y) <= 1, name_of(f) << ": " << y);
  }
}

BOOST_AUTO_TEST_CASE(special_values) {
  const struct {
    Op op;
    float x, want;
  } specials[] = {{Op::exp, kInf, kInf},    {Op::exp, -kInf, 0},     {Op::exp, 0, 1},
                  {Op::exp, -0.f, 1},       {Op::expm1, kInf, kInf}, {Op::expm1, -kInf, -1},
                  {Op::expm1, -0.f, -0.f},  {Op::expm1, 0, 0},       {Op::expm1, 89, kInf},
                  {Op::expm1, -100, -1},    {Op::log, 0, -kInf},     {Op::log, -0.f, -kInf},
                  {Op::log, 1, 0},          {Op::log, kInf, kInf},   {Op::log, -1, kNan},
                  {Op::log, -kInf, kNan},   {Op::log1p, -0.f, -0.f}, {Op::log1p, 0, 0},
                  {Op::log1p, -1, -kInf},   {Op::log1p, kInf, kInf}, {Op::log1p, -2, kNan},
                  {Op::log1p, -kInf, kNan}, {Op::erfc, kInf, 0},     {Op::erfc, -kInf, 2},
                  {Op::erfc, 20, 0},        {Op::erfc, -20, 2},      {Op::log1p, 0x1p-149f, 0x1p-149f},
                  {Op::exp, 89, kInf},      {Op::exp, -120, 0},      {Op::sin, kInf, kNan},
                  {Op::sin, -0.f, -0.f},    {Op::cos, -kInf, kNan},  {Op::cos, 0, 1},
                  {Op::tanh, kInf, 1},      {Op::tanh, -kInf, -1},   {Op::tanh, 20, 1},
                  {Op::tanh, -0.f, -0.f},   {Op::erf, kInf, 1},      {Op::erf, -kInf, -1},
                  {Op::erf, -5, -1},        {Op::erf, -0.f, -0.f},   {Op::sigmoid, kInf, 1},
                  {Op::sigmoid, -kInf, 0},  {Op::sigmoid, 0, 0.5f},  {Op::sigmoid, 40, 1},
                  {Op::gelu, kInf, kInf},   {Op::gelu, -kInf, -0.f}, {Op::gelu, -100, -0.f},
                  {Op::gelu, 100, 100},     {Op::gelu, 0, 0},        {Op::gelu, -0.f, -0.f}};
  for (const FormRow& f : forms_of_one()) {
    for (const float nan : {kNan, -kNan, std::numeric_limits<float>::signaling_NaN()})
      BOOST_CHECK_MESSAGE(std::isnan(evaluate(f, {nan})[0]), name_of(f) << "(NaN)");
    for (const auto& s : specials) {
      if (s.op != f.op) continue;
      const float got = evaluate(f, {s.x})[0];
      const bool right = std::isnan(s.want) ? std::isnan(got)
                                            : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(s.want);
      BOOST_CHECK_MESSAGE(right, name_of(f) << "(" << s.x << ") = " << got);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_saturates_stays_within_one) {
  for (const FormRow& f : forms()) {
    if (f.op != Op::tanh && f.op != Op::erf && f.op != Op::sigmoid) continue;
    std::vector<float> x;
    for (uint32_t bits = std::bit_cast<uint32_t>(1.0f); bits < std::bit_cast<uint32_t>(128.0f); bits += 37)
      x.push_back(std::bit_cast<float>(bits));
    const std::vector<float> y = evaluate(f, x);
    BOOST_CHECK_MESSAGE(*std::max_element(y.begin(), y.end()) == 1, name_of(f));
    for (float& v : x) v = -v;
    const std::vector<float> z = evaluate(f, x);
    BOOST_CHECK_MESSAGE(*std::min_element(z.begin(), z.end()) == (f.op == Op::sigmoid ? 0 : -1), name_of(f));
  }
}

BOOST_AUTO_TEST_CASE(rows_of_ops_tell_which_there_are) {
  for (int i = 0; i < jit::kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    for (const Accuracy a : {Accuracy::standard, Accuracy::fast}) {
      const bool has = jit::form_of(op, DType::float32, a) == a;
      BOOST_CHECK_MESSAGE((vecmath::unary(op, a) || vecmath::binary(op, a)) == has, jit::name_of(op)
                                                                                        << jit::suffix_of(a));
      BOOST_CHECK((jit::form_of(op, DType::float64, a) == Accuracy::full));
      BOOST_CHECK((jit::form_of(op, DType::int32, a) == Accuracy::full));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
