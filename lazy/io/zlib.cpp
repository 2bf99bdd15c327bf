#include "lazy/io/zlib.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "support/error.hpp"
#include "support/lock.hpp"
#include "support/optional_library.hpp"

namespace lazy::detail {
namespace {

/// Has the layout of zlib's z_stream, the same in every version 1 (zlib.h).
struct Stream {
  const char* next_in = nullptr;
  unsigned avail_in = 0;
  unsigned long total_in = 0;
  char* next_out = nullptr;
  unsigned avail_out = 0;
  unsigned long total_out = 0;
  const char* message = nullptr;
  void* state = nullptr;
  void* allocate = nullptr;  // null: malloc
  void* release = nullptr;
  void* opaque = nullptr;
  int data_type = 0;
  unsigned long adler = 0;
  unsigned long reserved = 0;
};
static_assert(sizeof(Stream) == 112);

constexpr int kOk = 0, kStreamEnd = 1, kNoFlush = 0, kFinish = 4;
constexpr int kLevel = 6, kDeflated = 8, kMemoryLevel = 8, kDefaultStrategy = 0, kWindow = 15;
constexpr size_t kBlock = size_t{64} << 10;  // bytes at a time; on the heap: stacks may be as small as that
constexpr const char* kVersion = "1";        // only its first character is looked at

struct Zlib {
  int (*inflate_init)(Stream*, int window, const char* version, int size);
  int (*inflate)(Stream*, int flush);
  int (*inflate_end)(Stream*);
  int (*deflate_init)(Stream*, int level, int method, int window, int memory, int strategy,
                      const char* version, int size);
  int (*deflate)(Stream*, int flush);
  int (*deflate_end)(Stream*);
  std::string why;  // why it was not opened; empty if it was
};

Zlib open_zlib() {
  Zlib z{};
  OptionalLibrary library("libz.so.1");
  z.why = library.need("inflateInit2_", z.inflate_init)
              .need("inflate", z.inflate)
              .need("inflateEnd", z.inflate_end)
              .need("deflateInit2_", z.deflate_init)
              .need("deflate", z.deflate)
              .need("deflateEnd", z.deflate_end)
              .why();
  return z;
}

const Zlib& zlib(const char* op, const Site& site) {
  static constinit Once<Zlib> library;
  const Zlib& z = library.get(open_zlib);
  check_opened(op, "zlib", z.why, "zlib1g", site);
  return z;
}

int window_of(Wrapping w) {
  constexpr int kGzip = 16;  // added to a window: gzip's header and checksum
  return w == Wrapping::none ? -kWindow : w == Wrapping::gzip ? kWindow + kGzip : kWindow;
}

/// Returns as many of `left` as a stream takes at once.
unsigned some(size_t left) {
  return static_cast<unsigned>(std::min<size_t>(left, std::numeric_limits<unsigned>::max()));
}

/// Ends a stream at the end of a scope.
struct Ending {
  Stream& stream;
  int (*end)(Stream*);
  ~Ending() { end(&stream); }
};

}  // namespace

bool inflate(const char* op, std::string_view from, Wrapping wrapping, char* to, size_t size, const Site& s) {
  const Zlib& z = zlib(op, s);
  Stream stream;
  if (z.inflate_init(&stream, window_of(wrapping), kVersion, sizeof stream) != kOk)
    throw DeviceError(std::string(op) + ": zlib has no memory", s);
  const Ending ending{stream, z.inflate_end};
  char beyond = 0;  // takes what would be too much
  bool over = false;
  stream.next_in = from.data();
  stream.next_out = to;
  for (size_t in = from.size(), out = size;;) {
    if (stream.avail_in == 0) in -= stream.avail_in = some(in);
    if (stream.avail_out == 0 && out > 0) {
      out -= stream.avail_out = some(out);
    } else if (stream.avail_out == 0) {
      if (std::exchange(over, true)) return false;
      stream.next_out = &beyond;
      stream.avail_out = 1;
    }
    const int r = z.inflate(&stream, kNoFlush);
    if (r == kStreamEnd) return stream.total_out == size;
    if (r != kOk || stream.total_out > size) return false;
  }
}

bool inflate_begin(const char* op, std::string_view from, Wrapping wrapping, char* to, size_t size,
                   const Site& s) {
  const Zlib& z = zlib(op, s);
  Stream stream;
  if (z.inflate_init(&stream, window_of(wrapping), kVersion, sizeof stream) != kOk)
    throw DeviceError(std::string(op) + ": zlib has no memory", s);
  const Ending ending{stream, z.inflate_end};
  stream.next_in = from.data();
  stream.next_out = to;
  for (size_t in = from.size(), out = size; stream.total_out < size;) {
    if (stream.avail_in == 0) in -= stream.avail_in = some(in);
    if (stream.avail_out == 0) out -= stream.avail_out = some(out);
    const int r = z.inflate(&stream, kNoFlush);
    if (r == kStreamEnd) break;
    if (r != kOk) return false;
  }
  return stream.total_out == size;
}

bool gunzip(const char* op, std::string_view from, std::string& to, uint64_t most, const Site& s) {
  const Zlib& z = zlib(op, s);
  std::vector<char> block(kBlock);
  for (bool first = true; first || !from.empty(); first = false) {
    Stream stream;
    if (z.inflate_init(&stream, window_of(Wrapping::gzip), kVersion, sizeof stream) != kOk)
      throw DeviceError(std::string(op) + ": zlib has no memory", s);
    const Ending ending{stream, z.inflate_end};
    for (int r = kOk; r != kStreamEnd;) {
      const unsigned given = some(from.size()),
                     wanted = static_cast<unsigned>(std::min<uint64_t>(block.size(), most));
      stream.next_in = from.data();
      stream.avail_in = given;
      stream.next_out = block.data();
      stream.avail_out = wanted;
      r = z.inflate(&stream, kNoFlush);
      if (r != kOk && r != kStreamEnd) return false;  // at the end of the bytes, too
      from.remove_prefix(given - stream.avail_in);
      to.append(block.data(), wanted - stream.avail_out);
      most -= wanted - stream.avail_out;
      if (most == 0) return true;
    }
  }
  return true;
}

std::string deflate(const char* op, std::string_view from, Wrapping wrapping, const Site& s) {
  const Zlib& z = zlib(op, s);
  Stream stream;
  if (z.deflate_init(&stream, kLevel, kDeflated, window_of(wrapping), kMemoryLevel, kDefaultStrategy,
                     kVersion, sizeof stream) != kOk)
    throw DeviceError(std::string(op) + ": zlib has no memory", s);
  const Ending ending{stream, z.deflate_end};
  std::string made;
  std::vector<char> block(kBlock);
  stream.next_in = from.data();
  for (size_t in = from.size();;) {
    if (stream.avail_in == 0) in -= stream.avail_in = some(in);
    stream.next_out = block.data();
    stream.avail_out = static_cast<unsigned>(block.size());
    const int r = z.deflate(&stream, in == 0 ? kFinish : kNoFlush);
    made.append(block.data(), block.size() - stream.avail_out);
    if (r == kStreamEnd) return made;
    if (r != kOk) throw DeviceError(std::string(op) + ": zlib failed (" + std::to_string(r) + ")", s);
  }
}

namespace {

// Of each byte at each of eight places: the usual tables that take eight bytes at a time ("slicing by 8").
constexpr auto kCrc = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) ? 0xedb88320u : 0u);
    tables[0][i] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i)
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  return tables;
}();

}  // namespace

uint32_t crc32(uint32_t so_far, std::string_view bytes) {
  uint32_t c = ~so_far;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    const uint32_t low =
        c ^ (byte(0) | uint32_t{byte(1)} << 8 | uint32_t{byte(2)} << 16 | uint32_t{byte(3)} << 24);
    c = kCrc[7][low & 0xff] ^ kCrc[6][low >> 8 & 0xff] ^ kCrc[5][low >> 16 & 0xff] ^ kCrc[4][low >> 24] ^
        kCrc[3][byte(4)] ^ kCrc[2][byte(5)] ^ kCrc[1][byte(6)] ^ kCrc[0][byte(7)];
  }
  for (; !bytes.empty(); bytes.remove_prefix(1)) c = (c >> 8) ^ kCrc[0][(c ^ byte(0)) & 0xff];
  return ~c;
}

}  // namespace lazy::detail
