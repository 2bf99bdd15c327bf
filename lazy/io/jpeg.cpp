// Reads the segments of JPEG files (ITU-T T.81): baseline, extended and progressive ones of 8 bits.
#include <algorithm>

#include "lazy/io/image.hpp"
#include "lazy/io/image_bytes.hpp"
#include "lazy/io/jpeg_frame.hpp"

namespace lazy::detail {
namespace {

using namespace jpeg;

enum Marker : uint8_t {
  kFrame = 0xc0,
  kExtended = 0xc1,
  kProgressive = 0xc2,
  kHuffman = 0xc4,
  kEnd = 0xd9,
  kScan = 0xda,
  kQuantisers = 0xdb,
  kRestart = 0xdd,
  kAdobe = 0xee,
  kFill = 0xff
};

class Reader {
 public:
  explicit Reader(const FileBytes& f) : f_(f) {}

  Tensor read(const MaybeDevice& device) {
    if (!f_.bytes.starts_with("\xff\xd8\xff")) f_.bad(0, "not a JPEG file");
    for (uint64_t at = 2; (at = segment(at)) != 0;) {}
    if (frame_.components.empty()) f_.bad(0, "the file has no frame");
    for (const Component& c : frame_.components)
      if (!c.seen) f_.bad(0, "a component is in no scan");
    std::string samples = pixels_of(frame_);
    return picture_of(f_, samples, frame_.height, frame_.width,
                      static_cast<int64_t>(frame_.components.size()), uint8, device);
  }

 private:
  uint8_t byte(uint64_t at) const { return static_cast<uint8_t>(f_.bytes[at]); }
  int64_t word(uint64_t at) const { return byte(at) << 8 | byte(at + 1); }

  /// Reads one segment; returns where the next begins, 0 at the picture's end.
  uint64_t segment(uint64_t at) {
    f_.need(at, 2, "a marker");
    if (byte(at) != 0xff) f_.bad(at, "expected a marker");
    const uint8_t code = byte(at + 1);
    if (code == kFill) return at + 1;
    if (code == kEnd) return 0;
    f_.need(at + 2, 2, "the length of a segment");
    const auto length = static_cast<uint64_t>(word(at + 2));
    if (length < 2) f_.bad(at + 2, "a segment is shorter than its length");
    f_.need(at + 2, length, "a segment");
    const uint64_t begin = at + 4, end = at + 2 + length;
    if (code == kQuantisers) quantisers(begin, end);
    else if (code == kHuffman) huffman(begin, end);
    else if (code == kRestart) restart(begin, end);
    else if (code == kScan) return scan(begin, end);
    else if (code == kAdobe) adobe(begin, end);
    else if (code == kFrame || code == kExtended || code == kProgressive)
      frame(begin, end, code == kProgressive);
    else if (code >= 0xc3 && code <= 0xcf)
      f_.bad(at, "a JPEG file of a kind that is not read: lossless, hierarchical or arithmetic");
    return end;
  }

  void quantisers(uint64_t at, uint64_t end) {
    while (at < end) {
      const int wide = byte(at) >> 4, which = byte(at) & 15;
      const uint64_t size = wide ? 2 * kBlock : kBlock;
      if (wide > 1 || which > 3 || end - at < 1 + size)
        f_.bad(at, "a quantisation table that there can't be");
      ++at;
      for (int i = 0; i < kBlock; ++i, at += wide ? 2 : 1)
        frame_.quantisers[static_cast<size_t>(which)][kZigzag[i]] =
            static_cast<uint16_t>(wide ? word(at) : byte(at));
      frame_.has_quantiser[static_cast<size_t>(which)] = true;
    }
  }

  void huffman(uint64_t at, uint64_t end) {
    while (at < end) {
      const int kind = byte(at) >> 4, which = byte(at) & 15;
      if (kind > 1 || which > 3 || end - at < 17) f_.bad(at, "a Huffman table that there can't be");
      std::array<uint8_t, Huffman::kLongest + 1> counts{};
      uint64_t size = 0;
      for (size_t i = 1; i <= Huffman::kLongest; ++i) size += counts[i] = byte(at + i);
      if (size > 256 || end - at < 17 + size) f_.bad(at, "a Huffman table that there can't be");
      std::vector<uint8_t> values;
      for (uint64_t i = 0; i < size; ++i) values.push_back(byte(at + 17 + i));
      Huffman& table = (kind ? frame_.ac : frame_.dc)[static_cast<size_t>(which)];
      if (!table.define(counts, std::move(values)))
        f_.bad(at, "a Huffman table with too many codes of a length");
      at += 17 + size;
    }
  }

  void restart(uint64_t at, uint64_t end) {
    if (end - at != 2) f_.bad(at, "expected a restart interval of two bytes");
    frame_.restart = word(at);
  }

  void adobe(uint64_t at, uint64_t end) {
    constexpr uint64_t kTransform = 11;  // where a segment of Adobe's says how colours are coded
    if (end - at > kTransform && f_.bytes.substr(at, 5) == "Adobe") adobe_transform_ = byte(at + kTransform);
  }

  void frame(uint64_t at, uint64_t end, bool progressive) {
    if (!frame_.components.empty()) f_.bad(at, "a second frame");
    if (end - at < 6) f_.bad(at, "a frame is shorter than its header");
    if (byte(at) != 8) f_.bad(at, "a frame of " + std::to_string(byte(at)) + " bits; those of 8 are read");
    frame_.progressive = progressive;
    frame_.height = word(at + 1);
    frame_.width = word(at + 3);
    const int count = byte(at + 5);
    if (count != 1 && count != 3)
      f_.bad(at + 5, "a picture of " + std::to_string(count) + " components; those of 1 and 3 are read");
    if (end - at != 6 + 3 * static_cast<uint64_t>(count))
      f_.bad(at, "a frame is not as long as its header says");
    check_size(at);
    std::vector<Component> all(static_cast<size_t>(count));
    for (Component& c : all) {
      c.id = byte(at + 6), c.across = byte(at + 7) >> 4, c.down = byte(at + 7) & 15,
      c.quantiser = byte(at + 8);
      if (c.across < 1 || c.across > 4 || c.down < 1 || c.down > 4 || c.quantiser > 3)
        f_.bad(at + 6, "a component that there can't be");
      frame_.across = std::max(frame_.across, c.across);
      frame_.down = std::max(frame_.down, c.down);
      at += 3;
    }
    lay_out(all, at);
    frame_.components = std::move(all);
    const bool named_rgb = count == 3 && frame_.components[0].id == 'R' && frame_.components[1].id == 'G' &&
                           frame_.components[2].id == 'B';
    frame_.is_rgb = adobe_transform_ == 0 || (adobe_transform_ < 0 && named_rgb);
  }

  void check_size(uint64_t at) const {
    const auto pixels = static_cast<uint64_t>(frame_.width * frame_.height);
    const std::string size = std::to_string(frame_.width) + " x " + std::to_string(frame_.height) + " pixels";
    if (pixels == 0 || pixels > kMostPixels) f_.bad(at + 1, "a picture of " + size);
    // Each 8 x 8 block takes at least one bit: what says otherwise would only cost memory.
    constexpr uint64_t kMostOfAByte = 8 * 64;
    if (pixels > kMostOfAByte * f_.bytes.size())
      f_.bad(at + 1, std::to_string(f_.bytes.size()) + " bytes can't be a picture of " + size);
  }

  void lay_out(std::vector<Component>& all, uint64_t at) {
    if (all.size() == 1)
      all[0].across = all[0].down = frame_.across = frame_.down = 1;  // nothing to fit it to
    const int64_t unit_width = 8 * frame_.across, unit_height = 8 * frame_.down;
    frame_.unit_columns = (frame_.width + unit_width - 1) / unit_width;
    frame_.unit_rows = (frame_.height + unit_height - 1) / unit_height;
    for (Component& c : all) {
      if (frame_.across % c.across != 0 || frame_.down % c.down != 0)
        f_.bad(at, "a component whose resolution is no fraction of the picture's");
      c.width = (frame_.width * c.across + frame_.across - 1) / frame_.across;
      c.height = (frame_.height * c.down + frame_.down - 1) / frame_.down;
      c.columns = frame_.unit_columns * c.across;
      c.rows = frame_.unit_rows * c.down;
      c.coefficients.assign(static_cast<size_t>(c.columns * c.rows) * kBlock, 0);
    }
  }

  uint64_t scan(uint64_t at, uint64_t end) {
    constexpr int kMostScans = 1000;
    const size_t count = byte(at), size = end - at;
    if (frame_.components.empty()) f_.bad(at, "a scan before the frame");
    if (++scans_ > kMostScans) f_.bad(at, "more than 1000 scans");
    if (count < 1 || count > 3 || size != 4 + 2 * count)
      f_.bad(at, "a scan is not as long as its header says");
    Scan s;
    for (size_t i = 0; i < count; ++i) {
      const int id = byte(at + 1 + 2 * i), dc = byte(at + 2 + 2 * i) >> 4, ac = byte(at + 2 + 2 * i) & 15;
      const auto c = std::find_if(frame_.components.begin(), frame_.components.end(),
                                  [&](const Component& k) { return k.id == id; });
      if (c == frame_.components.end() || dc > 3 || ac > 3 ||
          std::find(s.components.begin(), s.components.end(), &*c) != s.components.end())
        f_.bad(at + 1 + 2 * i, "a scan of a component that there can't be");
      c->dc = &frame_.dc[static_cast<size_t>(dc)];
      c->ac = &frame_.ac[static_cast<size_t>(ac)];
      if (!frame_.has_quantiser[static_cast<size_t>(c->quantiser)])
        f_.bad(at, "a quantisation table is missing");
      c->seen = true;
      s.components.push_back(&*c);
    }
    const uint64_t rest = at + 1 + 2 * count;
    s.first = byte(rest), s.last = byte(rest + 1), s.high = byte(rest + 2) >> 4, s.low = byte(rest + 2) & 15;
    check_band(s, rest);
    return decode_scan(f_, end, frame_, s);
  }

  void check_band(const Scan& s, uint64_t at) const {
    if (frame_.progressive) {
      const bool band =
          s.first == 0 ? s.last == 0 : s.last >= s.first && s.last < kBlock && s.components.size() == 1;
      if (!band || s.low > 13 || (s.high != 0 && s.high != s.low + 1))
        f_.bad(at, "a band that there can't be");
    } else if (s.first != 0 || s.last != kBlock - 1 || s.high != 0 || s.low != 0) {
      f_.bad(at, "a band in a picture that is not progressive");
    }
    const bool dc = s.first == 0 && s.high == 0, ac = !frame_.progressive || s.first > 0;
    for (const Component* c : s.components)
      if ((dc && !c->dc->defined) || (ac && !c->ac->defined)) f_.bad(at, "a Huffman table is missing");
  }

  const FileBytes& f_;
  Frame frame_;
  int adobe_transform_ = -1;
  int scans_ = 0;
};

}  // namespace

Tensor read_jpeg(const FileBytes& f, const MaybeDevice& device) { return Reader(f).read(device); }

}  // namespace lazy::detail

namespace lazy {

Tensor read_jpeg(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_jpeg(detail::open_file("read_jpeg", path, s), device);
}

}  // namespace lazy
