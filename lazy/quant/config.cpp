#include "lazy/quant/config.hpp"

#include "support/error.hpp"

namespace lazy::quant {

void check(const char* function, const Config& c, const Site& s) {
  check(function, c.weights, s);
  check(function, c.activation_scheme, s);
  const auto fail = [&](const std::string& why) { throw Error(std::string(function) + ": " + why, s); };
  const bool rounds = c.activations != Activations::none, affine = !c.activation_scheme.symmetric;
  if (!(c.balance >= 0 && c.balance <= 1))
    fail("a balance of " + std::to_string(c.balance) + " is not from 0 to 1");
  if (c.balance > 0 && c.activations == Activations::fixed && (c.range != Range::min_max || affine))
    fail("balanced activations are fixed by Range::min_max, without zero points");
  if (c.weights.is_float8() && (rounds || c.rounding != Rounding::nearest))
    fail("floats of 8 bits are rounded to the nearest, and multiply activations as they are");
  if (c.activation_scheme.is_float8()) fail("activations are rounded to integers");
  if (rounds && affine && c.weights.granularity == Granularity::group)
    fail("activations beside weights by groups have no zero points");
  if (c.learned_steps && (!c.weights.symmetric || affine || c.weights.is_float8() || c.balance > 0 ||
                          c.rounding != Rounding::nearest))
    fail("learned steps are those of symmetric integers, rounded to the nearest and without balance");
}

Config int8_weights() { return {}; }
Config float8_weights(Float8 format) {
  return {.weights = {.format = format == Float8::e4m3 ? Format::e4m3 : Format::e5m2}};
}
Config int4_weights(int64_t group) {
  return {.weights = {.bits = 4,
                      .is_signed = false,
                      .symmetric = false,
                      .granularity = Granularity::group,
                      .group = group}};
}
Config int4_dynamic(int64_t group) {
  Config c = int4_weights(group);
  c.activations = Activations::dynamic;
  return c;
}
Config int8_dynamic() { return {.activations = Activations::dynamic}; }
Config int8_fixed() { return {.activations = Activations::fixed}; }

std::string to_string(const Config& c) {
  constexpr const char* kNames[] = {"", ", dynamic activations", ", fixed activations"};
  return to_string(c.weights) + kNames[static_cast<size_t>(c.activations)];
}

}  // namespace lazy::quant
