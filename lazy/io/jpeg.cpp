// Reads and writes JPEG files by libjpeg-turbo.
#include "lazy/core/build.hpp"
#include "lazy/io/image.hpp"
#include "lazy/io/image_bytes.hpp"
#include "support/lock.hpp"
#include "support/optional_library.hpp"

namespace lazy::detail {
namespace {

enum Colours : int { kJpegRgb = 0, kJpegYCbCr = 1, kJpegGrey = 2 };          // TJCS, turbojpeg.h
enum PixelFormat : int { kRgbPixels = 0, kGreyPixels = 6 };                  // TJPF
enum Sampling : int { kFullColours = 0, kHalfColours = 2, kNoColours = 3 };  // TJSAMP
enum Flag : int { kAccurateDct = 4096, kStopOnWarning = 8192, kLimitScans = 32768 };

struct TurboJpeg {
  void* (*init)() = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*header)(void*, const unsigned char*, unsigned long, int* width, int* height, int* sampling,
                int* colours) = nullptr;
  int (*decompress)(void*, const unsigned char*, unsigned long, unsigned char* to, int width, int pitch,
                    int height, int format, int flags) = nullptr;
  void* (*init_compress)() = nullptr;
  int (*compress)(void*, const unsigned char*, int width, int pitch, int height, int format,
                  unsigned char** to, unsigned long* size, int sampling, int quality, int flags) = nullptr;
  void (*free)(unsigned char*) = nullptr;
  char* (*error)(void*) = nullptr;
  std::string why;  // why it was not opened; empty if it was
};

TurboJpeg open_turbojpeg() {
  TurboJpeg t;
  OptionalLibrary library("libturbojpeg.so.0");
  t.why = library.need("tjInitDecompress", t.init)
              .need("tjDestroy", t.destroy)
              .need("tjDecompressHeader3", t.header)
              .need("tjDecompress2", t.decompress)
              .need("tjInitCompress", t.init_compress)
              .need("tjCompress2", t.compress)
              .need("tjFree", t.free)
              .need("tjGetErrorStr2", t.error)
              .why();
  return t;
}

const TurboJpeg& turbojpeg(const char* op, const Site& site) {
  static constinit Once<TurboJpeg> library;
  const TurboJpeg& t = library.get(open_turbojpeg);
  check_opened(op, "libjpeg-turbo", t.why, "libturbojpeg0", site);
  return t;
}

/// Goes from segment to segment, as the library doesn't say where it met an error; returns where the first
/// scan begins. Throws IoError where a segment is cut off, or there is no scan.
uint64_t first_scan(const FileBytes& f) {
  constexpr uint8_t kFill = 0xff, kEnd = 0xd9, kScan = 0xda;
  const auto byte = [&](uint64_t at) { return static_cast<uint8_t>(f.bytes[at]); };
  if (!f.bytes.starts_with("\xff\xd8\xff")) f.bad(0, "not a JPEG file");
  for (uint64_t at = 2;;) {
    f.need(at, 2, "a marker");
    if (byte(at) != 0xff) f.bad(at, "expected a marker");
    const uint8_t code = byte(at + 1);
    if (code == kFill) {
      ++at;
      continue;
    }
    if (code == kScan) return at;
    if (code == kEnd) f.bad(at, "the file ends without a picture");
    f.need(at + 2, 2, "the length of a segment");
    const uint64_t length = uint64_t{byte(at + 2)} << 8 | byte(at + 3);
    f.need(at + 2, length, "a segment");
    at += 2 + length;
  }
}

/// Throws IoError for a picture that is too large, or larger than that file can be.
void check_size(const FileBytes& f, int width, int height) {
  const auto pixels = static_cast<uint64_t>(width) * static_cast<uint64_t>(height);
  const std::string size = std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (pixels == 0 || pixels > kMostPixels) f.bad(0, "a picture of " + size);
  // Each 8 x 8 block takes at least one bit: more would only cost memory.
  constexpr uint64_t kMostOfAByte = 8 * 64;
  if (pixels > kMostOfAByte * f.bytes.size())
    f.bad(0, std::to_string(f.bytes.size()) + " bytes can't be a picture of " + size);
}

}  // namespace

Tensor read_jpeg(const FileBytes& f, const MaybeDevice& device) {
  const TurboJpeg& t = turbojpeg(f.op, f.site);
  const uint64_t scan = first_scan(f);
  const std::unique_ptr<void, int (*)(void*)> decoder(t.init(), t.destroy);
  if (!decoder) throw std::bad_alloc();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(f.bytes.data());
  int width = 0, height = 0, sampling = 0, colours = -1;
  if (t.header(decoder.get(), bytes, f.bytes.size(), &width, &height, &sampling, &colours) != 0)
    f.bad(0, t.error(decoder.get()));
  check_size(f, width, height);
  if (colours != kJpegRgb && colours != kJpegYCbCr && colours != kJpegGrey)
    f.bad(0, "a picture of 4 components; those of 1 and 3 are read");
  const int channels = colours == kJpegGrey ? 1 : 3;
  std::string samples(
      static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels), '\0');
  if (t.decompress(decoder.get(), bytes, f.bytes.size(), reinterpret_cast<unsigned char*>(samples.data()),
                   width, 0, height, colours == kJpegGrey ? kGreyPixels : kRgbPixels,
                   kAccurateDct | kStopOnWarning | kLimitScans) != 0)
    f.bad(scan, std::string("the picture from here on: ") + t.error(decoder.get()));
  return picture_of(f, samples, height, width, channels, uint8, device);
}

}  // namespace lazy::detail

namespace lazy {

Tensor read_jpeg(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_jpeg(detail::open_file("read_jpeg", path, s), device);
}

void write_jpeg(const std::string& path, TensorArg x, int quality) {
  using namespace detail;
  constexpr const char* kName = "write_jpeg";
  constexpr int kFullColoursFrom = 90;  // quality
  const Operand h(kName, x);
  jit::BufferRef keep;
  const Picture p = checked_picture(kName, Tensor(h), x.site(), keep);
  if (p.channels != 1 && p.channels != 3)
    fail<ShapeError>(kName, "JPEG files have 1 or 3 channels, not " + std::to_string(p.channels), x.site());
  if (p.dtype != uint8) fail<DtypeError>(kName, "JPEG files have 8 bits: uint8, not uint16", x.site());
  if (quality < 1 || quality > 100)
    fail<Error>(kName, "a quality of " + std::to_string(quality) + "; it is 1 to 100", x.site());
  constexpr int64_t kMostSide = 65535;  // of the format
  if (p.width > kMostSide || p.height > kMostSide)
    fail<ShapeError>(kName, "sides of a JPEG file have at most 65535 pixels", x.site());
  const TurboJpeg& t = turbojpeg(kName, x.site());
  const std::unique_ptr<void, int (*)(void*)> encoder(t.init_compress(), t.destroy);
  if (!encoder) throw std::bad_alloc();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool grey = p.channels == 1;
  const int failed = t.compress(encoder.get(), reinterpret_cast<const unsigned char*>(p.samples.data()),
                                static_cast<int>(p.width), 0, static_cast<int>(p.height),
                                grey ? kGreyPixels : kRgbPixels, &bytes, &size,
                                grey                          ? kNoColours
                                : quality >= kFullColoursFrom ? kFullColours
                                                              : kHalfColours,
                                quality, kAccurateDct);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, t.free);
  if (failed != 0) fail<Error>(kName, t.error(encoder.get()), x.site());
  NewFile file(kName, path, x.site());
  file.put({reinterpret_cast<const char*>(bytes), size});
  file.finish();
}

}  // namespace lazy
