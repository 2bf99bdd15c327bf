#include "lazy/io/jpeg_frame.hpp"

namespace lazy::detail::jpeg {

const uint8_t kZigzag[kBlock] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

bool Huffman::define(const std::array<uint8_t, kLongest + 1>& counts, std::vector<uint8_t> all) {
  values = std::move(all);
  fast.fill(0);
  int32_t code = 0, at = 0;
  for (int length = 1; length <= kLongest; ++length) {
    first[static_cast<size_t>(length)] = code;
    place[static_cast<size_t>(length)] = at;
    for (int i = 0; i < counts[static_cast<size_t>(length)]; ++i, ++code, ++at) {
      if (code >= 1 << length) return false;
      if (length > kFast) continue;
      const auto entry = static_cast<uint16_t>(length << 8 | values[static_cast<size_t>(at)]);
      for (int32_t rest = 0; rest < 1 << (kFast - length); ++rest)
        fast[static_cast<size_t>(code << (kFast - length) | rest)] = entry;
    }
    end[static_cast<size_t>(length)] = code;
    code <<= 1;
  }
  return defined = true;
}

namespace {

/// Reads the coded bits of a scan: FF 00 stands for FF, any other FF ends them.
class Bits {
 public:
  Bits(const FileBytes& f, uint64_t at) : f_(f), at_(at) {}

  int bit() { return bits(1); }
  int bits(int n) {
    if (n == 0) return 0;
    if (count_ < n) fill(n);
    count_ -= n;
    return static_cast<int>(held_ >> count_ & ((uint64_t{1} << n) - 1));
  }
  /// Returns a number of n bits, of which the lower half of the range are negative ones (F.2.2.1).
  int number(int n) {
    if (n == 0) return 0;
    const int v = bits(n);
    return v < 1 << (n - 1) ? v - (1 << n) + 1 : v;
  }
  int code(const Huffman& h) {
    if (count_ < Huffman::kLongest) fill(0);
    if (count_ >= Huffman::kFast) {
      const uint16_t entry = h.fast[held_ >> (count_ - Huffman::kFast) & ((1 << Huffman::kFast) - 1)];
      if (entry) {
        count_ -= entry >> 8;
        return entry & 0xff;
      }
    }
    int32_t v = 0;
    for (size_t length = 1; length <= Huffman::kLongest; ++length) {
      v = v << 1 | bit();
      if (v >= h.first[length] && v < h.end[length])
        return h.values[static_cast<size_t>(h.place[length] + v - h.first[length])];
    }
    f_.bad(at_, "a code that the Huffman table does not have");
  }
  /// Goes on behind restart marker `number` of eight.
  void restart(int number) {
    count_ = 0;
    skip_fill();
    const auto expected = static_cast<char>(0xd0 + number);
    if (f_.bytes.size() - at_ < 2 || f_.bytes[at_] != '\xff' || f_.bytes[at_ + 1] != expected)
      f_.bad(at_, "expected restart marker " + std::to_string(number));
    at_ += 2;
  }
  /// Returns where the next marker is. Bytes before it that no code needs are passed over.
  uint64_t end() {
    for (;; ++at_) {
      at_ = f_.bytes.find('\xff', at_);
      if (at_ == f_.bytes.npos || at_ + 1 >= f_.bytes.size())
        f_.bad(f_.bytes.size(), "the file ends in the middle of a scan");
      const auto code = static_cast<uint8_t>(f_.bytes[at_ + 1]);
      if (code != 0 && code != 0xff && (code < 0xd0 || code > 0xd7)) return at_;
    }
  }
  [[noreturn]] void bad(const char* what) const { f_.bad(at_, what); }

 private:
  void skip_fill() {
    while (f_.bytes.size() - at_ >= 2 && f_.bytes[at_] == '\xff' && f_.bytes[at_ + 1] == '\xff') ++at_;
  }
  /// Takes bytes as long as there are some and a few bits are free; throws unless there are n bits then.
  void fill(int n) {
    while (count_ <= 48 && at_ < f_.bytes.size()) {
      const auto byte = static_cast<uint8_t>(f_.bytes[at_]);
      if (byte == 0xff) {
        if (f_.bytes.size() - at_ < 2 || f_.bytes[at_ + 1] != 0) break;
        ++at_;
      }
      ++at_;
      held_ = held_ << 8 | byte;
      count_ += 8;
    }
    if (count_ < n) f_.bad(at_, "the coded bytes of a scan end too early");
  }

  const FileBytes& f_;
  uint64_t at_;
  uint64_t held_ = 0;  // the lowest `count_` bits are read next
  int count_ = 0;
};

/// Decodes the blocks of one scan.
class Blocks {
 public:
  Blocks(Bits& bits, const Scan& s, bool progressive) : bits_(bits), scan_(s), progressive_(progressive) {}

  void decode(Component& c, int16_t* block) {
    if (!progressive_) return whole(c, block);
    if (scan_.first > 0) return scan_.high == 0 ? first(c, block) : refine(c, block);
    if (scan_.high == 0) block[0] = static_cast<int16_t>(next_dc(c) * (1 << scan_.low));
    else if (bits_.bit()) block[0] = static_cast<int16_t>(block[0] | 1 << scan_.low);
  }
  void restart() { end_run_ = 0; }

 private:
  int next_dc(Component& c) {
    const int n = bits_.code(*c.dc);
    if (n > 15) bits_.bad("a difference of more than 15 bits");
    c.predicted = static_cast<int16_t>(c.predicted + bits_.number(n));  // of a damaged file it may wrap
    return c.predicted;
  }
  void whole(Component& c, int16_t* block) {
    block[0] = static_cast<int16_t>(next_dc(c));
    for (int k = 1; k < kBlock; ++k) {
      const int code = bits_.code(*c.ac), zeros = code >> 4, n = code & 15;
      if (n == 0 && zeros < 15) return;
      k += zeros;
      if (k >= kBlock) bits_.bad("a block has more than 64 coefficients");
      block[kZigzag[k]] = static_cast<int16_t>(bits_.number(n));
    }
  }
  /// Reads the upper bits of a band of frequencies (G.1.2.2).
  void first(Component& c, int16_t* block) {
    if (end_run_ > 0) {
      --end_run_;
      return;
    }
    for (int k = scan_.first; k <= scan_.last; ++k) {
      const int code = bits_.code(*c.ac), zeros = code >> 4, n = code & 15;
      if (n == 0 && zeros < 15) {
        end_run_ = (1 << zeros) - 1 + bits_.bits(zeros);
        return;
      }
      k += zeros;
      if (k > scan_.last) bits_.bad("a block has more coefficients than its band");
      block[kZigzag[k]] = static_cast<int16_t>(bits_.number(n) * (1 << scan_.low));
    }
  }
  /// Reads one more bit of a band (G.1.2.3).
  void refine(Component& c, int16_t* block) {
    int k = scan_.first;
    const int one = 1 << scan_.low;
    if (end_run_ == 0) {
      for (; k <= scan_.last; ++k) {
        const int code = bits_.code(*c.ac), n = code & 15;
        int zeros = code >> 4, value = 0;
        if (n == 0 && zeros < 15) {
          end_run_ = (1 << zeros) + bits_.bits(zeros);
          break;
        }
        if (n > 1) bits_.bad("a new coefficient of more than one bit");
        if (n == 1) value = bits_.bit() ? one : -one;
        for (; k <= scan_.last; ++k) {
          int16_t& v = block[kZigzag[k]];
          if (v != 0) correct(v, one);
          else if (zeros-- == 0) break;
        }
        if (k > scan_.last && value) bits_.bad("a block has more coefficients than its band");
        if (value) block[kZigzag[k]] = static_cast<int16_t>(value);
      }
    }
    if (end_run_ == 0) return;
    for (; k <= scan_.last; ++k)
      if (int16_t& v = block[kZigzag[k]]; v != 0) correct(v, one);
    --end_run_;
  }
  void correct(int16_t& v, int one) {
    if (bits_.bit() && (v & one) == 0) v = static_cast<int16_t>(v + (v > 0 ? one : -one));
  }

  Bits& bits_;
  const Scan& scan_;
  const bool progressive_;
  int end_run_ = 0;  // blocks that have nothing more, this one included
};

int16_t* block_at(Component& c, int64_t row, int64_t column) {
  return c.coefficients.data() + static_cast<size_t>(row * c.columns + column) * kBlock;
}

}  // namespace

uint64_t decode_scan(const FileBytes& f, uint64_t at, Frame& frame, const Scan& scan) {
  Bits bits(f, at);
  Blocks blocks(bits, scan, frame.progressive);
  const bool alone = scan.components.size() == 1;
  Component& only = *scan.components[0];
  const int64_t columns = alone ? (only.width + 7) / 8 : frame.unit_columns;
  const int64_t rows = alone ? (only.height + 7) / 8 : frame.unit_rows;
  for (Component* c : scan.components) c->predicted = 0;
  for (int64_t unit = 0; unit < columns * rows; ++unit) {
    if (frame.restart > 0 && unit > 0 && unit % frame.restart == 0) {
      bits.restart(static_cast<int>((unit / frame.restart - 1) % 8));
      blocks.restart();
      for (Component* c : scan.components) c->predicted = 0;
    }
    const int64_t row = unit / columns, column = unit % columns;
    if (alone) {
      blocks.decode(only, block_at(only, row, column));
      continue;
    }
    for (Component* c : scan.components)
      for (int y = 0; y < c->down; ++y)
        for (int x = 0; x < c->across; ++x)
          blocks.decode(*c, block_at(*c, row * c->down + y, column * c->across + x));
  }
  return bits.end();
}

}  // namespace lazy::detail::jpeg
