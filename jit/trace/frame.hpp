// A flush's view of its graph: every value it concerns, numbered, and the canonical key of what is asked for.
//
// Values are numbered in the order of the list of pending nodes, a leaf, constant or index source right
// before its first user. The key holds, for each value, what programs are made of: op, dtype, rank, which
// extents are 1, operands by number, structural attributes, and whether the value must be kept. It does not
// hold extents, scalars, slice positions or where data lie: those are arguments, bound from the nodes at each
// flush.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "jit/graph/node.hpp"

namespace lazy::jit {

inline constexpr uint32_t kNone = ~0u;

struct Frame {
  std::vector<Node*> values;     // by value number
  std::vector<uint32_t> uses;    // operand edges to each value from the pending nodes
  std::vector<uint8_t> pending;  // 1: a node of this flush, to be computed if needed
  std::vector<uint32_t> key;     // canonical form; word 0: the settings that change what is computed
  std::vector<Node*> taken;      // the component's nodes, in order
  // Of the run (plan/run.cpp), by slot. They live here because a frame's memory is used again and again.
  std::vector<BufferRef> buffers;
  std::vector<char*> addresses;
  std::vector<Node*> overwritten;  // leaves whose memory was taken over

  /// Numbers the values of `nodes` (a component, topological order). Leaves must be ready.
  void build(std::span<Node* const> nodes);
  /// The value is computed here and has a handle.
  bool is_output(uint32_t v) const { return pending[v] && (key_flags_[v] & 1); }
  /// A leaf that no one but this flush can see any more: its memory may be taken over.
  bool is_sole_owner(uint32_t v) const {
    const Node* n = values[v];
    const uint64_t counts = n->counts.load(std::memory_order_acquire);
    return (counts >> 32) == 0 && static_cast<uint32_t>(counts) == uses[v] && n->buffer->use_count() == 1 &&
           !n->buffer->borrowed();
  }

 private:
  uint32_t number_of(Node* leaf);
  void encode(Node*, bool output, const uint32_t* operands);
  std::vector<uint8_t> key_flags_;
  struct Slot {
    Node* node;
    uint32_t number;
    uint32_t round;
  };
  std::vector<Slot> table_;  // leaves by address; a slot counts if its round is the current one
  uint32_t round_ = 0;
  uint32_t leaves_ = 0;
  void grow();
};

/// A frame for the calling thread, returned to it at the end of the scope (flushes may nest).
class FrameLease {
 public:
  FrameLease();
  ~FrameLease();
  Frame& operator*() { return *frame_; }
  Frame* operator->() { return frame_; }

 private:
  Frame* frame_;
};

}  // namespace lazy::jit
