// Implements PGM and PPM as netpbm defines them, and what all pictures have in common.
#include <algorithm>

#include "lazy/core/build.hpp"
#include "lazy/io/image.hpp"
#include "lazy/io/image_bytes.hpp"

namespace lazy::detail {

Picture checked_picture(const char* op, const Tensor& x, const Site& s, jit::BufferRef& keep) {
  const Shape shape = x.shape(s);
  const int rank = shape.size();
  if (x.dtype(s) != uint8 && x.dtype(s) != uint16)
    fail<DtypeError>(
        op,
        std::string("a picture is uint8 or uint16, not ") + name_of(x.dtype(s)) +
            (lazy::is_float(x.dtype(s)) ? ": of numbers from 0 to 1 (x * 255).astype(uint8) makes one" : ""),
        s);
  const int64_t channels = rank == 3 ? shape[2] : 1;
  if (rank < 2 || rank > 3 || channels < 1 || channels > 4 || shape[0] < 1 || shape[1] < 1 ||
      shape[0] > INT32_MAX || shape[1] > INT32_MAX)
    fail<ShapeError>(op, "a picture is [height, width] or [height, width, 1 to 4], not " + to_string(shape),
                     s);
  return {shape[0], shape[1], channels, x.dtype(s), host_bytes(op, x, s, keep)};
}

void swap_samples(char* at, size_t bytes) {
  for (size_t i = 0; i + 1 < bytes; i += 2) std::swap(at[i], at[i + 1]);
}

Tensor picture_of(const FileBytes& f, std::string& samples, int64_t height, int64_t width, int64_t channels,
                  DType t, const MaybeDevice& device) {
  if (t == uint16) swap_samples(samples.data(), samples.size());
  FileBytes all = f;
  all.bytes = samples;
  Shape shape{height, width};
  if (channels > 1) shape.push_back(channels);
  return copied_value(all, 0, t, shape, false, false, device);
}

namespace {

/// Reads the numbers of a header, or of a picture in text: decimal, separated by white space and comments.
class Numbers {
 public:
  Numbers(const FileBytes& f, uint64_t at) : f_(f), at_(at) {}
  uint32_t next(const char* what) {
    constexpr uint32_t kMost = 99'999'999;
    skip();
    uint64_t v = 0;
    const uint64_t begin = at_;
    for (; at_ < f_.bytes.size() && f_.bytes[at_] >= '0' && f_.bytes[at_] <= '9'; ++at_) {
      v = v * 10 + static_cast<uint64_t>(f_.bytes[at_] - '0');
      if (v > kMost) f_.bad(begin, std::string(what) + " is too large");
    }
    if (at_ == begin) f_.bad(at_, std::string("expected ") + what);
    return static_cast<uint32_t>(v);
  }
  uint64_t at() const { return at_; }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip() {
    for (bool comment = false; at_ < f_.bytes.size(); ++at_) {
      const char c = f_.bytes[at_];
      if (c == '#') comment = true;
      else if (comment) comment = c != '\n';
      else if (!is_space(c)) return;
    }
  }
  const FileBytes& f_;
  uint64_t at_;
};

struct Pnm {
  uint32_t width, height, most;
  int channels;
  bool text;
  uint64_t data;  // offset of the samples

  uint64_t samples() const { return uint64_t{width} * height * static_cast<uint64_t>(channels); }
};

Pnm read_header(const FileBytes& f) {
  f.need(0, 2, "a PGM or PPM file");
  const char kind = f.bytes[1];
  if (f.bytes[0] != 'P' || (kind != '2' && kind != '3' && kind != '5' && kind != '6'))
    f.bad(0, "expected a PGM or PPM file, which begins with P2, P3, P5 or P6");
  Numbers numbers(f, 2);
  Pnm p{};
  p.channels = kind == '3' || kind == '6' ? 3 : 1;
  p.text = kind == '2' || kind == '3';
  p.width = numbers.next("a width");
  p.height = numbers.next("a height");
  const uint64_t at = numbers.at();
  p.most = numbers.next("a maximum");
  if (p.width == 0 || p.height == 0 || uint64_t{p.width} * p.height > kMostPixels)
    f.bad(2, "a picture of " + std::to_string(p.width) + " x " + std::to_string(p.height) +
                 ": expected 1 to 2^28 pixels");
  if (p.most == 0 || p.most > 65535)
    f.bad(at, "a maximum of " + std::to_string(p.most) + ": expected 1 to 65535");
  f.need(numbers.at(), 1, "white space");
  p.data = numbers.at() + 1;
  return p;
}

}  // namespace

Tensor read_pnm(const FileBytes& f, const MaybeDevice& device) {
  const Pnm p = read_header(f);
  const bool wide = p.most > 255;
  const uint64_t count = p.samples();
  if (p.text && (count - 1) * 2 + 1 > f.bytes.size() - p.data)  // a digit and a space each
    f.bad(p.data, "expected " + std::to_string(count) + " samples, which the file has no room for");
  if (!p.text) f.need(p.data, count * (wide ? 2 : 1), "samples");
  const uint32_t full = wide ? 65535 : 255;
  Numbers numbers(f, p.data);
  std::string samples(count * (wide ? 2 : 1), '\0');
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = p.text ? numbers.at() : p.data + i * (wide ? 2 : 1);
    const auto byte = [&](uint64_t k) { return uint32_t{static_cast<uint8_t>(f.bytes[k])}; };
    const uint32_t v = p.text ? numbers.next("a sample") : wide ? byte(at) << 8 | byte(at + 1) : byte(at);
    if (v > p.most)
      f.bad(at, "a sample of " + std::to_string(v) + " is above the maximum of " + std::to_string(p.most));
    const uint32_t scaled = p.most == full ? v : (v * full + p.most / 2) / p.most;
    if (wide) samples[2 * i] = static_cast<char>(scaled >> 8);
    samples[wide ? 2 * i + 1 : i] = static_cast<char>(scaled);
  }
  return picture_of(f, samples, p.height, p.width, p.channels, wide ? uint16 : uint8, device);
}

}  // namespace lazy::detail

namespace lazy {

Tensor read_pnm(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_pnm(detail::open_file("read_pnm", path, s), device);
}

void write_pnm(const std::string& path, TensorArg x) {
  using namespace detail;
  const Operand h("write_pnm", x);
  jit::BufferRef keep;
  const Picture p = checked_picture("write_pnm", Tensor(h), x.site(), keep);
  if (p.channels != 1 && p.channels != 3)
    fail<ShapeError>("write_pnm", "PGM and PPM files have 1 or 3 channels, not " + std::to_string(p.channels),
                     x.site());
  std::string samples(p.samples);
  if (p.dtype == uint16) swap_samples(samples.data(), samples.size());
  NewFile file("write_pnm", path, x.site());
  file.put((p.channels == 1 ? "P5\n" : "P6\n") + std::to_string(p.width) + " " + std::to_string(p.height) +
           "\n" + (p.dtype == uint16 ? "65535" : "255") + "\n");
  file.put(samples);
  file.finish();
}

}  // namespace lazy
