#include "jit/trace/frame.hpp"

#include <memory>

#include "support/config.hpp"
#include "support/error.hpp"

namespace lazy::jit {
namespace {

uint32_t ones_of(const Shape& s) {
  uint32_t bits = 0;
  for (int i = 0; i < s.size(); ++i) bits |= static_cast<uint32_t>(s[i] == 1) << i;
  return bits;
}
size_t slot_of(const Node* n, size_t mask) {
  return (reinterpret_cast<uintptr_t>(n) * 0x9E3779B97F4A7C15ull >> 32) & mask;
}

}  // namespace

// Word 0: op, dtype, rank, extents that are 1.  Word 1: output, arity, structural attributes (3 bits each; of
// a leaf, its marks). Operands.
void Frame::encode(Node* n, bool output, const uint32_t* operands) {
  const auto rank = static_cast<uint32_t>(n->shape.size());
  // A leaf is a value, whatever op made it. A source is its own recipe, whether it was also evaluated or not.
  const bool recipe = operands || kind_of(n->op) == OpKind::constant || kind_of(n->op) == OpKind::iota;
  const Op op = recipe ? n->op : Op::leaf;
  const uint32_t arity = operands ? n->arity : 0;
  uint32_t axes = 0, axis_count = 0;
  if (recipe) {
    for (int64_t a : n->axes) axes = axes << 3 | static_cast<uint32_t>(a);
    axis_count = static_cast<uint32_t>(n->axes.size());
  }
  key.push_back(static_cast<uint32_t>(op) | static_cast<uint32_t>(n->dtype) << 8 | rank << 16 |
                ones_of(n->shape) << 24);
  if (op == Op::leaf) axes = n->marks.load(std::memory_order_relaxed);
  key.push_back(static_cast<uint32_t>(output) | arity << 1 | axis_count << 4 | axes << 8);
  for (uint32_t i = 0; i < arity; ++i) key.push_back(operands[i]);
  values.push_back(n);
  uses.push_back(0);
  key_flags_.push_back(output);
}

uint32_t Frame::number_of(Node* leaf) {
  if (leaves_ * 2 >= table_.size()) grow();
  const size_t mask = table_.size() - 1;
  for (size_t i = slot_of(leaf, mask);; i = (i + 1) & mask) {
    Slot& s = table_[i];
    if (s.round == round_ && s.node == leaf) return s.number;
    if (s.round != round_) {
      if (leaf->lost)
        throw Error("an input was overwritten by an earlier run of this computation, which failed",
                    leaf->site);
      s = {leaf, static_cast<uint32_t>(values.size()), round_};
      ++leaves_;
      encode(leaf, false, nullptr);
      pending.push_back(0);
      return s.number;
    }
  }
}

void Frame::grow() {
  std::vector<Slot> old(std::max<size_t>(64, table_.size() * 2), Slot{nullptr, 0, 0});
  old.swap(table_);
  const size_t mask = table_.size() - 1;
  for (const Slot& s : old) {
    if (s.round != round_) continue;
    size_t i = slot_of(s.node, mask);
    while (table_[i].round == round_) i = (i + 1) & mask;
    table_[i] = s;
  }
}

void Frame::build(std::span<Node* const> nodes) {
  values.clear();
  uses.clear();
  pending.clear();
  key.clear();
  key_flags_.clear();
  leaves_ = 0;
  const auto& settings = config::get();
  key.push_back(static_cast<uint32_t>(settings.exact_casts) |
                static_cast<uint32_t>(settings.dynamic.get()) << 1 |
                static_cast<uint32_t>(settings.fp_contract) << 3);
  if (++round_ == 0) {  // wrapped: forget the stamps of 2^32 flushes ago
    table_.assign(table_.size(), Slot{nullptr, 0, 0});
    round_ = 1;
  }
  for (Node* n : nodes) {
    uint32_t operands[3];
    for (int i = 0; i < n->arity; ++i) {
      Node* o = n->operand[i];
      operands[i] = (n->leaf_mask >> i & 1) ? number_of(o) : o->index;
      ++uses[operands[i]];
    }
    n->index = static_cast<uint32_t>(values.size());
    encode(n, n->handles() != 0, operands);
    pending.push_back(1);
  }
}

namespace {
thread_local std::vector<std::unique_ptr<Frame>> spare;
}

FrameLease::FrameLease() {
  if (spare.empty()) {
    frame_ = new Frame;
  } else {
    frame_ = spare.back().release();
    spare.pop_back();
  }
}
FrameLease::~FrameLease() { spare.emplace_back(frame_); }

}  // namespace lazy::jit
