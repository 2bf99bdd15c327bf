#include "backends/cpu/scatter/scatter.hpp"

#include <algorithm>

#include "backends/cpu/emitter/call_table.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
using jit::loop::Form;
using jit::loop::LoopKernel;
using jit::loop::Operand;
using jit::loop::Stride;
namespace {

// A part has so many updates: offsets and updates of 8 bytes then take half of a first-level cache.
constexpr int64_t kPart = 1024;

/// Makes an output that lies packed in a part: the last axis in neighbours, or the same for all of it.
Operand packed_output(DType t, int rank, bool same_along_last) {
  Operand o;
  o.dtype = t;
  o.output = true;
  for (int a = 0; a < rank; ++a) o.stride[a] = Stride::any;
  o.stride[rank - 1] = same_along_last ? Stride::zero : Stride::unit;
  return o;
}

}  // namespace

Scatter::Scatter(const LoopKernel& k)
    : parts_(k), rank_(k.rank), scattered_(k.sequential), output_(k.stores[0].operand) {
  const jit::loop::Store store = k.stores[0];
  const DType type = k.operands[store.operand].dtype;
  size_ = static_cast<int64_t>(size_of(type));
  combine_ = combine_row(type, store.combine);
  const std::vector<uint8_t> same = same_along(k, k.rank - 1);
  same_offset_ = same[store.at];
  same_update_ = same[store.value];
  parts_.form = Form::map;
  parts_.sequential = -1;
  offsets_ = static_cast<int>(parts_.operands.size());
  parts_.operands[store.operand] = packed_output(type, k.rank, same_update_);
  parts_.operands.push_back(packed_output(DType::int64, k.rank, same_offset_));
  parts_.stores = {{store.operand, store.value}, {static_cast<uint16_t>(offsets_), store.at}};
}

/// Does one box on the calling thread.
class Scatter::Serial {
 public:
  Serial(const Scatter& s, const Partition& p, Partition::Entry entry, const uint64_t* args)
      : s_(s),
        partition_(p),
        entry_(entry),
        args_(args),
        from_(p.layout()),
        to_(layout_of(s.parts_)),
        words_(static_cast<size_t>(to_.words())),
        memory_(kPart * (8 + s.size_)),
        offsets_(reinterpret_cast<int64_t*>(memory_.data())),
        updates_(memory_.data() + kPart * 8) {
    words_[ArgLayout::kContext] = reinterpret_cast<uint64_t>(kCalls);
    for (int i = 0; i < from_.scalars; ++i) words_[at(to_.scalar(i))] = args[from_.scalar(i)];
    for (int o = 0; o < from_.operands; ++o)
      for (int a = 0; a < s_.rank_; ++a) words_[at(to_.stride(o, a))] = args[from_.stride(o, a)];
  }

  void run() {
    for (int a = 0; a < s_.rank_; ++a)
      if (length(a) <= 0) return;
    // A part is a piece of axis `cut` and all of the axes inside of it.
    cut_ = s_.rank_ - 1;
    int64_t inside = 1;
    while (cut_ > 0 && inside * length(cut_) < kPart) inside *= length(cut_--);
    const int64_t most = std::max<int64_t>(1, kPart / inside);
    lay_out(std::min(most, length(cut_)));
    int64_t index[jit::loop::kMaxAxes] = {};
    for (;;) {
      for (index[cut_] = 0; index[cut_] < length(cut_); index[cut_] += most)
        part(index, std::min(most, length(cut_) - index[cut_]));
      int a = cut_ - 1;
      for (; a >= 0 && ++index[a] == length(a); --a) index[a] = 0;
      if (a < 0) return;
    }
  }

 private:
  static size_t at(int word) { return static_cast<size_t>(word); }
  int64_t length(int axis) const { return partition_.length(args_, axis); }

  /// Sets the strides of what a part computes, which takes up to `rows` indices of the axis that is cut.
  void lay_out(int64_t rows) {
    const int last = s_.rank_ - 1;
    for (const int o : {s_.output_, s_.offsets_}) {
      const bool same = o == s_.output_ ? s_.same_update_ : s_.same_offset_;
      const int64_t size = o == s_.output_ ? s_.size_ : 8;
      int64_t step = same ? size : size * (cut_ == last ? rows : length(last));
      words_[at(to_.stride(o, last))] = static_cast<uint64_t>(same ? 0 : size);
      for (int a = last - 1; a >= 0; --a) {
        words_[at(to_.stride(o, a))] = static_cast<uint64_t>(a < cut_ ? 0 : step);
        step *= length(a);
      }
    }
  }

  void part(const int64_t* first, int64_t count) {
    for (int a = 0; a < s_.rank_; ++a) {
      const int64_t extent = a < cut_ ? 1 : a == cut_ ? count : length(a);
      words_[at(to_.extent(a))] = static_cast<uint64_t>(extent);
      words_[at(to_.origin(a))] = args_[from_.origin(a)] + static_cast<uint64_t>(first[a]);
    }
    char* base = nullptr;
    for (int o = 0; o < from_.operands; ++o) {
      uint64_t p = args_[from_.pointer(o)];
      for (int a = 0; a <= cut_; ++a) p += static_cast<uint64_t>(first[a] * partition_.step(args_, o, a));
      words_[at(to_.pointer(o))] = p;
      if (o == s_.output_) base = reinterpret_cast<char*>(p);
    }
    words_[at(to_.pointer(s_.output_))] = reinterpret_cast<uint64_t>(updates_);
    words_[at(to_.pointer(s_.offsets_))] = reinterpret_cast<uint64_t>(offsets_);
    words_[ArgLayout::kScratch] = 0;
    entry_(words_.data());
    combine(base, count);
  }

  /// Combines the part's updates, in order.
  void combine(char* base, int64_t count) const {
    const int last = s_.rank_ - 1;
    ScatterRow row;
    row.at_step = s_.same_offset_ ? 0 : 1;
    row.update_step = s_.same_update_ ? 0 : 1;
    row.base_step = partition_.step(args_, s_.output_, last);
    row.count = cut_ == last ? count : length(last);
    row.at = offsets_;
    row.updates = updates_;
    int64_t index[jit::loop::kMaxAxes] = {};
    const auto extent = [&](int a) { return a == cut_ ? count : length(a); };
    for (;;) {
      row.base = base;
      for (int a = cut_; a < last; ++a) row.base += index[a] * partition_.step(args_, s_.output_, a);
      s_.combine_(row);
      row.at += s_.same_offset_ ? 1 : row.count;
      row.updates += (s_.same_update_ ? 1 : row.count) * s_.size_;
      int a = last - 1;
      for (; a >= cut_ && ++index[a] == extent(a); --a) index[a] = 0;
      if (a < cut_) return;
    }
  }

  const Scatter& s_;
  const Partition& partition_;
  const Partition::Entry entry_;
  const uint64_t* const args_;
  const ArgLayout from_, to_;  // of the kernel's arguments, of its parts'
  std::vector<uint64_t> words_;
  const Scratch memory_;
  int64_t* const offsets_;
  char* const updates_;
  int cut_ = 0;
};

/// Returns the axis whose indices threads share: what they write to is apart. -1: there is none.
int Scatter::line_axis(const Partition& p, const uint64_t* args, int threads) const {
  int best = -1;
  for (int a = 0; a < rank_; ++a)
    if (a != scattered_ && p.length(args, a) >= threads && (best < 0 || p.length(args, best) < 4 * threads) &&
        (best < 0 || p.length(args, a) > p.length(args, best)))
      best = a;
  return best;
}

void Scatter::run(const Partition& p, Partition::Entry entry, const uint64_t* args, int threads) const {
  const int axis = threads > 1 ? line_axis(p, args, threads) : -1;
  if (axis < 0) return Serial(*this, p, entry, args).run();
  const int64_t n = p.length(args, axis), grain = (n + threads - 1) / threads;
  p.each_piece(args, (n + grain - 1) / grain, threads, [&](uint64_t* mine, int64_t piece) {
    p.restrict(mine, axis, piece * grain, std::min(n, (piece + 1) * grain));
    Serial(*this, p, entry, mine).run();
  });
}

}  // namespace lazy::cpu_backend
