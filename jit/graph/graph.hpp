// Holds the pending graph of one thread: nodes that were recorded and have no value yet, in connected
// components.
//
// A component is a list of nodes in recorded order, which is a topological order. An op that uses nodes of
// two components joins them (union by forwarding). A flush takes a whole component. The lock guards the lists
// and the states of the nodes in them; it is locked for tens of nanoseconds and never while anything else is
// called.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "jit/graph/node.hpp"
#include "support/lock.hpp"

namespace lazy::jit {

struct Component {
  Component* parent = nullptr;  // component into which this one was merged
  Node* head = nullptr;
  Node* tail = nullptr;
  uint32_t count = 0;           // nodes in the list
  uint32_t references = 0;      // number of nodes and components that point here
  bool differentiable = false;  // gradients go through one of its values: a step of training is one graph
  uint64_t live_bytes = 0;      // bytes of all values when the first node was recorded (LAZY_MAX_BYTES)
  uint64_t first_time = 0;      // when the first node was recorded, in ticks, for LAZY_PROFILE
  Site first_site{};  // where the component began: limits cut at this line again (stable from one iteration
                      // to the next)
};

/// Names the limit that asks for a flush. nodes_before: the node was not added; its operands must be flushed
/// first.
enum class Limit : uint8_t { none, nodes, bytes, nodes_before };

/// Holds handles of a new node's operands that the caller gives away: they become the node's references.
/// Until they do, the node's operand edges are not counted.
class GivenHandles {
 public:
  /// Bit i of `which`: the handle of operand i, which is no const object.
  GivenHandles(std::span<const Handle* const> operands, unsigned which)
      : operands_(operands), which_(which) {}
  GivenHandles(const GivenHandles&) = delete;
  ~GivenHandles() {
    if (which_) [[unlikely]]
      add_references();  // something was thrown: the node goes and drops them
  }
  bool has(int operand) const { return (which_ >> operand & 1) != 0; }
  /// Turns the handles into references. Called while no thread can take the node's operands without the node.
  void take(const Node&) noexcept;

 private:
  void add_references() noexcept;
  std::span<const Handle* const> operands_;
  unsigned which_;
};

struct Linked {
  Limit limit = Limit::none;
  bool waits = false;  // true if an operand is a value that another thread's flush is making
};

class Graph {
 public:
  /// Holds components that a flush allocates ahead, so that its nodes can be re-pended without memory.
  class Spare {
   public:
    Spare() = default;
    Spare(const Spare&) = delete;
    ~Spare();
    /// Allocates as many components as any of the calls below may take. Throws std::bad_alloc.
    void fill();

   private:
    friend class Graph;
    static constexpr int kMost = 2;
    Component* take() noexcept;
    Component* held_[kMost] = {};
    int count_ = 0;
  };
  /// Returns the calling thread's graph. Graphs are never freed: one whose thread ended serves a later
  /// thread.
  static Graph& mine() {
    if (current_) [[likely]]
      return *current_;
    return begin_mine();
  }

  /// Adds a node whose operands are recorded already, joining their components. Returns the limit that asks
  /// for a flush now.
  Linked link(Node*, GivenHandles* = nullptr);
  /// Adds an output of a call that was linked just now: no limit applies between them.
  void link_part(Node*);
  /// Notes that gradients go through a node, if it is still in a list.
  void note_differentiable(Node*) noexcept;
  /// Removes a dying node (no references) if it is still in a list.
  void unlink(Node*) noexcept;
  /// Joins the components of two nodes of one device, so that one flush takes both, unless they have more
  /// nodes together than the graph of a loop has. Returns false if another that is to be joined had better
  /// join the second one.
  bool join_for_flush(Node*, Node*);
  /// Takes the component of a pending node, of which the caller has a handle: each living node of it is now
  /// `flushing` and put into `out`, in order. Other nodes that none of them reads carry one more reference
  /// and are also in `held`; so all of them live until that is dropped. Both are empty if the node is not
  /// pending any more. Returns when the first of them was recorded, if that is known (a time stamp of
  /// support/profile.hpp, or 0).
  uint64_t take(Node*, std::vector<Node*>& out, std::vector<Node*>& held);
  /// Undoes `take` after a failure: the nodes are pending again, each in its connected component. Operands
  /// that are values by now become inputs.
  void restore(const std::vector<Node*>&, Spare&) noexcept;
  /// Re-pends those of the taken nodes whose values a successful run dropped, each in its connected
  /// component. Operands that are values by now become inputs.
  void repend(const std::vector<Node*>&, Spare&) noexcept;
  /// Undoes `take` in two parts; the second, from `middle` on, has the first's values as inputs.
  void restore_in_two(const std::vector<Node*>&, size_t middle, Spare&) noexcept;

  /// True if it is the graph of a RecordingApart.
  bool is_apart() const { return apart_ != nullptr; }

  // Effects: calls that run though nobody reads them. Each thread has its own, in a stream for each number
  // (CallDefinition::stream) and device.
  /// Returns the latest of a stream, whose token is the next one's operand; null if there was none.
  const Handle* last_effect(int stream, Device) const;
  /// Makes `call`, an op of that name, the latest of its stream. It keeps the earlier ones alive until they
  /// have run.
  void hold_effect(int stream, const char* name, const Handle& call);
  /// Returns the latest of each stream.
  std::vector<Handle> effects() const;
  /// Warns of each stream with effects that have not run, and forgets them: the thread ends, and they will
  /// not run.
  void end_effects() noexcept;

 private:
  class Locked;
  static Graph& begin_mine();
  static thread_local constinit Graph* current_;
  Component* find(Node*) noexcept;
  Component* root_of(Node*) noexcept;  // of a node whose component was merged into another
  /// Returns the one component into which the node's pending operands are joined; null if there are none.
  /// `waits` as in Linked.
  Component* joined(Node*, bool& waits) noexcept;
  Component* joined(Node* n) noexcept {
    bool waits = false;
    return joined(n, waits);
  }
  Component* join(Component*, Component*) noexcept;  // two different ones
  void append(Component*, Node*) noexcept;
  void append_apart(Node*, Component*& last_resort, Spare&) noexcept;
  void leave(Node*) noexcept;
  void unreference(Component*) noexcept;
  uint64_t take_locked(Node*, std::vector<Node*>& out, std::vector<Node*>& held) noexcept;
  /// Returns a component of the free list, or null.
  Component* kept() noexcept;
  static void mark_inputs(std::span<Node* const>) noexcept;
  static void mark_values(Node*) noexcept;
  void restore_locked(std::span<Node* const>, Spare&) noexcept;

  friend class RecordingApart;
  struct Tenant;
  static Graph* take_idle();
  static Graph* apart_of_mine();  // that the calling thread records apart into
  static void give_idle(Graph*) noexcept;
  SpinLock lock_;
  Component* apart_ = nullptr;  // of all nodes, while the graph is a RecordingApart's
  bool torn_ = false;           // a thread of the parent was changing it when this process was forked
  Graph* next_idle_ = nullptr;  // next in the list of graphs that no thread uses
  Component* free_ = nullptr;
  struct Effect {
    int stream;
    const char* name;  // of the latest, for messages
    Handle latest;
  };
  std::vector<Effect> effects_;  // one a stream and device; only the thread that uses the graph reads them
};

/// Has the calling thread record into a list of its own, for a scope: what the nodes of a flush under way
/// are to be replaced by. Operands are nodes of that flush, values, or recorded in the scope. No limit
/// applies, and nothing is evaluated, whatever LAZY_EAGER says. One at a time on a thread.
class RecordingApart {
 public:
  RecordingApart();
  RecordingApart(const RecordingApart&) = delete;
  ~RecordingApart();
  /// Moves the living nodes, in recorded order, to the flush that the caller does of nodes of `graph`. Throws
  /// std::bad_alloc, and moves none then.
  void take(Graph& graph, std::vector<Node*>& out);

 private:
  Graph* const graph_;
  Graph* const outer_;
};

/// Returns fixed-size memory for a node, from a per-thread free list.
Node* new_node();
void free_node(Node*) noexcept;
/// Drops `n[i]` references of node i, at once: of nodes that aren't pending (drop_references in node.hpp).
void drop_references(std::span<Node* const>, const uint32_t* n) noexcept;
/// Returns the calling thread's free nodes to the system.
void release_spare_nodes() noexcept;

}  // namespace lazy::jit
