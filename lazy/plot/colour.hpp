// Names the colours of pictures.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

namespace lazy::plot {

struct Colour {
  uint8_t red, green, blue;
  friend bool operator==(const Colour&, const Colour&) = default;
};

/// Names colours for numbers from 0 to 1. viridis: dark violet to yellow, equally bright steps (van der Walt
/// and Smith, 2015). blues: white to dark blue, for counts. coolwarm: blue, grey, red, for signed numbers
/// (Moreland, 2009). grey: black to white.
enum class ColourMap : uint8_t { viridis, blues, coolwarm, grey };

namespace detail {

// Differ for people who do not tell red from green (Okabe and Ito, 2008).
inline constexpr Colour kSeries[] = {{0, 114, 178},   {213, 94, 0},  {0, 158, 115},
                                     {204, 121, 167}, {230, 159, 0}, {86, 180, 233}};

struct Theme {
  Colour background, ink, grid;
};
inline constexpr Theme kLight{{255, 255, 255}, {60, 60, 60}, {225, 225, 225}};
inline constexpr Theme kDark{{22, 24, 29}, {214, 216, 222}, {52, 56, 64}};

inline Colour mixed(Colour a, Colour b, double share) {
  const auto mix = [&](uint8_t x, uint8_t y) { return static_cast<uint8_t>(x + (y - x) * share + 0.5); };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}
/// Returns the byte of a share from 0 to 1; below 0 and above 1 that of the end, of NaN the middle.
inline uint8_t byte_of(float v) {
  return static_cast<uint8_t>(std::clamp(v != v ? 0.5f : v, 0.0f, 1.0f) * 255 + 0.5f);
}
/// Returns the colour of a number; below 0 and above 1 that of the end, of NaN a middle grey.
inline Colour colour_of(ColourMap map, double v) {
  static constexpr Colour kViridis[] = {{68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142},
                                        {38, 130, 142}, {31, 158, 137}, {53, 183, 121}, {110, 206, 88},
                                        {181, 222, 43}, {253, 231, 37}};
  static constexpr Colour kBlues[] = {
      {247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}};
  static constexpr Colour kCoolWarm[] = {
      {59, 76, 192}, {141, 176, 254}, {221, 221, 221}, {244, 152, 122}, {180, 4, 38}};
  static constexpr Colour kGrey[] = {{0, 0, 0}, {255, 255, 255}};
  if (v != v) return {128, 128, 128};
  const std::span<const Colour> all = map == ColourMap::viridis    ? std::span<const Colour>(kViridis)
                                      : map == ColourMap::blues    ? std::span<const Colour>(kBlues)
                                      : map == ColourMap::coolwarm ? std::span<const Colour>(kCoolWarm)
                                                                   : std::span<const Colour>(kGrey);
  const double at = std::clamp(v, 0.0, 1.0) * static_cast<double>(all.size() - 1);
  const size_t i = std::min(static_cast<size_t>(at), all.size() - 2);
  return mixed(all[i], all[i + 1], at - static_cast<double>(i));
}
/// Returns black or white, whichever is read better on a colour.
inline Colour ink_on(Colour c) {
  const double bright = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
  return bright > 140 ? Colour{20, 20, 20} : Colour{255, 255, 255};
}

}  // namespace detail
}  // namespace lazy::plot
