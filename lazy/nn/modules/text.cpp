#include "lazy/nn/modules/text.hpp"

#include <charconv>
#include <cmath>

namespace lazy::nn::detail {

std::string text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  const double size = std::abs(v);
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);  // as Python decides
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v,
                                 scientific ? std::chars_format::scientific : std::chars_format::fixed)
                       .ptr;
  std::string r(buffer, end);
  if (!scientific && r.find('.') == r.npos) r += ".0";
  return r;
}

std::string text(const Dims& v) {
  std::string r = "(";
  for (int i = 0; i < v.size(); ++i) r += (i ? ", " : "") + std::to_string(v[i]);
  return r + (v.size() == 1 ? ",)" : ")");
}

std::string text_of_each(const Dims& v) { return v.size() == 1 ? std::to_string(v[0]) : text(v); }

std::string text(PadMode m) {
  constexpr const char* kNames[] = {"zeros", "reflect", "replicate", "circular"};
  return kNames[static_cast<int>(m)];
}

}  // namespace lazy::nn::detail
