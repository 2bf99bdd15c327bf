// Has traces say to which module of a model each kernel belongs, and if it goes forward, backward or updates.
//
//   lazy::TraceModules named(model);   // before the loop
//   for (...) { loss.backward(); optimizer.step(); }
//
// lazy-report then shows time, bytes and arithmetic by module, as a tree and as a flame graph.
#pragma once
#include <memory>

#include "lazy/nn/modules/module.hpp"

namespace lazy {

/// Names what the calling thread records while it lives, if a trace is recorded (LAZY_PROFILE,
/// profile::start) when it is made; else it does nothing. An op belongs to the module whose parameters it
/// reads; one that reads none, to the module around the one before it; a gradient's, to the module of the op
/// that it is the gradient of; one that computes with gradients, to the module of the parameter that it
/// updates. A kernel goes by the last op that is fused into it. The model must outlive it and isn't moved
/// meanwhile. Such objects end on their thread in the reverse order in which they were made.
class TraceModules {
 public:
  explicit TraceModules(nn::Module& model, Site s = Site::current());
  ~TraceModules();
  TraceModules(const TraceModules&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;  // null: nothing is recorded
};

}  // namespace lazy
