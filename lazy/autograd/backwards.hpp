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

/// Holds the derivations that lead to a value, the last first. What they hold stays meanwhile, also if
/// somebody else gives it up.
class Backwards {
 public:
  /// Finds those between the value and the targets. The way back ends at a target, at a leaf, and at values
  /// derived before derivation number `since`; the last two are the boundary. Error at the line if what one
  /// of them held was given up.
  Backwards(const Handle& value, std::span<const Handle> targets, const Site&, uint64_t since = 0);

  /// Records the gradients that lead to the targets, and to the boundary if there are no targets. `gradient`
  /// is that of the value.
  Gradients run(const Handle& gradient) const;
  /// Gives up what the derivations hold.
  void spend() noexcept;
  /// Returns the values at which the way back ended that are no targets, each once.
  const std::vector<Handle>& boundary() const { return boundary_; }

 private:
  /// Returns the values whose gradients are needed.
  std::unordered_set<const jit::Node*> wanted() const;

  Handle value_;
  std::vector<Handle> targets_, boundary_;
  struct Unpin {
    void operator()(Derivation* d) const noexcept { d->unpin(); }
  };
  using Pinned = std::unique_ptr<Derivation, Unpin>;
  std::vector<Pinned> order_;
};

}  // namespace lazy::detail
