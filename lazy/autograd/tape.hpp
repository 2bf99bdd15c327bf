// Keeps what is recorded in a scope from chosen values on, for differentiation. Internal to lazy/.
#pragma once
#include <unordered_set>
#include <vector>

#include "lazy/core/record.hpp"

namespace lazy::detail {

/// Holds one op: what its rule (rules.hpp) needs.
struct Taped {
  Op op{};                              // Op::input: a transfer between devices
  const jit::CallSpec* call = nullptr;  // of Op::call
  std::vector<Handle> operands;
  jit::Attributes attributes;
  std::vector<Handle> results;  // one; of a call its outputs
  Site site;                    // the user's line
};

/// Keeps the ops on the way from the watched values, in order. An op that has no derivative, or none of whose
/// operands depends on a watched value, is not kept. The tape owns handles: values that are computed while it
/// lives are stored.
class Tape final : public Observer {
 public:
  void watch(const Handle& h) { depends_.insert(h.get()); }
  /// True if the value depends on one that is watched. Invariant: such a value is alive, so that no other has
  /// its address.
  bool depends(const Handle& h) const { return depends_.contains(h.get()); }
  const std::vector<Taped>& ops() const { return ops_; }

  void recorded(const Recorded&) override;
  void recorded_call(const RecordedCall&) override;
  void transferred(const Handle& from, const Handle& to, const Site&) override;

 private:
  bool any_depends(std::span<const Handle* const>) const;
  void keep(Taped);

  std::unordered_set<const jit::Node*> depends_;
  std::vector<Taped> ops_;
};

/// Counts, by thread, the scopes in which tapes keep nothing.
extern thread_local constinit int tapes_paused;

}  // namespace lazy::detail
