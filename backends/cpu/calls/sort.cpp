// Sorts by radix: elements become unsigned keys in their order, with their index; then there is a pass for
// each byte in which keys differ. Short rows are sorted by comparison. Rows are shared among threads, or,
// where there are few, each row's chunks: a pass counts by chunk, and places chunk after chunk, so equal keys
// keep their order.
#include <algorithm>
#include <functional>
#include <utility>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/backend/backend.hpp"
#include "jit/calls/sort.hpp"

namespace lazy::cpu_backend {
namespace {

using jit::CallRun;
using jit::Meta;

constexpr int64_t kShortRow = 512;       // elements; shorter rows are sorted by comparison
constexpr int64_t kWorthAThread = 8192;  // elements
constexpr int kDigit = 256;

/// Combines a key of 32 bits or less and an index below 2^32: sorting them as one number is stable.
struct Narrow {
  uint64_t word;
  static Narrow of(uint64_t key, int64_t index) { return {key << 32 | static_cast<uint64_t>(index)}; }
  uint64_t key() const { return word >> 32; }
  int64_t index() const { return static_cast<int64_t>(word & 0xffffffffu); }
  bool operator<(const Narrow& o) const { return word < o.word; }
};
struct Wide {
  uint64_t bits, at;
  static Wide of(uint64_t key, int64_t index) { return {key, static_cast<uint64_t>(index)}; }
  uint64_t key() const { return bits; }
  int64_t index() const { return static_cast<int64_t>(at); }
  bool operator<(const Wide& o) const { return bits != o.bits ? bits < o.bits : at < o.at; }
};

/// Turns the bits of a dtype's elements into unsigned numbers of the same order.
template <class U, bool kSigned, bool kFloat>
struct Keys {
  using Word = U;
  static constexpr int kBits = 8 * sizeof(U);
  U infinity = 0;  // bits of infinity, for a float
  bool descending = false;

  uint64_t operator()(U bits) const {
    constexpr U sign = static_cast<U>(U{1} << (kBits - 1)), all = static_cast<U>(~U{0});
    if constexpr (kFloat) {
      const U magnitude = static_cast<U>(bits & ~sign);
      if (magnitude > infinity) return all;  // NaN
      if (magnitude == 0) bits = 0;          // -0 is 0
      bits = static_cast<U>(bits & sign ? ~bits : bits | sign);
    } else if constexpr (kSigned) {
      bits = static_cast<U>(bits ^ sign);
    }
    return static_cast<U>(descending ? ~bits : bits);
  }
};

/// Calls f(0) ... f(n - 1), on several threads if n > 1.
using Each = std::function<void(int64_t, const std::function<void(int64_t)>&)>;

template <class Item>
struct RowSorter {
  Item* items;
  Item* other;      // as many items
  int64_t* counts;  // pieces * kDigit
  int64_t length, pieces;
  const Each& each;

  int64_t begin(int64_t piece) const { return length * piece / pieces; }

  /// Sorts `items` by the bytes in which keys differ; returns where the result is.
  Item* sort(uint64_t differing) {
    for (int shift = 0; shift < 64; shift += 8)
      if (differing >> shift & 0xff) pass(shift);
    return items;
  }

 private:
  void pass(int shift) {
    const auto digit = [shift](const Item& i) { return i.key() >> shift & 0xff; };
    each(pieces, [&](int64_t p) {
      int64_t* const mine = counts + p * kDigit;
      std::fill_n(mine, kDigit, 0);
      for (int64_t i = begin(p); i < begin(p + 1); ++i) ++mine[digit(items[i])];
    });
    int64_t at = 0;
    for (int d = 0; d < kDigit; ++d)
      for (int64_t p = 0; p < pieces; ++p) at += std::exchange(counts[p * kDigit + d], at);
    each(pieces, [&](int64_t p) {
      int64_t* const mine = counts + p * kDigit;
      for (int64_t i = begin(p); i < begin(p + 1); ++i) other[mine[digit(items[i])]++] = items[i];
    });
    std::swap(items, other);
  }
};

/// Sorts the rows of a run.
template <class Item, class K>
class Sorting {
 public:
  Sorting(const CallRun& r, K keys, int64_t pieces) : r_(r), keys_(keys), pieces_(pieces) {
    length_ = r.operands[0].shape.back();
    rows_ = numel(r.operands[0].shape) / length_;
  }
  static size_t bytes(int64_t length, int64_t pieces, bool by_rows) {
    const auto rows_at_once = static_cast<size_t>(by_rows ? pieces : 1);
    return 2 * rows_at_once * static_cast<size_t>(length) * sizeof(Item) +
           static_cast<size_t>(pieces) * kDigit * sizeof(int64_t);
  }

  void run() {
    if (rows_ < pieces_) {
      const Each several = [this](int64_t n, const auto& f) { r_.backend.for_each(n, f); };
      const Each alone = [](int64_t, const auto& f) { f(0); };
      for (int64_t row = 0; row < rows_; ++row) sort_row(row, 0, pieces_, pieces_ > 1 ? several : alone);
      return;
    }
    const auto share = [this](int64_t p) {
      const Each alone = [](int64_t, const auto& f) { f(0); };
      for (int64_t row = rows_ * p / pieces_; row < rows_ * (p + 1) / pieces_; ++row)
        sort_row(row, p, 1, alone);
    };
    if (pieces_ == 1) share(0);
    else r_.backend.for_each(pieces_, share);
  }

 private:
  /// Sorts one row. `place`: which of the pieces' memory it uses.
  void sort_row(int64_t row, int64_t place, int64_t pieces, const Each& each) {
    using U = typename K::Word;
    const auto* const in = reinterpret_cast<const U*>(r_.in[0]) + row * length_;
    auto* const counts = reinterpret_cast<int64_t*>(r_.workspace);
    Item* const memory = reinterpret_cast<Item*>(counts + pieces_ * kDigit) + 2 * place * length_;
    RowSorter<Item> s{memory, memory + length_, counts + place * kDigit, length_, pieces, each};
    const uint64_t first = keys_(in[0]);
    each(pieces, [&](int64_t p) {
      uint64_t differing = 0;
      for (int64_t i = s.begin(p); i < s.begin(p + 1); ++i) {
        const uint64_t key = keys_(in[i]);
        differing |= key ^ first;
        memory[i] = Item::of(key, i);
      }
      s.counts[p * kDigit] = static_cast<int64_t>(differing);
    });
    uint64_t differing = 0;
    for (int64_t p = 0; p < pieces; ++p) differing |= static_cast<uint64_t>(s.counts[p * kDigit]);
    const Item* sorted = memory;
    if (length_ <= kShortRow) std::sort(memory, memory + length_);
    else sorted = s.sort(differing);
    auto* const values = r_.out[0] ? reinterpret_cast<U*>(r_.out[0]) + row * length_ : nullptr;
    auto* const indices = r_.out[1] ? reinterpret_cast<int64_t*>(r_.out[1]) + row * length_ : nullptr;
    each(pieces, [&](int64_t p) {
      for (int64_t i = s.begin(p); i < s.begin(p + 1); ++i) {
        const int64_t from = sorted[i].index();
        if (values) values[i] = in[from];
        if (indices) indices[i] = from;
      }
    });
  }

  const CallRun& r_;
  const K keys_;
  const int64_t pieces_;
  int64_t length_ = 0, rows_ = 0;
};

int64_t pieces_for(const Meta& x) {
  return std::clamp<int64_t>(numel(x.shape) / kWorthAThread, 1, thread_count());
}

bool is_narrow(const Meta& x) { return size_of(x.dtype) <= 4 && x.shape.back() <= int64_t{1} << 32; }

size_t bytes_for(const Meta& x, int64_t pieces) {
  const int64_t length = x.shape.back(), rows = length ? numel(x.shape) / length : 0;
  return is_narrow(x) ? Sorting<Narrow, int>::bytes(length, pieces, rows >= pieces)
                      : Sorting<Wide, int>::bytes(length, pieces, rows >= pieces);
}

class CpuSort final : public jit::CallKernel {
 public:
  size_t workspace(std::span<const Meta> operands, std::span<const Meta>) const override {
    return bytes_for(operands[0], pieces_for(operands[0]));
  }
  void run(const CallRun& r) const override {
    const Meta& x = r.operands[0];
    if (numel(x.shape) == 0 || (!r.out[0] && !r.out[1])) return;
    int64_t pieces = pieces_for(x);  // computed again: there may be more threads by now
    while (bytes_for(x, pieces) > r.workspace_bytes) --pieces;
    switch (x.dtype) {
      case DType::bool_:
      case DType::uint8: return sort<Keys<uint8_t, false, false>>(r, pieces, 0);
      case DType::int8: return sort<Keys<uint8_t, true, false>>(r, pieces, 0);
      case DType::uint16: return sort<Keys<uint16_t, false, false>>(r, pieces, 0);
      case DType::int16: return sort<Keys<uint16_t, true, false>>(r, pieces, 0);
      case DType::uint32: return sort<Keys<uint32_t, false, false>>(r, pieces, 0);
      case DType::int32: return sort<Keys<uint32_t, true, false>>(r, pieces, 0);
      case DType::uint64: return sort<Keys<uint64_t, false, false>>(r, pieces, 0);
      case DType::int64: return sort<Keys<uint64_t, true, false>>(r, pieces, 0);
      case DType::float16: return sort<Keys<uint16_t, true, true>>(r, pieces, 0x7c00);
      case DType::bfloat16: return sort<Keys<uint16_t, true, true>>(r, pieces, 0x7f80);
      case DType::float32: return sort<Keys<uint32_t, true, true>>(r, pieces, 0x7f800000);
      case DType::float64: return sort<Keys<uint64_t, true, true>>(r, pieces, 0x7ff0000000000000);
    }
  }
  std::string schedule() const override { return "radix sort"; }

 private:
  template <class K>
  static void sort(const CallRun& r, int64_t pieces, uint64_t infinity) {
    K keys;
    keys.infinity = static_cast<typename K::Word>(infinity);
    keys.descending = r.spec.as<jit::calls::SortAttributes>().descending;
    if constexpr (K::kBits <= 32)
      if (is_narrow(r.operands[0])) return Sorting<Narrow, K>(r, keys, pieces).run();
    Sorting<Wide, K>(r, keys, pieces).run();
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_sort() { return std::make_unique<CpuSort>(); }

}  // namespace lazy::cpu_backend
