#include "lazy/insight/print_float.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "lazy/core/scalar.hpp"

namespace lazy::detail {
namespace {

std::string printed(const char* form, int precision, double v) {
  char text[512];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, form, precision, v))};
}

/// Parses digits and exponent of "d.dddde+xx".
Digits parsed(std::string_view s) {
  Digits r{"", 0};
  const size_t e = s.find('e');
  for (char c : s.substr(0, e))
    if (c >= '0' && c <= '9') r.digits += c;
  r.point = std::atoi(std::string(s.substr(e + 1)).c_str()) + 1;
  while (r.digits.size() > 1 && r.digits.back() == '0') r.digits.pop_back();
  return r;
}

double rounded_to(double v, DType t) {
  return convert(convert(jit::Scalar::of(v), float64, t), t, float64).as<double>();
}

std::string sign_of(double v, char sign) { return std::signbit(v) ? "-" : sign == '+' ? "+" : ""; }

/// Returns text such as "12.5" without a sign; always with a point, perhaps without digits after it.
std::string plain(const Digits& d) {
  const int n = static_cast<int>(d.digits.size());
  if (d.digits == "0") return "0.";
  if (d.point <= 0) return "0." + std::string(static_cast<size_t>(-d.point), '0') + d.digits;
  if (d.point >= n) return d.digits + std::string(static_cast<size_t>(d.point - n), '0') + ".";
  return d.digits.substr(0, static_cast<size_t>(d.point)) + "." +
         d.digits.substr(static_cast<size_t>(d.point));
}

size_t after_point(const std::string& s) { return s.size() - s.find('.') - 1; }

/// Removes zeros at the end of the fraction, but not the point.
void trim(std::string& s) {
  while (s.back() == '0') s.pop_back();
}

/// Returns text such as "e+05", with at least `size` digits.
std::string exponent_text(int e, int size) {
  std::string digits = std::to_string(std::abs(e));
  if (static_cast<int>(digits.size()) < size)
    digits.insert(0, static_cast<size_t>(size) - digits.size(), '0');
  return std::string(e < 0 ? "e-" : "e+") + digits;
}

}  // namespace

Digits shortest(double v, DType t) {
  v = std::abs(v);
  if (v == 0) return {"0", 1};
  char text[64];
  if (t == float64 || t == float32) {
    const auto end = t == float64 ? std::to_chars(text, text + sizeof text, v, std::chars_format::scientific)
                                  : std::to_chars(text, text + sizeof text, static_cast<float>(v),
                                                  std::chars_format::scientific);
    return parsed({text, static_cast<size_t>(end.ptr - text)});
  }
  for (int digits = 0;; ++digits) {  // a 16-bit float needs at most five
    const std::string s = printed("%.*e", digits, v);
    if (digits == 8 || rounded_to(std::strtod(s.c_str(), nullptr), t) == v) return parsed(s);
  }
}

std::string scalar_text(double v, DType t, char sign) {
  if (std::isnan(v)) return "nan";
  const std::string s = sign_of(v, sign);
  if (std::isinf(v)) return s + "inf";
  const Digits d = shortest(v, t);
  const double a = std::abs(v);
  const double most = t == float64 ? 1e16 : t == float32 ? 1e6 : 1e3;
  if (a == 0 || (a >= 1e-4 && a < most)) {
    std::string r = plain(d);
    return s + (r.back() == '.' ? r + "0" : r);
  }
  std::string r = d.digits.substr(0, 1);
  if (d.digits.size() > 1) r += "." + d.digits.substr(1);
  return s + r + exponent_text(d.point - 1, 2);
}

std::string FloatFormat::scientific(double v, int least, int most) const {
  Digits d = shortest(v, dtype_);
  const int fraction = static_cast<int>(d.digits.size()) - 1;
  // Differs from the shortest digits: these are of the exact value, correctly rounded.
  std::string mantissa;
  int exponent = d.digits == "0" ? 0 : d.point - 1;
  if (fraction < least || fraction > most) {
    const std::string s = printed("%.*e", fraction < least ? least : most, std::abs(v));
    const size_t e = s.find('e');
    mantissa = s.substr(0, e);
    if (mantissa.find('.') == mantissa.npos) mantissa += '.';
    exponent = std::atoi(s.c_str() + e + 1);
    if (fraction > most && least <= 0) trim(mantissa);
  } else {
    mantissa = d.digits.substr(0, 1) + "." + d.digits.substr(1);
  }
  return sign_of(v, sign_) + mantissa + exponent_text(exponent, exponent_size_);
}

std::string FloatFormat::positional(double v, int most) const {
  std::string s = plain(shortest(v, dtype_));
  if (static_cast<int>(after_point(s)) > most) {
    s = printed("%.*f", most, std::abs(v));
    if (s.find('.') == s.npos) s += '.';
    trim(s);
  }
  return sign_of(v, sign_) + s;
}

FloatFormat::FloatFormat(const std::vector<double>& values, DType t, const PrintOptions& options)
    : dtype_(t), sign_(options.sign), precision_(options.precision) {
  double high = 0, low = HUGE_VAL;
  bool finite = false, special = false, negative = false, negative_infinity = false;
  for (double v : values) {
    if (!std::isfinite(v)) {
      special = true;
      negative_infinity = negative_infinity || (std::isinf(v) && v < 0);
      continue;
    }
    finite = true;
    negative = negative || std::signbit(v);
    if (v == 0) continue;
    high = std::max(high, std::abs(v));
    low = std::min(low, std::abs(v));
  }
  if (high > 0) {
    // NumPy compares in the array's own type. bfloat16, which it lacks, uses float16's limit, here and above.
    const double most = t == float64 ? 1e8 : t == float32 ? 1e6 : 1e3;
    const double ratio = t == float64 ? high / low : rounded_to(high / low, t);
    exponent_ = high >= most || (!options.suppress && (low < rounded_to(1e-4, t) || ratio > 1000));
  }

  size_t fraction = 0, exponent_size = 2;
  if (exponent_) {
    for (double v : values) {
      if (!std::isfinite(v)) continue;
      const std::string s = scientific(v, 0, options.precision);
      const size_t point = s.find('.'), e = s.find('e');
      left_ = std::max(left_, point);
      fraction = std::max(fraction, e - point - 1);
      exponent_size = std::max(exponent_size, s.size() - e - 2);
    }
    precision_ = static_cast<int>(fraction);
    exponent_size_ = static_cast<int>(exponent_size);
    right_ = exponent_size + 2 + fraction;
  } else if (finite) {
    for (double v : values) {
      if (!std::isfinite(v)) continue;
      const std::string s = positional(v, options.precision);
      left_ = std::max(left_, s.find('.'));
      fraction = std::max(fraction, after_point(s));
    }
    right_ = fraction;
  }
  if (sign_ == ' ' && !negative) ++left_;
  if (special) {
    const size_t offset = right_ + 1, inf = 3 + (sign_ != '-' || negative_infinity);
    left_ = std::max({left_, 3 > offset ? 3 - offset : 0, inf > offset ? inf - offset : 0});
  }
}

std::string FloatFormat::operator()(double v) const {
  if (!std::isfinite(v)) {
    const std::string s =
        std::isnan(v) ? std::string(sign_ == '+' ? "+nan" : "nan") : sign_of(v, sign_) + "inf";
    const size_t width = left_ + right_ + 1;
    return std::string(width > s.size() ? width - s.size() : 0, ' ') + s;
  }
  std::string s = exponent_ ? scientific(v, precision_, precision_) : positional(v, precision_);
  const size_t point = s.find('.');
  if (point < left_) s.insert(0, left_ - point, ' ');
  if (!exponent_) s.append(right_ - std::min(right_, after_point(s)), ' ');
  return s;
}

}  // namespace lazy::detail
