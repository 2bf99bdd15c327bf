// Compares cases of files with what they expect. A line is a case (table.hpp), a field "=", and for each
// result "TOLERANCE DTYPE SHAPE BYTES", or "error" alone. A tolerance is N[@S][z]: floats may differ by N
// units of the last place of what is expected or of S, whichever is larger; z: a zero may have any sign.
#include <cmath>
#include <complex>
#include <cstring>
#include <fstream>
#include <iostream>

#include "lazy/core/scalar.hpp"
#include "tests/oracle/table.hpp"

namespace oracle {
namespace {

struct Tolerance {
  double ulps = 0, scale = 0;
  bool any_zero = false;
};

Tolerance tolerance_of(std::string_view s) {
  Tolerance t;
  if (s.ends_with('z')) t.any_zero = true, s.remove_suffix(1);
  const auto parts = split_text(s, '@');
  t.ulps = std::strtod(std::string(parts[0]).c_str(), nullptr);
  if (parts.size() > 1) t.scale = std::strtod(std::string(parts[1]).c_str(), nullptr);
  return t;
}

/// Returns the distance of neighbours of a dtype at a magnitude.
double spacing(double magnitude, DType t) {
  const int digits = traits_of(t).mantissa;
  const int least = t == float16 ? -14 : t == float64 ? -1022 : -126;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return std::ldexp(1.0, std::max(exponent - 1, least) - digits + 1);
}

bool close(double got, double want, DType t, const Tolerance& tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (want == 0 && got == 0) return tolerance.any_zero || std::signbit(want) == std::signbit(got);
  if (got == want) return true;
  if (!std::isfinite(want) || !std::isfinite(got)) return false;
  return std::abs(got - want) <= tolerance.ulps * spacing(std::max(std::abs(want), tolerance.scale), t);
}

/// Compares complex numbers as a whole: by the distance, in units of the last place of the modulus, and by
/// parts where one is not finite.
bool close(const std::complex<double>& got, const std::complex<double>& want, DType t,
           const Tolerance& tolerance) {
  const Tolerance parts{0, 0, true};
  if (close(got.real(), want.real(), t, parts) && close(got.imag(), want.imag(), t, parts)) return true;
  if (!std::isfinite(std::abs(want)) || !std::isfinite(std::abs(got))) return false;
  return std::abs(got - want) <= tolerance.ulps * spacing(std::max(std::abs(want), tolerance.scale), t);
}

double element(const std::string& bytes, size_t i, DType t) {
  return detail::with_type(t, [&](auto zero) {
    decltype(zero) v;
    std::memcpy(&v, bytes.data() + i * sizeof v, sizeof v);
    if constexpr (detail::is_half_type<decltype(v)>) return static_cast<double>(static_cast<float>(v));
    else return static_cast<double>(v);
  });
}

std::string bytes_of(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  return bytes;
}

/// Returns what is wrong with a result; empty if nothing.
std::string difference(std::string_view got, std::string_view want) {
  const auto w = split_text(want, ' '), g = split_text(got, ' ');
  if (w.size() < 3 || g.size() < 2 || g[0] != w[1]) return "another dtype";
  if (g[1] != w[2]) return "another shape";
  const std::string_view got_hex = g.size() > 2 ? g[2] : "", want_hex = w.size() > 3 ? w[3] : "";
  if (got_hex == want_hex) return "";
  const DType t = dtype_named(w[1]);
  if (!(is_float(t) || is_complex(t)) || got_hex.size() != want_hex.size()) return "other values";
  const Tolerance tolerance = tolerance_of(w[0]);
  const std::string a = bytes_of(got_hex), b = bytes_of(want_hex);
  const DType part = plane_type(t);
  for (size_t i = 0; is_complex(t) && i < a.size() / size_of(t); ++i) {
    const auto number = [&](const std::string& bytes) {
      return std::complex<double>(element(bytes, 2 * i, part), element(bytes, 2 * i + 1, part));
    };
    if (!close(number(a), number(b), part, tolerance))
      return "element " + std::to_string(i) + " is at a distance of " +
             std::to_string(std::abs(number(a) - number(b)));
  }
  if (is_complex(t)) return "";
  for (size_t i = 0; i < a.size() / size_of(t); ++i) {
    const double x = element(a, i, t), y = element(b, i, t);
    if (!close(x, y, t, tolerance))
      return "element " + std::to_string(i) + " is " + std::to_string(x) + ", not " + std::to_string(y);
  }
  return "";
}

std::string difference_of_case(std::string_view line) {
  const size_t at = line.find("\t=\t");
  if (at == line.npos) throw BadCase("nothing is expected");
  const std::string result = result_of(line.substr(0, at));
  const auto want = split_text(line.substr(at + 3), '\t'), got = split_text(result, '\t');
  if (want[0] == "error") return got[0] == "error" ? "" : "no error";
  if (got[0] == "error") return result;
  if (got.size() != want.size() + 1) return "another number of results";
  for (size_t i = 0; i < want.size(); ++i)
    if (const std::string d = difference(got[i + 1], want[i]); !d.empty())
      return "result " + std::to_string(i) + ": " + d + "\n  it gave: " + result.substr(0, 600);
  return "";
}

}  // namespace

int check(const std::string& file) {
  std::ifstream in(file);
  int wrong = 0, cases = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++cases;
    const std::string d = difference_of_case(line);
    if (d.empty()) continue;
    if (++wrong <= 20) std::cerr << "wrong: " << d << "\n  " << line.substr(0, 1000) << '\n';
  }
  std::cerr << file << ": " << cases << " cases, " << wrong << " wrong\n";
  if (!cases) throw BadCase("no cases in " + file);
  return wrong;
}

}  // namespace oracle
