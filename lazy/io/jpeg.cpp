// Reads JPEG by stb_image, of which Debian has a shared library (libstb0). What lies between its markers is
// walked first: stb_image makes a picture of a file that is cut off.
#include <dlfcn.h>

#include "lazy/io/image.hpp"
#include "lazy/io/image_bytes.hpp"
#include "support/lock.hpp"

namespace lazy::detail {
namespace {

struct Stb {
  int (*info)(const unsigned char*, int bytes, int* width, int* height, int* channels);
  unsigned char* (*load)(const unsigned char*, int bytes, int* width, int* height, int* in_file, int wanted);
  void (*free)(void*);
  const char* (*reason)();
  std::string why;  // why it was not opened; empty if it was
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Stb open_stb() {
  Stb s{};
  void* const library = dlopen("libstb.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library && find(library, "stbi_info_from_memory", s.info) &&
      find(library, "stbi_load_from_memory", s.load) && find(library, "stbi_image_free", s.free) &&
      find(library, "stbi_failure_reason", s.reason))
    return s;
  const char* const why = dlerror();
  s.why = why ? why : "libstb.so.0 lacks a function";
  return s;
}

const Stb& stb(const char* op, const Site& site) {
  static constinit Once<Stb> library;
  const Stb& s = library.get(open_stb);
  if (!s.why.empty())
    throw DeviceError(std::string(op) + " needs stb_image, which can't be opened (" + s.why +
                          "). On Debian: apt-get install libstb0",
                      site);
  return s;
}

enum Marker : uint8_t { kStuffed = 0x00, kFirstRestart = 0xd0, kEnd = 0xd9, kScan = 0xda, kFill = 0xff };

/// Returns where the marker after a scan's coded bytes begins.
uint64_t after_coded(const FileBytes& f, uint64_t at) {
  for (;; ++at) {
    at = f.bytes.find('\xff', at);
    if (at == f.bytes.npos) f.bad(f.bytes.size(), "the file ends in the middle of a scan");
    f.need(at, 2, "a marker");
    const auto code = static_cast<uint8_t>(f.bytes[at + 1]);
    if (code != kStuffed && (code < kFirstRestart || code > kFirstRestart + 7)) return at;
  }
}

/// Throws IoError unless segments follow each other up to the end of the picture (ITU-T T.81, annex B).
void check_segments(const FileBytes& f) {
  for (uint64_t at = 2;;) {
    f.need(at, 2, "a marker");
    if (f.bytes[at] != '\xff') f.bad(at, "expected a marker");
    const auto code = static_cast<uint8_t>(f.bytes[at + 1]);
    if (code == kEnd) return;
    if (code == kFill) {
      ++at;
      continue;
    }
    f.need(at + 2, 2, "the length of a segment");
    const uint64_t length = static_cast<uint64_t>(static_cast<uint8_t>(f.bytes[at + 2])) << 8 |
                            static_cast<uint8_t>(f.bytes[at + 3]);
    if (length < 2) f.bad(at + 2, "a segment is shorter than its length");
    f.need(at + 2, length, "a segment");
    at += 2 + length;
    if (code == kScan) at = after_coded(f, at);
  }
}

}  // namespace

Tensor read_jpeg(const FileBytes& f, const MaybeDevice& device) {
  if (!f.bytes.starts_with("\xff\xd8\xff")) f.bad(0, "not a JPEG file");
  if (f.bytes.size() > INT32_MAX) f.bad(0, "a JPEG file of more than 2 GiB");
  check_segments(f);
  const Stb& library = stb(f.op, f.site);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(f.bytes.data());
  const int size = static_cast<int>(f.bytes.size());
  const auto damaged = [&] {
    const char* const why = library.reason();
    f.bad(0, std::string("damaged: ") + (why ? why : "unknown reason"));
  };
  int width = 0, height = 0, channels = 0;
  if (!library.info(bytes, size, &width, &height, &channels)) damaged();
  if (width < 1 || height < 1 || static_cast<uint64_t>(width) * static_cast<uint64_t>(height) > kMostPixels)
    f.bad(0, "a picture of " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  // Each 8 x 8 block takes at least one bit: what says otherwise would only cost memory.
  constexpr uint64_t kMostOfAByte = 8 * 64;
  if (static_cast<uint64_t>(width) * static_cast<uint64_t>(height) > kMostOfAByte * f.bytes.size())
    f.bad(0, std::to_string(f.bytes.size()) + " bytes can't be a picture of " + std::to_string(width) +
                 " x " + std::to_string(height) + " pixels");
  const int wanted = channels == 1 ? 1 : 3;
  const std::unique_ptr<unsigned char, void (*)(void*)> pixels(
      library.load(bytes, size, &width, &height, &channels, wanted), library.free);
  if (!pixels) damaged();
  std::string samples(reinterpret_cast<const char*>(pixels.get()),
                      static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(wanted));
  return picture_of(f, samples, height, width, wanted, uint8, device);
}

}  // namespace lazy::detail

namespace lazy {

Tensor read_jpeg(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_jpeg(detail::open_file("read_jpeg", path, s), device);
}

}  // namespace lazy
