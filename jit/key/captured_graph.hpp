// A flush's view of its graph: every value it concerns, numbered, and the canonical key of what is asked for.
//
// Values are numbered in the order of the list of pending nodes, an input, constant or index source right
// before its first user. The key holds, for each value, what programs are made of: op, dtype, rank, which
// extents are 1, operands by number, structural attributes, and whether the value must be kept. It does not
// hold extents, scalars, slice positions or where data lie: those are arguments, bound from the nodes at each
// flush.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "jit/graph/graph.hpp"
#include "jit/key/key.hpp"

namespace lazy::jit {

inline constexpr uint32_t kNone = ~0u;

struct CapturedGraph {
  std::vector<Node*> values;     // by value number
  std::vector<uint32_t> uses;    // operand edges to each value from the pending nodes
  std::vector<uint8_t> pending;  // 1: a node of this flush, to be computed if needed
  std::vector<uint32_t>
      key;  // canonical form; word 0: the settings that change what is computed, and for which code
  std::vector<Node*> taken;  // the component's nodes, in order
  // Of the run (plan/run.cpp), by slot. They live here because a captured graph's memory is used again and
  // again.
  std::vector<BufferRef> buffers;
  std::vector<char*> addresses;
  std::vector<Node*> overwritten;  // inputs whose memory was taken over
  std::vector<size_t> workspaces;  // bytes of calls' work memory; empty without calls
  std::vector<Node*> stands;       // in order: made by calls that ran and must not run again
  uint32_t outputs = 0;            // values that are computed here and kept
  // Nodes that are pending again after the run, with their recipes, in order: those dropped, and what they
  // are computed from, as far as that isn't kept.
  std::vector<Node*> repended;
  std::vector<uint32_t> dropped;        // outputs dropped by this flush (jit/flush/liveness.hpp)
  std::vector<uint64_t> costs;          // work memory of the choice, by value
  Graph::Spare spare;                   // so that a failed flush needs no memory
  CapturedGraph* next_spare = nullptr;  // in the thread's list of those not in use

  /// Numbers the values of `nodes` (a component, topological order). Leaves must be ready. Values that an
  /// earlier flush dropped and no one needs now are dropped again.
  /// `code_class`: of the backend that will run them.
  void build(std::span<Node* const> nodes, uint32_t code_class = 0);
  /// The captured graph of a key, with a node for each of its values.
  void restore(std::vector<uint32_t> key, std::vector<Node*> nodes);
  // Settings that decide what is computed are part of the key: whoever compiles for a key goes by these, for
  // the process's own may have changed since.
  KeySettings settings() const { return KeySettings::of(key[0]); }
  bool exact_casts() const { return settings().exact_casts; }
  bool fixes_arguments() const {  // LAZY_DYNAMIC=never
    return settings().dynamic == config::Dynamic::never;
  }
  bool contracts() const { return settings().fp_contract; }  // LAZY_FP_CONTRACT
  /// LAZY_VERIFY as build() found it: of this flush from its run to the comparison.
  config::Verify verify = config::Verify::off;
  /// Tells what backend the key is for; the same key for the code of another.
  uint32_t code_class() const { return settings().code_class; }
  static void set_code_class(std::vector<uint32_t>& key, uint32_t code_class) {
    KeySettings s = KeySettings::of(key[0]);
    s.code_class = code_class;
    key[0] = s.word();
  }
  /// These outputs (value numbers, ascending) are not kept, though they have handles: the key and who is a
  /// sole owner change.
  void drop(std::span<const uint32_t>);
  /// Returns what the key says of value v.
  KeyValue key_value(uint32_t v) const { return read_value(key.data() + word_of_[v]); }
  /// So that key_value() may be called.
  void find_words();
  /// The value is computed here and kept.
  bool is_output(uint32_t v) const { return pending[v] && (key_flags_[v] & 1); }
  /// An input that no one but this flush can see any more: its memory may be taken over.
  bool is_sole_owner(uint32_t v) const {
    const Node* n = values[v];
    const uint64_t counts = n->counts.load(std::memory_order_acquire);
    return (counts >> 32) == 0 && static_cast<uint32_t>(counts) == uses[v] && n->buffer->use_count() == 1 &&
           !n->buffer->borrowed();
  }

 private:
  uint32_t number_of(Node* input);
  void encode(Node*, bool output, const uint32_t* operands);
  void drop_again();
  std::vector<uint32_t> operands_;  // of the node that is being numbered, if it has many
  std::vector<uint8_t> key_flags_;
  std::vector<uint32_t> word_of_;
  std::vector<uint8_t> stays_;  // by value: re-pended
  struct Slot {
    Node* node;
    uint32_t number;
    uint32_t round;
  };
  std::vector<Slot> table_;  // inputs by address; a slot counts if its round is the current one
  uint32_t round_ = 0;
  uint32_t inputs_ = 0;
  void grow();
};

/// A captured graph for the calling thread, returned to it at the end of the scope (flushes may nest).
class CapturedGraphLease {
 public:
  CapturedGraphLease();
  ~CapturedGraphLease();
  CapturedGraph& operator*() { return *captured_; }
  CapturedGraph* operator->() { return captured_; }
  /// Frees those of the calling thread that are not in use.
  static void release_spare() noexcept;

 private:
  CapturedGraph* captured_;
};

}  // namespace lazy::jit
