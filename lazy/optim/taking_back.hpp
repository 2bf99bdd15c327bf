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

/// Removes the steps whose value failed from a list in order, if the latest of them made `now`, and returns
/// them: steps after one that failed went on from it, so they failed as well. A step is a struct with `by`,
/// the node it made.
template <class Step>
std::vector<Step> remove_failed(std::vector<Step>& steps, const Failed& failed, const jit::Node* now) {
  if (steps.empty() || steps.back().by != now) return {};
  auto first = steps.end();
  while (first != steps.begin() && failed.contains(std::prev(first)->by)) --first;
  const std::vector<Step> removed(first, steps.end());
  steps.erase(first, steps.end());
  return removed;
}

/// Returns a handle of a node that is alive.
jit::Handle handle_of(const jit::Node*);

}  // namespace lazy::optim
