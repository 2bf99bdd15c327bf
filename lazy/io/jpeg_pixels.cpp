#include <algorithm>

#include "lazy/io/jpeg_frame.hpp"

namespace lazy::detail::jpeg {
namespace {

/// Holds one byte a pixel.
struct Plane {
  int64_t width, height, stride;
  std::vector<uint8_t> bytes;
  const uint8_t* row(int64_t y) const { return bytes.data() + static_cast<size_t>(y * stride); }
  uint8_t* row(int64_t y) { return bytes.data() + static_cast<size_t>(y * stride); }
};

uint8_t byte_of(int64_t v) { return static_cast<uint8_t>(std::clamp<int64_t>(v, 0, 255)); }

/// Transforms eight numbers back from frequencies (Loeffler, Ligtenberg and Moschytz, 1989, with 13 bits
/// behind the point); results are rounded to `shift` bits less.
void transform(const int64_t* in, int64_t* out, int stride, int shift) {
  const auto at = [&](int i) { return in[i * stride]; };
  const int64_t a = (at(2) + at(6)) * 4433, low = a - at(6) * 15137, high = a + at(2) * 6270;
  const int64_t sum = (at(0) + at(4)) * 8192, difference = (at(0) - at(4)) * 8192;
  const int64_t even[4] = {sum + high, difference + low, difference - low, sum - high};
  const int64_t z5 = (at(7) + at(3) + at(5) + at(1)) * 9633;
  const int64_t z1 = (at(7) + at(1)) * -7373, z2 = (at(5) + at(3)) * -20995;
  const int64_t z3 = (at(7) + at(3)) * -16069 + z5, z4 = (at(5) + at(1)) * -3196 + z5;
  const int64_t odd[4] = {at(1) * 12299 + z1 + z4, at(3) * 25172 + z2 + z3, at(5) * 16819 + z2 + z4,
                          at(7) * 2446 + z1 + z3};
  const int64_t half = int64_t{1} << (shift - 1);
  for (int i = 0; i < 4; ++i) {
    out[i * stride] = (even[i] + odd[i] + half) >> shift;
    out[(7 - i) * stride] = (even[i] - odd[i] + half) >> shift;
  }
}

Plane plane_of(const Component& c, const std::array<uint16_t, kBlock>& quantiser) {
  Plane p{c.width, c.height, c.columns * 8, {}};
  p.bytes.resize(static_cast<size_t>(p.stride * c.rows * 8));
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column) {
      const int16_t* const block =
          c.coefficients.data() + static_cast<size_t>(row * c.columns + column) * kBlock;
      int64_t values[kBlock], half_way[kBlock];
      for (int i = 0; i < kBlock; ++i) values[i] = int64_t{block[i]} * quantiser[static_cast<size_t>(i)];
      for (int x = 0; x < 8; ++x) transform(values + x, half_way + x, 8, 11);
      for (int y = 0; y < 8; ++y) {
        transform(half_way + 8 * y, values + 8 * y, 1, 18);
        uint8_t* const to = p.row(row * 8 + y) + column * 8;
        for (int x = 0; x < 8; ++x) to[x] = byte_of(values[8 * y + x] + 128);
      }
    }
  return p;
}

/// Doubles a row of n numbers: each pixel is three quarters of the nearer one and a quarter of the other.
/// `scale` is the numbers' own, `down` and `up` are added before rounding to the left and to the right.
void widen(const std::vector<int>& in, int64_t n, int scale, int down, int up, uint8_t* out) {
  const auto at = [&](int64_t i) { return in[static_cast<size_t>(i)]; };
  const int shift = scale == 4 ? 4 : 2, whole = 4, edge = scale == 4 ? 8 : 2;
  for (int64_t i = 0; i < n; ++i) {
    const int left = i > 0 ? at(i) * 3 + at(i - 1) + down : at(i) * whole + edge;
    const int right = i + 1 < n ? at(i) * 3 + at(i + 1) + up : at(i) * whole + (scale == 4 ? 7 : 2);
    out[2 * i] = static_cast<uint8_t>(left >> shift);
    out[2 * i + 1] = static_cast<uint8_t>(right >> shift);
  }
}

/// Returns the plane in the picture's size.
Plane enlarged(const Plane& p, int across, int down, int64_t width, int64_t height) {
  if (across == 1 && down == 1) return p;
  Plane r{width, height, std::max(p.width * across, width) + 8, {}};
  r.bytes.resize(static_cast<size_t>(r.stride * (std::max(p.height * down, height) + 1)));
  std::vector<int> sums(static_cast<size_t>(p.width));
  const bool smooth = across == 2 && p.width > 2;  // libjpeg repeats the pixels of narrower ones
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from = std::min(y / down, p.height - 1);
    const uint8_t* const near = p.row(from);
    uint8_t* const to = r.row(y);
    if (smooth && down == 1) {
      std::copy_n(near, p.width, sums.begin());
      widen(sums, p.width, 1, 1, 2, to);
    } else if (smooth && down == 2) {
      const uint8_t* const far = p.row(std::clamp<int64_t>(y % 2 ? from + 1 : from - 1, 0, p.height - 1));
      for (int64_t x = 0; x < p.width; ++x) sums[static_cast<size_t>(x)] = near[x] * 3 + far[x];
      widen(sums, p.width, 4, 8, 7, to);
    } else if (across == 1 && down == 2) {
      const uint8_t* const far = p.row(std::clamp<int64_t>(y % 2 ? from + 1 : from - 1, 0, p.height - 1));
      for (int64_t x = 0; x < p.width; ++x)
        to[x] = static_cast<uint8_t>((near[x] * 3 + far[x] + (y % 2 ? 2 : 1)) >> 2);
    } else {
      for (int64_t x = 0; x < width; ++x) to[x] = near[std::min(x / across, p.width - 1)];
    }
  }
  return r;
}

/// Returns a factor with 16 bits behind the point.
constexpr int64_t fixed(double v) { return static_cast<int64_t>(v * 65536 + 0.5); }

void put_rgb(int64_t y, int64_t blue, int64_t red, char* to) {
  constexpr int64_t kHalf = 32768;
  blue -= 128, red -= 128;
  to[0] = static_cast<char>(byte_of(y + ((fixed(1.402) * red + kHalf) >> 16)));
  to[1] = static_cast<char>(byte_of(y + ((-fixed(0.34414) * blue - fixed(0.71414) * red + kHalf) >> 16)));
  to[2] = static_cast<char>(byte_of(y + ((fixed(1.772) * blue + kHalf) >> 16)));
}

}  // namespace

std::string pixels_of(const Frame& f) {
  std::vector<Plane> planes;
  for (const Component& c : f.components)
    planes.push_back(enlarged(plane_of(c, f.quantisers[static_cast<size_t>(c.quantiser)]),
                              f.across / c.across, f.down / c.down, f.width, f.height));
  const size_t channels = planes.size();
  std::string samples(static_cast<size_t>(f.width * f.height) * channels, '\0');
  char* to = samples.data();
  for (int64_t y = 0; y < f.height; ++y)
    for (int64_t x = 0; x < f.width; ++x, to += channels) {
      if (channels == 3 && !f.is_rgb)
        put_rgb(planes[0].row(y)[x], planes[1].row(y)[x], planes[2].row(y)[x], to);
      else
        for (size_t c = 0; c < channels; ++c) to[c] = static_cast<char>(planes[c].row(y)[x]);
    }
  return samples;
}

}  // namespace lazy::detail::jpeg
