// Loads mutated files of every format that lazy/io reads, from memory that ends where the file ends: under
// AddressSanitizer a read beyond it is seen. A case either loads, and then all of its values are read, or
// throws one of the errors that the readers document. Case `n` of a seed is the same on every machine.
#pragma once
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/data/files_bytes.hpp"
#include "lazy/io/csv_bytes.hpp"
#include "lazy/io/image_bytes.hpp"
#include "lazy/io/npy_header.hpp"
#include "lazy/io/safetensors_header.hpp"
#include "lazy/io/zlib.hpp"
#include "lazy/lazy.hpp"

namespace io_fuzz {

/// Draws numbers (splitmix64): what the cases are must not depend on the standard library.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Returns a number below `n`, 0 if that is 0.
  size_t below(size_t n) { return n ? bits() % n : 0; }
  template <class T, size_t N>
  const T& one_of(const T (&all)[N]) {
    return all[below(N)];
  }

 private:
  uint64_t state_;
};

/// Overwrites some bytes with a number that a length might be, in one of the two orders.
inline void put_number(Draws& d, std::string& f) {
  constexpr uint64_t kNumbers[] = {0,
                                   1,
                                   2,
                                   7,
                                   8,
                                   0x7f,
                                   0x80,
                                   0xff,
                                   0x7fff,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xffffffffffffffff};
  const size_t width = size_t{1} << d.below(4);
  if (f.size() < width) return;
  uint64_t v = d.below(3) ? d.one_of(kNumbers) : f.size() + d.below(5) - 2;
  if (d.below(2)) v = __builtin_bswap64(v) >> (64 - 8 * width);
  std::memcpy(f.data() + d.below(f.size() - width + 1), &v, width);
}

/// Replaces a number in text by another.
inline void put_digits(Draws& d, std::string& f) {
  constexpr const char* kTexts[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "8",
                                    "4294967296",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "1e400",
                                    "00",
                                    "",
                                    "1.5",
                                    "340282366920938463463374607431768211456"};
  constexpr std::string_view kDigits = "0123456789";
  const size_t begin = f.find_first_of(kDigits, d.below(f.size()));
  if (begin == f.npos) return;
  const size_t end = std::min(f.find_first_not_of(kDigits, begin), f.size());
  f.replace(begin, end - begin, d.one_of(kTexts));
}

inline void mutate_once(Draws& d, std::string& f, const std::string& other) {
  constexpr char kBytes[] = {'\0', '\1', '\x7f', '\x80', '\xff', '0', '9', '"',  '\'', '\\', '{', '}',
                             '[',  ']',  '(',    ')',    ',',    ':', ' ', '\n', '\r', '-',  '.', 'e'};
  const size_t at = d.below(f.size() + 1), n = std::min(d.below(32), f.size() - at);
  switch (d.below(9)) {
    case 0:
      if (at < f.size()) f[at] = static_cast<char>(f[at] ^ (1 << d.below(8)));
      return;
    case 1:
      if (at < f.size()) f[at] = d.one_of(kBytes);
      return;
    case 2: f.resize(at); return;
    case 3: f.insert(at, 1, d.one_of(kBytes)); return;
    case 4: f.insert(d.below(f.size() + 1), f.substr(at, n)); return;
    case 5: f.erase(at, n); return;
    case 6: put_number(d, f); return;
    case 7: put_digits(d, f); return;
    default: f = f.substr(0, at) + other.substr(d.below(other.size() + 1));
  }
}

inline uint32_t big32(const std::string& f, size_t at) {
  uint32_t v;
  std::memcpy(&v, f.data() + at, sizeof v);
  return __builtin_bswap32(v);
}

/// Makes the checksums of a PNG's chunks right again, so that what is behind them is reached.
inline void mend_png(std::string& f) {
  for (size_t at = 8; at + 12 <= f.size();) {
    const size_t length = big32(f, at);
    if (length > f.size() - at - 12) return;
    const uint32_t crc =
        __builtin_bswap32(lazy::detail::crc32(0, std::string_view(f).substr(at + 4, length + 4)));
    std::memcpy(f.data() + at + 8 + length, &crc, sizeof crc);
    at += 12 + length;
  }
}

/// Does so for the stored members of a ZIP file.
inline void mend_zip(std::string& f) {
  for (size_t at = f.find("PK\1\2"); at != f.npos && at + 46 <= f.size(); at = f.find("PK\1\2", at + 1)) {
    uint32_t bytes, header;
    std::memcpy(&bytes, f.data() + at + 20, 4);
    std::memcpy(&header, f.data() + at + 42, 4);
    if (header + size_t{30} > f.size()) continue;
    uint16_t name, extra;
    std::memcpy(&name, f.data() + header + 26, 2);
    std::memcpy(&extra, f.data() + header + 28, 2);
    const size_t data = header + size_t{30} + name + extra;
    if (data + bytes > f.size()) continue;
    const uint32_t crc = lazy::detail::crc32(0, std::string_view(f).substr(data, bytes));
    std::memcpy(f.data() + at + 16, &crc, sizeof crc);
  }
}

/// Makes a header's length fit after bytes were inserted into or taken from it.
inline void mend_length(std::string& f, size_t at, size_t width, size_t before, size_t after) {
  if (f.size() < at + width) return;
  uint64_t v = 0;
  std::memcpy(&v, f.data() + at, width);
  v += after - before;
  std::memcpy(f.data() + at, &v, width);
}

/// Reads all bytes of a value; what they add up to is of no interest.
inline uint64_t read_all(const lazy::Tensor& x) {
  lazy::jit::BufferRef keep;
  uint64_t sum = 0;
  for (const char c : lazy::detail::host_bytes("fuzz", x, lazy::Site::current(), keep))
    sum += static_cast<uint8_t>(c);
  return sum;
}

struct Format {
  const char* ending;
  void (*load)(const lazy::detail::FileBytes&);
};
inline const Format kFormats[] = {
    {".npy", [](const auto& f) { read_all(lazy::detail::read_npy(f, {})); }},
    {".npz",
     [](const auto& f) {
       for (const auto& [name, x] : lazy::detail::read_npz(f, {})) read_all(x);
     }},
    {".safetensors",
     [](const auto& f) {
       for (const auto& [name, x] : lazy::detail::read_safetensors(f, {})) read_all(x);
     }},
    {".json", [](const auto& f) { (void)lazy::detail::read_safe_index(f); }},
    {".csv",
     [](const auto& f) {
       read_all(lazy::detail::read_csv(f, {}, {}).values);
       read_all(lazy::detail::read_csv(f, {.header = false}, {}).values);
     }},
    {".png", [](const auto& f) { read_all(lazy::detail::read_png(f, {})); }},
    {".pgm", [](const auto& f) { read_all(lazy::detail::read_pnm(f, {})); }},
    {".jpg", [](const auto& f) { read_all(lazy::detail::read_jpeg(f, {})); }},
    {".idx", [](const auto& f) { read_all(lazy::data::detail::read_idx(f)); }},
    {".cifar",
     [](const auto& f) {
       const lazy::data::Batch b = lazy::data::detail::read_cifar(f, 2, 1, 100);
       read_all(b.x);
       read_all(b.y);
     }},
};
inline constexpr size_t kFormatCount = std::size(kFormats);

/// Counts what became of the cases of a format.
struct Outcome {
  size_t loaded = 0, refused = 0;
};

class Fuzz {
 public:
  explicit Fuzz(const std::string& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& e : std::filesystem::directory_iterator(folder)) paths.push_back(e.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::string ending = path.extension().string();
      if (ending == ".ppm") ending = ".pgm";
      std::ifstream in(path, std::ios::binary);
      seeds_[ending].emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    seeds_[".csv"] = {"x,y\n1,2\n3.5,-4e2\n",
                      "\xef\xbb\xbf\"a \"\"b\"\"\nc\" , d\r\n\r\n \"1\" ,\r\nNA,nan\r\n", "1\n"};
    seeds_[".pgm"].insert(seeds_[".pgm"].end(),
                          {"P2 # c\n3 2\n 15\n0 15 3\n 7 8 #x\n 1", "P3\n1 1\n1000\n0 500 1000\n"});
    const std::string idx("\0\0\x0b\2\0\0\0\2\0\0\0\3ABCDEFGHIJKL", 24);
    // 0x1f 0x8b: deflate, no name, no time; then the stream, its CRC-32 and its length.
    std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
    packed += lazy::detail::deflate("fuzz", idx, lazy::detail::Wrapping::none, lazy::Site::current());
    lazy::detail::put_little(packed, lazy::detail::crc32(0, idx));
    lazy::detail::put_little(packed, static_cast<uint32_t>(idx.size()));
    seeds_[".idx"] = {idx, packed};
    seeds_[".cifar"] = {std::string(3074, '\1'), std::string(2 * 3074, '\5')};
    for (const Format& f : kFormats)
      if (seeds_[f.ending].empty()) throw std::runtime_error(std::string("no files for ") + f.ending);
  }

  /// Returns the file of a case, and its format.
  std::string make(uint64_t seed, uint64_t number, size_t& format) const {
    Draws d(seed * 0x9e3779b97f4a7c15ull + number);
    format = number % kFormatCount;
    const std::string ending = kFormats[format].ending;
    const std::vector<std::string>& all = seeds_.at(ending);
    std::string f = all[d.below(all.size())];
    const size_t before = f.size();
    do mutate_once(d, f, all[d.below(all.size())]);
    while (d.below(3) == 0);
    if (ending == ".png" && d.below(8)) mend_png(f);
    if (ending == ".npz" && d.below(4)) mend_zip(f);
    if (ending == ".npy" && d.below(2)) mend_length(f, 8, 2, before, f.size());
    if (ending == ".safetensors" && d.below(2)) mend_length(f, 0, 8, before, f.size());
    return f;
  }

  /// Loads the file of a case. Throws what no reader may throw.
  void run(uint64_t seed, uint64_t number) {
    size_t format = 0;
    const std::string file = make(seed, number, format);
    const std::shared_ptr<char[]> exact(new char[file.size()]);
    std::copy(file.begin(), file.end(), exact.get());
    const lazy::detail::FileBytes bytes{
        "load", "case", lazy::Site::current(), {exact.get(), file.size()}, exact};
    try {
      kFormats[format].load(bytes);
      ++outcomes_[format].loaded;
    } catch (const lazy::IoError&) { ++outcomes_[format].refused; } catch (const lazy::DtypeError&) {
      ++outcomes_[format].refused;
    } catch (const lazy::ShapeError&) { ++outcomes_[format].refused; }
  }
  const Outcome& outcome(size_t format) const { return outcomes_[format]; }

 private:
  std::map<std::string, std::vector<std::string>> seeds_;  // files by ending
  Outcome outcomes_[kFormatCount];
};

}  // namespace io_fuzz
