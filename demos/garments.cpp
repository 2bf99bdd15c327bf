#include "garments.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "demo.hpp"

namespace demo {
namespace {

constexpr int kSide = 28;

bool torso(double u, double v, double half, double from, double to) {
  return std::abs(u) < half && v > from && v < to;
}
/// Sleeves that leave the shoulders and end at height `to`, `out` from the middle.
bool sleeves(double u, double v, double to, double out) {
  const double middle = 0.42 + (out - 0.42) * std::sqrt(std::clamp((v - 0.08) / (to - 0.08), 0.0, 1.0));
  return v > 0.08 && v < to && std::abs(std::abs(u) - middle) < 0.17;
}

/// Says how bright the point (u, v) of a garment is, 0 where there is none: u from -1 to 1, v from 0 on top
/// to 1.
double brightness(int garment, double u, double v) {
  const double a = std::abs(u);
  switch (garment) {
    case 0: return torso(u, v, 0.45, 0.08, 0.95) || sleeves(u, v, 0.38, 0.8) ? 0.8 : 0;
    case 1: return v > 0.03 && a < 0.34 + 0.08 * v && (v < 0.25 || a > 0.04 + 0.08 * v) ? 0.7 : 0;
    case 2: return torso(u, v, 0.45, 0.08, 0.88) || sleeves(u, v, 0.85, 0.74) ? 0.75 : 0;
    case 3: return v > 0.03 && a < 0.2 + 0.08 * std::cos(9 * v) + 0.28 * v * v ? 0.8 : 0;
    case 4:
      if (a < 0.035 && v > 0.1) return 0.25;
      return torso(u, v, 0.5, 0.05, 0.98) || sleeves(u, v, 0.9, 0.78) ? 0.6 : 0;
    case 5: {
      const bool sole = v > 0.72 + 0.06 * u && v < 0.82 + 0.06 * u && a < 0.9;
      const bool strap = std::abs(v - 0.55 + 0.35 * std::cos(3.4 * u)) < 0.05 && v < 0.75 && a < 0.75;
      return sole ? 0.9 : strap ? 0.65 : 0;
    }
    case 6:
      if (v > 0.1 && a < 0.03 && std::fmod(v, 0.16) < 0.07) return 0.3;  // buttons
      if (v < 0.2 && a < 0.2 - v) return 0.35;                           // collar
      return torso(u, v, 0.43, 0.06, 0.95) || sleeves(u, v, 0.72, 0.78) ? 0.8 : 0;
    case 7: {
      const double top = u < -0.35 ? 0.42 : 0.42 + 0.26 * std::min((u + 0.35) / 0.8, 1.0);
      return a < 0.92 && v > top && v < 0.82 ? (v > 0.74 ? 1.0 : 0.65) : 0;
    }
    case 8: {
      const double r = std::hypot(u / 0.5, (v - 0.38) / 0.32);
      return torso(u, v, 0.75, 0.38, 0.92) ? 0.7 : v < 0.4 && r > 0.75 && r < 1 ? 0.6 : 0;
    }
    default: {
      const bool shaft = u > -0.5 && u < 0.05 && v > 0.05 && v < 0.9;
      const bool foot = u > -0.5 && u < 0.75 - 0.5 * std::max(0.0, 0.75 - v) && v > 0.62 && v < 0.9;
      return shaft || foot ? (v > 0.83 ? 1.0 : 0.7) : 0;
    }
  }
}

/// Holds numbers of a fixed rule, the same on every machine.
class Draws {
 public:
  explicit Draws(uint32_t seed) : engine_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_()) * 0x1p-32;
  }

 private:
  std::mt19937 engine_;
};

void draw(int garment, Draws& d, std::string& out) {
  const double turn = d.between(-0.35, 0.35), wide = d.between(0.55, 1.25), high = d.between(0.7, 1.1);
  const double right = d.between(-0.14, 0.14), down = d.between(-0.08, 0.08), shade = d.between(0.25, 1.1);
  const double stripes = std::max(0.0, d.between(-0.4, 0.4)), waves = d.between(8, 40),
               slant = d.between(-1, 1);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const double p = (x + 0.5) / kSide * 2 - 1 - right, q = (y + 0.5) / kSide - 0.5 - down;
      const double u = (p * std::cos(turn) + 2 * q * std::sin(turn)) / wide;
      const double v = (q * std::cos(turn) - 0.5 * p * std::sin(turn)) / high + 0.5;
      double b = v > 0 && v < 1 ? brightness(garment, u, v) : 0;
      b *= shade * (1 - stripes * (0.5 + 0.5 * std::sin(waves * (v + slant * u))));
      b += d.between(-0.35, 0.35);
      out += static_cast<char>(static_cast<uint8_t>(std::clamp(b, 0.0, 1.0) * 255));
    }
}

void write(const std::string& path, const std::vector<uint32_t>& shape, const std::string& bytes) {
  std::string header{0, 0, 8, static_cast<char>(shape.size())};
  for (const uint32_t n : shape)
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(n >> shift);
  std::ofstream out(path, std::ios::binary);
  out << header << bytes;
  if (!out.flush()) throw Failure("cannot write " + path);
}

}  // namespace

void write_garments(const std::string& folder, int64_t train, int64_t test) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Failure("cannot make the folder " + folder + ": " + error.message());
  for (const bool training : {true, false}) {
    const int64_t n = training ? train : test;
    Draws d(training ? 1 : 2);
    std::string pixels, labels;
    for (int64_t i = 0; i < n; ++i) {
      const int garment = static_cast<int>(d.between(0, 10));
      draw(garment, d, pixels);
      labels += static_cast<char>(garment);
    }
    const std::string base = folder + (training ? "/train-" : "/t10k-");
    const auto count = static_cast<uint32_t>(n);
    write(base + "images-idx3-ubyte", {count, kSide, kSide}, pixels);
    write(base + "labels-idx1-ubyte", {count}, labels);
  }
}

}  // namespace demo
