// Goes through derivations backwards. Internal to lazy/.
#pragma once
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "lazy/autograd/rules.hpp"

namespace lazy::detail {

/// ShapeError or DtypeError unless a gradient is like its value.
void check_gradient(const char* name, const Handle& gradient, const Handle& value, const Site&);

/// Holds the derivations that lead to some values, the last first. What they hold stays meanwhile, also if
/// somebody else gives it up.
class Backwards {
 public:
  /// Finds those between the values, one or the planes of one, and the targets. The way back ends at a
  /// target, at a leaf, and at values derived before derivation number `since`; the last two are the
  /// boundary. Error at the line if what one of them held was given up.
  Backwards(std::span<const Handle> values, std::span<const Handle> targets, const Site&, uint64_t since = 0);
  Backwards(const Handle& value, std::span<const Handle> targets, const Site& s, uint64_t since = 0)
      : Backwards(std::span(&value, 1), targets, s, since) {}

  /// Records the gradients that lead to the targets. `gradients` are those of the values.
  Gradients run(std::span<const Handle> gradients) const;
  Gradients run(const Handle& gradient) const { return run(std::span(&gradient, 1)); }

  /// Holds a leaf, one of the values at which the way back ended that have it, and the sum of their gradients
  /// after the leaf's hooks; empty if none came there.
  struct Part {
    Leaf& leaf;
    Handle value, gradient;
  };
  /// Is called with a leaf, or with both planes' of a complex variable that has hooks.
  using Reached = std::function<void(std::span<Part>)>;
  /// Records the gradients that lead to the boundary, which are leaves. Each leaf is reached once: as soon as
  /// the last derivation that reads a value of it has been gone through, before the next is. Planes of a
  /// variable with hooks are reached together, at the later of the two, and also where one is none of the
  /// boundary.
  void run(std::span<const Handle> gradients, const Reached&) const;
  /// Gives up what the derivations hold.
  void spend() noexcept;
  /// Returns the values at which the way back ended that are no targets, each once.
  const std::vector<Handle>& boundary() const { return boundary_; }

 private:
  /// Returns the values whose gradients are needed.
  std::unordered_set<const jit::Node*> wanted() const;
  struct Release {
    void operator()(Leaf* l) const noexcept { l->release(); }
  };
  /// Holds a leaf of the boundary.
  struct End {
    std::unique_ptr<Leaf, Release> leaf;   // a hook may end the mark
    std::vector<Handle> values;            // those of the boundary that have it
    size_t after = 0;                      // so many derivations have been gone through then
    std::shared_ptr<PairHooks> pair = {};  // of a complex variable that has hooks when the pass begins
    std::unique_ptr<End> other = {};       // of its other plane; null: it is gone
  };
  /// Returns the leaves in the order in which they are reached.
  std::vector<End> ends() const;
  /// Puts ends of one complex variable with hooks together, where the later one is.
  static void pair(std::vector<End>&);
  /// Returns the sum of the gradients of the end's values.
  static Handle sum_of(const End&, Gradients&);
  /// Hands a leaf's gradient to its hooks, and on.
  static void reach(const End&, Gradients&, const Reached&);
  /// Records how the gradients of a derivation's results go on to its operands.
  static void go_through(Derivation&, const std::vector<Handle>& results, Gradients&);
  /// Returns the gradients with which a pass begins.
  Gradients first(std::span<const Handle> gradients) const;

  std::vector<Handle> values_, targets_, boundary_;
  struct Unpin {
    void operator()(Derivation* d) const noexcept { d->unpin(); }
  };
  using Pinned = std::unique_ptr<Derivation, Unpin>;
  std::vector<Pinned> order_;
};

}  // namespace lazy::detail
