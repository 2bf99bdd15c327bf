// Defines a node: one recorded op, or a value that exists. Immutable once recorded, but for its state and its
// value.
//
// Reference counting. One 64-bit word counts handles (user-visible Tensors, upper half) and references
// (operand edges, programs in flight and handles, lower half). A node whose lower half reaches zero dies,
// iteratively: a chain of a million nodes needs no stack. At a flush only nodes with a handle are kept as
// values.
//
// States. pending: in its graph's list, recipe only. flushing: taken by a flush that is under way on some
// thread. ready: `buffer` holds the value. A failed flush makes its nodes pending again, and a good one those
// whose values it drops (jit/flush/liveness.hpp).
//
// Threads. Any thread may record on, read or drop any tensor. Each thread records into a graph of its own
// (Graph, in graph.hpp), which has a lock of its own; a pending node of another thread's graph is flushed
// there before it is used.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <type_traits>

#include "jit/backend/buffer.hpp"
#include "jit/core/device.hpp"
#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"
#include "jit/core/shape.hpp"
#include "jit/graph/attributes.hpp"
#include "jit/graph/handle.hpp"
#include "jit/graph/rare_dims.hpp"
#include "jit/graph/scalar.hpp"
#include "support/forks.hpp"
#include "support/site.hpp"

namespace lazy::jit {

class Attachment;
class CallSpec;
class Graph;
struct Component;
struct Node;

enum class State : uint8_t { pending, ready, flushing };  // flushing and all above it: see flushing_here()

/// Returns the state of a node that a flush of this process has taken. A forked child finds another value in
/// nodes that a flush of its parent had taken: no one will ever finish these.
inline State flushing_here() noexcept {
  constexpr uint32_t kStates = 256 - static_cast<uint32_t>(State::flushing);
  return static_cast<State>(static_cast<uint32_t>(State::flushing) + forks::generation() % kStates);
}

/// Holds a node's operands, as many as its arity, and marks the inputs: those that are values to the flush
/// that takes the node. The first few are in the node.
class Operands {
 public:
  static constexpr int kInline = 3;

  Operands() = default;
  Operands(const Operands&) = delete;
  ~Operands() {
    if (at_ != inline_) [[unlikely]]
      release();
  }
  /// Makes room for `n` in all, before the first is added. Throws std::bad_alloc.
  void reserve(int n);
  Node*& operator[](int i) { return at_[i]; }
  Node* operator[](int i) const { return at_[i]; }
  Node* const* begin() const { return at_; }
  bool is_input(int i) const {
    if (i < kBits) [[likely]]
      return (inputs_ >> i & 1) != 0;
    return (more_inputs(i) >> (i % kBits) & 1) != 0;
  }
  void mark_input(int i) { (i < kBits ? inputs_ : more_inputs(i)) |= uint64_t{1} << (i % kBits); }
  /// True if one of the first `arity` is an input.
  bool any_input(int arity) const;
  /// Takes over the first `arity` of another node's, which has none then. The own ones are forgotten.
  void take(Operands& from, int arity) noexcept;

 private:
  static constexpr int kBits = 64;
  uint64_t& more_inputs(int i) const {  // words of bits before the pointers, and their number
    return reinterpret_cast<uint64_t*>(at_)[-1 - i / kBits];
  }
  void release() noexcept;
  Node** at_ = inline_;
  Node* inline_[kInline];  // set up to the arity
  uint64_t inputs_ = 0;
};

struct Node : Counted {
  std::atomic<State> state{State::pending};
  DType dtype{};
  Op op{};
  Device device{};         // for a source (constant, iota) set only where it becomes a value
  bool contiguous = true;  // for a ready value: row-major without gaps (strides then follow from the shape)
  /// The axis along which neighbours are side by side, by the recorded views that led to the value
  /// (contiguous_axis_of() in layout.hpp). Part of what was recorded: memory, to which a flush may give
  /// another layout, doesn't change it.
  int8_t contiguous_axis = kPackedAxis;
  static constexpr int8_t kPackedAxis = -1, kNoContiguousAxis = -2;  // the last axis longer than 1; none
  /// Dimensions that the user marked static (low byte) and dynamic (high byte): programs that read this node
  /// as an input may rely on them. Part of their key.
  std::atomic<uint16_t> marks{0};
  /// True if a run that failed halfway had already overwritten the value, which nobody else could see, or if
  /// there never is one (without_value() in record.hpp): then `buffer` is empty.
  bool lost = false;
  /// Set by the floor above for what it recorded without telling those that derive gradients.
  bool underived = false;
  /// True for a value that a frozen model has of a parameter or buffer: set before others know the node. What
  /// intentions are folded by (jit/flush/folds.hpp), and what is not assigned to.
  bool frozen = false;
  bool of_frozen = false;  // a view of such a value: it stays as well, and may be assigned to
  /// Set by the floor above for an image (N, C, spatial...) that is a view of one with its channels last:
  /// what is recorded of it is recorded so too (lazy/core/memory_format.hpp).
  bool channels_last = false;
  bool read_by_taken = false;  // while Graph::take runs, guarded by its lock: a node that it took reads this
  Accuracy accuracy{};         // of an elementary function: which of its forms (form_of); else full
  int arity = 0;
  uint32_t index = 0;  // scratch memory of the flush that took the node
  Operands operand;    // Graph::link marks as inputs what was not pending in this graph

  // Valid while pending, guarded by the graph's lock.
  Graph* graph = nullptr;
  Component* component = nullptr;
  Node* previous = nullptr;
  Node* next = nullptr;

  // Valid once ready. Strides are in elements and valid only if !contiguous; offset is in elements.
  BufferRef buffer;
  int64_t offset = 0;

  std::atomic<uintptr_t> watch{0};  // what is observed of the value's later use (observed.hpp)
  Attachment* attachment =
      nullptr;  // what the floor above keeps with it while it has handles (attachment.hpp)
  Site site{};
  Shape shape;
  RareDims
      ints;  // reshape, broadcast: extents. slice: start, step per axis is in `ints` and `steps`. iota: axis
  RareDims steps;
  RareDims axes;  // structural attributes: permute's source axes; reduce and scan: the one axis; part: which
                  // output
  RareDims strides;                // see `buffer`
  Scalar scalar;                   // constant
  const char* purpose = nullptr;   // for reports: why a composite of the library records it (Purpose)
  const CallSpec* call = nullptr;  // for a call: what it does (jit/calls/call.hpp); else null

  bool ready() const { return state.load(std::memory_order_acquire) == State::ready; }
  char* data() const {
    return static_cast<char*>(buffer->data()) + offset * static_cast<int64_t>(size_of(dtype));
  }
  uint32_t handles() const { return static_cast<uint32_t>(counts.load(std::memory_order_relaxed) >> 32); }
};

/// True for a constant of which no element is read (record.hpp, overwritten()).
inline bool is_overwritten(const Node& n) { return n.op == Op::constant && is_marked_overwritten(n); }

inline void add_reference(Node* n) noexcept { fetch_add(n->counts, 1, std::memory_order_relaxed); }
void drop_reference(Node*) noexcept;

static_assert(std::is_base_of_v<Counted, Node> && alignof(Node) >= alignof(Counted) &&
              !std::is_polymorphic_v<Node>);

}  // namespace lazy::jit
