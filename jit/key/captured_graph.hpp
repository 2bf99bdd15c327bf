// Captures a flush's view of its graph: every value that it concerns, numbered, and the canonical key.
//
// Values are numbered in the order of the list of pending nodes, an input, constant or index source right
// before its first user. The key holds, for each value, what programs are made of: op, dtype, rank, which
// extents are 1, operands by number, structural attributes, and if the value is an output. It does not hold
// extents, scalars, slice positions or where data lie: those are arguments, bound from the nodes at each
// flush.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "jit/graph/graph.hpp"
#include "jit/key/key.hpp"
#include "support/unset.hpp"

namespace lazy::jit {

inline constexpr uint32_t kNone = ~0u;

struct CapturedGraph {
  UnsetVector<Node*> values;     // indexed by value number
  UnsetVector<uint32_t> uses;    // number of operand edges to each value from the pending nodes
  UnsetVector<uint8_t> pending;  // 1 for a node of this flush, to be computed if needed
  std::vector<uint32_t>
      key;  // canonical form; word 0: the settings that change what is computed, and the class of code
  std::vector<Node*> taken;  // the component's nodes, in recorded order
  std::vector<Node*> held;   // those of them of which the flush has a reference (Graph::take)
  // State of the run (jit/run/run.cpp), by slot. It lives here because a captured graph's memory is
  // reused.
  std::vector<BufferRef> buffers;
  std::vector<char*> addresses;
  std::vector<Node*> overwritten;  // inputs whose memory outputs took over
  std::vector<uint32_t> donors;  // inputs whose memory slots take over, by slot; empty until one is asked for
  std::vector<uint8_t> gives;    // 1 for each of these inputs, by value
  std::vector<size_t> workspaces;  // bytes of calls' work memory, by slot; empty without calls
  std::vector<Node*> stands;       // in order: values of calls that ran and must not run again
  uint32_t copied = kNone;         // an update of a small part for which all of a large base was copied
  uint64_t place = 0;              // a hash of the key, equal for equal keys
  uint32_t outputs = 0;            // number of values that are computed here and stored
  // Nodes that are pending again after the run, with their recipes, in order: those dropped, and what they
  // are computed from, unless it is stored.
  std::vector<Node*> repended;
  std::vector<uint32_t> dropped;        // outputs dropped by this flush (jit/flush/liveness.hpp)
  std::vector<uint64_t> costs;          // work memory of Liveness::choose, by value
  Graph::Spare spare;                   // lets a failed flush undo itself without memory
  CapturedGraph* next_spare = nullptr;  // next in the thread's list of those not in use

  /// Numbers the values of `nodes` (a component, topological order). Values that an earlier flush dropped and
  /// that are not needed now are dropped again. `code_class` is that of the backend that will run them. False
  /// if an input is not ready, or if one of them is an intention, unless they are `expanded`: then it is to
  /// be called again once all are.
  [[nodiscard]] bool build(std::span<Node* const> nodes, uint32_t code_class = 0, bool expanded = true);
  /// Restores the captured graph of a key, with a node for each of its values.
  void restore(std::vector<uint32_t> key, std::vector<Node*> nodes);
  // Returns the settings that decide what is computed, from the key: compilers for a key must use these, for
  // the process's may have changed since.
  KeySettings settings() const { return KeySettings::of(key[0]); }
  bool exact_casts() const { return settings().exact_casts; }
  bool fixes_arguments() const {  // LAZY_DYNAMIC=never
    return settings().dynamic == config::Dynamic::never;
  }
  bool contracts() const { return settings().fp_contract; }  // LAZY_FP_CONTRACT
  /// LAZY_VERIFY as build() read it, valid for this flush until its values are compared.
  config::Verify verify = config::Verify::off;
  /// Returns the class of code that the key is for; set_code_class() turns the key into that of another
  /// class.
  uint32_t code_class() const { return settings().code_class; }
  static void set_code_class(std::vector<uint32_t>& key, uint32_t code_class) {
    KeySettings s = KeySettings::of(key[0]);
    s.code_class = code_class;
    key[0] = s.word();
  }
  /// Drops these outputs (value numbers, ascending), though they have handles: the key and sole ownership
  /// change.
  void drop(std::span<const uint32_t>);
  /// Returns the part of the key that describes value v.
  KeyValue key_value(uint32_t v) const { return read_value(key.data() + word_of_[v]); }
  /// Prepares calls of key_value().
  void find_words();
  /// True if the value is computed here and stored.
  bool is_output(uint32_t v) const { return pending[v] && (key_flags_[v] & 1); }
  /// True for an input that only this flush can see any more. Its memory may be taken over if no other has a
  /// part of it.
  bool is_sole_owner(uint32_t v) const {
    const Node* n = values[v];
    const uint64_t counts = n->counts.load(std::memory_order_acquire);
    return (counts >> 32) == 0 && static_cast<uint32_t>(counts) == uses[v] && n->buffer->writable();
  }

 private:
  class Builder;
  void drop_again();
  UnsetVector<uint32_t> words_;     // where the key is written
  std::vector<uint32_t> operands_;  // operands of the node that is being numbered, if it has many
  UnsetVector<uint8_t> key_flags_;
  std::vector<uint32_t> word_of_;
  std::vector<uint8_t> stays_;  // bits by value: 1 re-pended, 2 its operands are counted
  struct Slot {
    Node* node;
    uint32_t number;
    uint32_t round;
  };
  std::vector<Slot> table_;  // inputs by address; a slot is valid if its round is the current one
  uint32_t round_ = 0;
  uint32_t inputs_ = 0;
  bool begin(std::span<Node* const>, uint32_t code_class);  // false: one is an intention
  void grow();
};

/// Lends the calling thread a captured graph for a scope (flushes may nest).
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
