// Implements PNG (Portable Network Graphics, third edition, W3C) on zlib's inflate and deflate.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "lazy/core/build.hpp"
#include "lazy/io/image.hpp"
#include "lazy/io/image_bytes.hpp"
#include "lazy/io/zlib.hpp"

namespace lazy::detail {
namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
enum Colour : uint8_t { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgba = 6 };

struct Png {
  uint32_t width = 0, height = 0;
  uint8_t bits = 0, colour = 0;
  bool interlaced = false;
  std::string palette;       // three bytes a colour
  std::string transparency;  // tRNS
  std::string packed;        // all IDAT

  int channels() const { return colour == kRgb ? 3 : colour == kRgba ? 4 : colour == kGreyAlpha ? 2 : 1; }
  size_t pixel_bits() const { return static_cast<size_t>(channels()) * bits; }
  size_t row_bytes(uint32_t pixels) const { return (pixels * pixel_bits() + 7) / 8; }
};

/// Describes which pixels a pass has: of every `dx`-th column from `x`, every `dy`-th row from `y`.
struct Pass {
  uint32_t x, y, dx, dy;
  uint32_t columns(const Png& p) const { return p.width > x ? (p.width - x + dx - 1) / dx : 0; }
  uint32_t rows(const Png& p) const { return p.height > y ? (p.height - y + dy - 1) / dy : 0; }
  size_t bytes(const Png& p) const {
    return columns(p) == 0 ? 0
                           : rows(p) * (1 + p.row_bytes(columns(p)));  // a filter's number begins each row
  }
};
constexpr Pass kWhole[] = {{0, 0, 1, 1}};
constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                           {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
std::span<const Pass> passes_of(const Png& p) {
  return p.interlaced ? std::span<const Pass>(kAdam7) : std::span<const Pass>(kWhole);
}

void read_header(const FileBytes& f, uint64_t at, uint32_t length, Png& p) {
  if (length != 13) f.bad(at, "expected an IHDR of 13 bytes");
  const auto byte = [&](uint64_t i) { return static_cast<uint8_t>(f.bytes[at + i]); };
  p.width = f.big32(at);
  p.height = f.big32(at + 4);
  p.bits = byte(8);
  p.colour = byte(9);
  p.interlaced = byte(12) == 1;
  if (p.width == 0 || p.height == 0 || uint64_t{p.width} * p.height > kMostPixels)
    f.bad(at, "a picture of " + std::to_string(p.width) + " x " + std::to_string(p.height) +
                  ": expected 1 to 2^28 pixels");
  const bool few = p.bits == 1 || p.bits == 2 || p.bits == 4;
  const bool known = p.colour == kGrey ? few || p.bits == 8 || p.bits == 16
                     : p.colour == kPalette
                         ? few || p.bits == 8
                         : (p.colour == kRgb || p.colour == kGreyAlpha || p.colour == kRgba) &&
                               (p.bits == 8 || p.bits == 16);
  if (!known || byte(10) != 0 || byte(11) != 0 || byte(12) > 1)
    f.bad(at + 8, "no PNG has " + std::to_string(p.bits) + " bits in colour type " +
                      std::to_string(p.colour) + ", compression " + std::to_string(byte(10)) + ", filter " +
                      std::to_string(byte(11)) + ", interlace " + std::to_string(byte(12)));
}

/// Reads all chunks to IEND.
Png read_chunks(const FileBytes& f) {
  if (!f.bytes.starts_with(kSignature)) f.bad(0, "not a PNG file");
  Png p;
  bool first = true;
  for (uint64_t at = kSignature.size();;) {
    f.need(at, 12, "a PNG chunk");
    const uint32_t length = f.big32(at);
    f.need(at + 8, uint64_t{length} + 4, "a PNG chunk");
    const std::string_view type = f.bytes.substr(at + 4, 4), body = f.bytes.substr(at + 8, length);
    if (crc32(0, f.bytes.substr(at + 4, 4 + size_t{length})) != f.big32(at + 8 + length))
      f.bad(at, "a PNG chunk does not have its checksum");
    if (first != (type == "IHDR")) f.bad(at, "expected one IHDR, at the beginning");
    first = false;
    if (type == "IEND") break;
    if (type == "IHDR") {
      read_header(f, at + 8, length, p);
    } else if (type == "PLTE") {
      if (!p.palette.empty() || length == 0 || length % 3 != 0 || length > 768)
        f.bad(at, "expected one palette of 1 to 256 colours");
      p.palette = body;
    } else if (type == "tRNS") {
      p.transparency = body;
    } else if (type == "IDAT") {
      p.packed += body;
    } else if (!(type[0] & 0x20)) {
      f.bad(at, "a chunk that is needed to read the picture is not known");
    }
    at += 12 + uint64_t{length};
  }
  const size_t expected = p.colour == kGrey ? 2 : p.colour == kRgb ? 6 : 0;
  if (p.colour == kPalette && p.palette.empty()) f.bad(0, "expected a palette");
  if (!p.transparency.empty() && p.colour != kPalette && p.transparency.size() != expected)
    f.bad(0, "transparency does not fit the colours");
  return p;
}

uint8_t paeth(int left, int up, int corner) {
  const int guess = left + up - corner;
  const int a = std::abs(guess - left), b = std::abs(guess - up), c = std::abs(guess - corner);
  return static_cast<uint8_t>(a <= b && a <= c ? left : b <= c ? up : corner);
}

/// Returns what a filter predicts of the byte at `i`.
uint8_t predicted(int filter, const uint8_t* row, const uint8_t* above, size_t i, size_t step) {
  const int left = i >= step ? row[i - step] : 0, up = above ? above[i] : 0,
            corner = above && i >= step ? above[i - step] : 0;
  switch (filter) {
    case 1: return static_cast<uint8_t>(left);
    case 2: return static_cast<uint8_t>(up);
    case 3: return static_cast<uint8_t>((left + up) / 2);
    case 4: return paeth(left, up, corner);
    default: return 0;
  }
}

/// Returns the distance in bytes between bytes that filters compare.
size_t step_of(size_t pixel_bits) { return std::max<size_t>(1, pixel_bits / 8); }

/// Undoes the filters of a pass in place. False for a filter that there is not.
bool unfilter(uint8_t* at, uint32_t rows, size_t row_bytes, size_t step) {
  const uint8_t* above = nullptr;
  for (uint32_t y = 0; y < rows; ++y, at += row_bytes + 1) {
    const int filter = *at;
    uint8_t* const row = at + 1;
    if (filter > 4) return false;
    if (filter)
      for (size_t i = 0; i < row_bytes; ++i)
        row[i] = static_cast<uint8_t>(row[i] + predicted(filter, row, above, i, step));
    above = row;
  }
  return true;
}

/// Writes pixels as they are in the result: whole bytes, colours in place of a palette's numbers, alpha in
/// place of a transparent colour.
class Expander {
 public:
  explicit Expander(const Png& p)
      : p_(p), alpha_(!p.transparency.empty() && p.colour != kGreyAlpha && p.colour != kRgba) {}
  int channels() const { return (p_.colour == kPalette ? 3 : p_.channels()) + alpha_; }
  size_t pixel_bytes() const { return static_cast<size_t>(channels()) * sample_bytes(); }
  size_t sample_bytes() const { return p_.bits == 16 ? 2 : 1; }

  /// Writes pixel `i` of a row at `to`. False if its number is not in the palette.
  bool put(const uint8_t* row, size_t i, char* to) const {
    const size_t samples = static_cast<size_t>(p_.channels()), n = samples * sample_bytes();
    if (p_.bits < 8) {
      const size_t bit = i * p_.bits;
      const unsigned most = (1u << p_.bits) - 1, v = row[bit / 8] >> (8 - p_.bits - bit % 8) & most;
      if (p_.colour == kPalette) return put_colour(v, to);
      to[0] = static_cast<char>(v * 255 / most);
      if (alpha_) to[1] = static_cast<char>(v == key(0) ? 0 : 255);
      return true;
    }
    if (p_.colour == kPalette) return put_colour(row[i], to);
    std::memcpy(to, row + i * n, n);
    if (!alpha_) return true;
    bool same = true;
    for (size_t s = 0; s < samples; ++s) {
      const uint8_t* const at = row + i * n + s * sample_bytes();
      same &= key(s) == (p_.bits == 16 ? unsigned{at[0]} << 8 | at[1] : unsigned{at[0]});
    }
    std::memset(to + n, same ? 0 : 255, sample_bytes());
    return true;
  }

 private:
  unsigned key(size_t sample) const {
    return unsigned{static_cast<uint8_t>(p_.transparency[2 * sample])} << 8 |
           static_cast<uint8_t>(p_.transparency[2 * sample + 1]);
  }
  bool put_colour(size_t v, char* to) const {
    if (3 * v + 3 > p_.palette.size()) return false;
    std::memcpy(to, p_.palette.data() + 3 * v, 3);
    if (alpha_) to[3] = v < p_.transparency.size() ? p_.transparency[v] : '\xff';
    return true;
  }
  const Png& p_;
  bool alpha_;
};

}  // namespace

Tensor read_png(const FileBytes& f, const MaybeDevice& device) {
  const Png p = read_chunks(f);
  size_t bytes = 0;
  for (const Pass& pass : passes_of(p)) bytes += pass.bytes(p);
  if (bytes / kMostInflation > p.packed.size())
    f.bad(0, std::to_string(p.packed.size()) + " bytes can't stand for " + std::to_string(p.width) + " x " +
                 std::to_string(p.height) + " pixels");
  std::string raw(bytes, '\0');
  if (!inflate(f.op, p.packed, Wrapping::zlib, raw.data(), bytes, f.site))
    f.bad(0, "the compressed pixels are damaged, or not as many as the header says");
  const Expander expander(p);
  const size_t pixel = expander.pixel_bytes();
  std::string samples(size_t{p.width} * p.height * pixel, '\0');
  auto* at = reinterpret_cast<uint8_t*>(raw.data());
  for (const Pass& pass : passes_of(p)) {
    const uint32_t columns = pass.columns(p), rows = columns ? pass.rows(p) : 0;
    const size_t row_bytes = p.row_bytes(columns);
    if (!unfilter(at, rows, row_bytes, step_of(p.pixel_bits()))) f.bad(0, "a row has a filter above 4");
    for (uint32_t y = 0; y < rows; ++y, at += row_bytes + 1)
      for (uint32_t x = 0; x < columns; ++x) {
        const size_t to = (size_t{pass.y + y * pass.dy} * p.width + pass.x + x * pass.dx) * pixel;
        if (!expander.put(at + 1, x, samples.data() + to)) f.bad(0, "a pixel's colour is not in the palette");
      }
  }
  return picture_of(f, samples, p.height, p.width, expander.channels(), p.bits == 16 ? uint16 : uint8,
                    device);
}

namespace {

void put_big32(std::string& out, uint32_t v) { put_little(out, __builtin_bswap32(v)); }

void put_chunk(std::string& out, const char* type, const std::string& body) {
  put_big32(out, static_cast<uint32_t>(body.size()));
  const size_t begin = out.size();
  (out += type) += body;
  put_big32(out, crc32(0, std::string_view(out).substr(begin)));
}

/// Appends a row by the filter whose bytes, as signed numbers, have the least sum: the usual guess at what
/// compresses best.
void put_row(std::string& out, const uint8_t* row, const uint8_t* above, size_t bytes, size_t step) {
  int64_t least = INT64_MAX;
  int best = 0;
  for (int filter = 0; filter <= 4; ++filter) {
    int64_t sum = 0;
    for (size_t i = 0; i < bytes; ++i)
      sum += std::abs(static_cast<int8_t>(row[i] - predicted(filter, row, above, i, step)));
    if (sum < least) least = sum, best = filter;
  }
  out += static_cast<char>(best);
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(row[i] - predicted(best, row, above, i, step));
}

}  // namespace

std::string png_bytes(const char* op, TensorArg x) {
  const Operand h(op, x);
  jit::BufferRef keep;
  const Picture p = checked_picture(op, Tensor(h), x.site(), keep);
  const size_t step = static_cast<size_t>(p.channels) * size_of(p.dtype),
               row = static_cast<size_t>(p.width) * step;
  std::string samples(p.samples), raw;
  if (p.dtype == uint16) swap_samples(samples.data(), samples.size());
  for (int64_t y = 0; y < p.height; ++y) {
    const auto* const at = reinterpret_cast<const uint8_t*>(samples.data()) + static_cast<size_t>(y) * row;
    put_row(raw, at, y ? at - row : nullptr, row, step);
  }
  constexpr char kColours[] = {kGrey, kGreyAlpha, kRgb, kRgba};
  std::string header;
  put_big32(header, static_cast<uint32_t>(p.width));
  put_big32(header, static_cast<uint32_t>(p.height));
  header += static_cast<char>(8 * size_of(p.dtype));
  header += kColours[p.channels - 1];
  header.append(3, '\0');  // compression, filter, no interlace
  std::string out(kSignature);
  put_chunk(out, "IHDR", header);
  const std::string packed = deflate(op, raw, Wrapping::zlib, x.site());
  constexpr size_t kMostChunk = size_t{1} << 30;
  for (size_t at = 0; at < packed.size(); at += kMostChunk)
    put_chunk(out, "IDAT", packed.substr(at, kMostChunk));
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace lazy::detail

namespace lazy {

Tensor read_png(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_png(detail::open_file("read_png", path, s), device);
}

void write_png(const std::string& path, TensorArg x) {
  const std::string bytes = detail::png_bytes("write_png", x);
  detail::NewFile file("write_png", path, x.site());
  file.put(bytes);
  file.finish();
}

}  // namespace lazy
