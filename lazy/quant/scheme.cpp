#include "lazy/quant/scheme.hpp"

#include "support/error.hpp"

namespace lazy::quant {

std::string to_string(const Scheme& s) {
  std::string text = s.is_float8() ? (s.float8() == Float8::e4m3 ? "e4m3" : "e5m2")
                                   : (s.is_signed ? "int" : "uint") + std::to_string(s.bits);
  switch (s.granularity) {
    case Granularity::tensor: text += " by tensor"; break;
    case Granularity::channel: text += " by channel"; break;
    case Granularity::group: text += " by groups of " + std::to_string(s.group); break;
  }
  return s.symmetric ? text : text + ", affine";
}

void check(const char* function, const Scheme& s, const Site& site) {
  if (s.bits < 2 || s.bits > 8)
    throw Error(std::string(function) + ": " + std::to_string(s.bits) + " bits: 2 to 8 are possible", site);
  if (s.is_float8() && (s.bits != 8 || !s.is_signed || !s.symmetric))
    throw Error(std::string(function) + ": floats of 8 bits are signed and have no zero points", site);
  const int64_t least = s.packed() ? 32 : 16;
  const bool power = s.group >= least && (s.group & (s.group - 1)) == 0;
  if (s.granularity == Granularity::group && !power)
    throw Error(std::string(function) + ": groups of " + std::to_string(s.group) + ": a power of two of " +
                    std::to_string(least) + " or more is needed",
                site);
}

}  // namespace lazy::quant
