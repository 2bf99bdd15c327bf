// Takes back steps of training that cannot be computed: a label or token out of range is found when the
// values of a step are computed, after the step was recorded. What it replaced is still there then, for every
// new value is computed from the old one.
#pragma once
#include <iterator>
#include <unordered_set>
#include <vector>

#include "jit/graph/handle.hpp"

namespace lazy::optim {

/// Holds the values that an index out of range keeps from being computed.
using Failed = std::unordered_set<const jit::Node*>;

/// Is told when a flush fails on the thread that recorded its latest step.
class Revocable {
 public:
  Revocable() = default;
  Revocable(const Revocable&) = delete;
  Revocable& operator=(const Revocable&) = delete;

 protected:
  ~Revocable();
  /// Says that the calling thread records a step.
  void note_step();
  /// Takes back the steps with a value that failed. The nodes of a step that has no values yet are alive.
  virtual void take_back(const Failed&) = 0;

 private:
  struct All;
  bool known_ = false;
  unsigned thread_ = 0;  // that of the latest step
};

/// Names a value by its nodes, which are those of both planes if it is complex. It owns nothing.
class Nodes {
 public:
  Nodes() = default;
  explicit Nodes(const jit::Handle& value);
  explicit operator bool() const { return real_ != nullptr; }
  friend bool operator==(const Nodes&, const Nodes&) = default;
  bool is_in(const Failed& failed) const { return failed.contains(real_) || failed.contains(imaginary_); }
  /// Returns the value, whose nodes are alive; an empty handle if there is none.
  jit::Handle value() const;

 private:
  const jit::Node *real_ = nullptr, *imaginary_ = nullptr;
};
/// True if the value is computed, both planes of a complex one.
bool is_computed(const jit::Handle& value);

/// Removes the steps whose value failed from a list in order, if the latest of them made `now`, and returns
/// them: steps after one that failed went on from it, so they failed as well. A step is a struct with `by`,
/// the value it made.
template <class Step>
std::vector<Step> remove_failed(std::vector<Step>& steps, const Failed& failed, const Nodes& now) {
  if (steps.empty() || steps.back().by != now) return {};
  auto first = steps.end();
  while (first != steps.begin() && std::prev(first)->by.is_in(failed)) --first;
  const std::vector<Step> removed(first, steps.end());
  steps.erase(first, steps.end());
  return removed;
}

/// Returns a handle of a node that is alive.
jit::Handle handle_of(const jit::Node*);

}  // namespace lazy::optim
