// Says how values came about, for gradients. A value that depends on one that is differentiated by has a
// derivation attached to its node: the op, its operands and its rule. A derivation owns handles of the
// operands and lives as long as a result, so what nobody can differentiate any more is forgotten. Internal to
// lazy/.
//
// Handles keep values. A flush between forward and backward stores what derivations refer to, until it has
// learned what the rules never read (jit/flush/liveness.hpp); without one, backward has given all of them up
// by the time the step is flushed, and the step runs as if nobody had held them.
//
// Any thread may go back through derivations, several at once and one within another's hook: what is read
// stays until the last reader has left (pin), whoever gives it up meanwhile.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "jit/graph/attachment.hpp"
#include "lazy/core/record.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy::detail {

using Hook = std::function<Tensor(const Tensor&)>;
using LeafHook = std::function<void(Tensor)>;

/// Is attached to a value that gradients go through.
class Tracked : public jit::Attachment {
 public:
  bool is_leaf() const { return leaf_; }

 protected:
  explicit Tracked(bool leaf) : leaf_(leaf) {}

 private:
  const bool leaf_;
};

class Leaf;

/// Holds what is called with the gradient of a variable, and after it was added to.
struct LeafHooks {
  std::vector<Hook> hooks;
  std::vector<LeafHook> after;
};

/// Holds the hooks of a complex variable, whose planes are leaves.
struct PairHooks : LeafHooks {
  Leaf* leaves[2] = {};  // null: gone
};

/// Marks values that gradients are by: those that one variable has had, or a function's argument.
class Leaf final : public Tracked, public LeafHooks {
 public:
  explicit Leaf(bool variable);
  /// False for an argument: who updates a copy of it has a value that depends on it.
  const bool variable;
  /// Marks the value, the latest of the variable.
  void attach(const Handle&) noexcept;
  void left(jit::Node&) noexcept override;
  /// Returns the hooks of the complex variable of which this is a plane; null if there are none.
  const std::shared_ptr<PairHooks>& pair() const { return pair_; }
  /// Returns the hooks of the complex variable with these planes.
  static PairHooks& pair_of(Leaf& re, Leaf& im);
  /// Returns the latest value of a plane; empty if nobody has the variable any more.
  static Handle latest_of(const PairHooks&, int plane) noexcept;
  /// Returns what backward() has added up; empty: it never reached the variable. Any thread.
  Handle gradient() const noexcept;
  void set_gradient(Handle) noexcept;
  struct Added {
    Handle before, sum;
  };
  /// Returns how often something was added to it since it was empty.
  uint32_t additions() const noexcept;
  /// Adds to it and returns both sums. Threads that add at once lose nothing; the order of their sums is
  /// theirs.
  Added add_gradient(Handle, const Site&);
  /// Makes it what it was before something was added, unless it has changed again.
  void take_back(Added) noexcept;

 protected:
  ~Leaf() override;

 private:
  Handle gradient_;
  uint32_t additions_ = 0;
  jit::Node* latest_ = nullptr;
  std::shared_ptr<PairHooks> pair_;
};

/// Names a composite that has a derivative of its own.
struct NamedComposite {
  const char* name;
  Derivative own;
};
/// Stands for a copy to another device.
struct Transfer {};
/// Stands for the planes of a complex value, which have hooks together: the results are the operands.
struct Pairing {};

/// Holds what was recorded: what its rule (rules.hpp) needs.
struct RecordedOp {
  std::variant<Op, const jit::CallSpec*, NamedComposite, Transfer, Pairing> what;
  std::vector<Handle> operands;  // empty where a composite's was omitted
  jit::Attributes attributes;    // of an op
  Site site;                     // the user's line

  /// Returns what the call does; only for one.
  const jit::CallSpec& call() const { return *std::get<const jit::CallSpec*>(what); }
};

class Derivation final : public Tracked {
 public:
  /// Attaches a new one to the results, which hold it.
  static Derivation* attach(RecordedOp&&, std::span<const Handle> results);
  void left(jit::Node&) noexcept override;
  /// Returns the results. In place of one of several that is gone there is the same value again; in place of
  /// an only one an empty handle.
  std::vector<Handle> results();
  /// Keeps it, and what it holds, until unpin(). False if that was given up: then there is nothing to unpin.
  [[nodiscard]] bool pin() noexcept;
  void unpin() noexcept;
  /// Gives up what it holds, as soon as nobody has it pinned: it can't be differentiated any more.
  void spend() noexcept;
  bool spent() const noexcept { return state_.load(std::memory_order_relaxed) & kSpent; }

  const uint64_t number;  // later ones have higher numbers
  RecordedOp recorded;
  struct ResultHook {
    size_t result;  // number of the result that has it; of a Pairing both have
    Hook hook;
  };
  std::vector<ResultHook> hooks;
  /// Adds a hook of one of the results.
  void add_hook(const Handle& result, Hook);

 protected:
  ~Derivation() override;

 private:
  explicit Derivation(RecordedOp&&);
  void give_up() noexcept;

  static constexpr uint32_t kSpent = 1u << 31, kGivenUp = 1u << 30, kVisited = 1u << 29;
  std::atomic<uint32_t> state_{0};  // how many have it pinned, and those bits
  // Counts the parts of a sum of one element that its line adds up to; else 0.
  const uint32_t parts_of_total_;
  struct Result {
    jit::Node* node;  // null: dead, or it has another derivation
    Handle kept;      // the same value where a rule may read it after that
  };
  std::vector<Result> results_;
};

/// Returns what is attached to the value; null if no gradient goes through it.
inline Tracked* tracked(const Handle& h) {
  return h && !h->lost ? static_cast<Tracked*>(h->attachment) : nullptr;  // else there may be a recipe
}
/// Returns it as a derivation; null if it is none.
inline Derivation* derivation(const Handle& h) {
  Tracked* const t = tracked(h);
  return t && !t->is_leaf() ? static_cast<Derivation*>(t) : nullptr;
}
inline Leaf* leaf(const Handle& h) {
  Tracked* const t = tracked(h);
  return t && t->is_leaf() ? static_cast<Leaf*>(t) : nullptr;
}
/// True if gradients go through the value, also of what is recorded on it from now on.
inline bool is_tracked(const Handle& h) {
  const Tracked* const t = tracked(h);
  return t && (t->is_leaf() || !static_cast<const Derivation*>(t)->spent());
}
/// Makes the value, which nothing is recorded on that matters, one that gradients are by.
Leaf* make_leaf(const Handle&, bool variable = true);

/// Returns the number that the next derivation gets.
uint64_t derivations_so_far();

/// Counts, by thread, the scopes in which derivations are not kept.
extern thread_local constinit int gradients_paused;

/// Returns a value of its own that is the same, and lies where the other does. It depends on nothing.
Handle separate(const Handle&, const Site&);
/// Returns likewise one that gradients are by: a function's argument, unless it depends on what the other
/// depends on.
Handle separate_leaf(const Handle&, const Site&);

}  // namespace lazy::detail
