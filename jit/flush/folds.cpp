#include "jit/flush/folds.hpp"

#include <algorithm>
#include <utility>

#include "jit/backend/backend.hpp"
#include "jit/calls/call.hpp"
#include "jit/flush/no_flush.hpp"
#include "jit/flush/operands_of.hpp"
#include "jit/graph/accuracy.hpp"
#include "jit/graph/layout.hpp"
#include "jit/graph/record.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

// So many pending nodes at most are looked at to see that a weight depends on frozen values alone.
constexpr int kMostBehindWeight = 32;

/// True if the value is frozen, a constant, or computed from such values alone by at most `budget` ops.
bool is_frozen(const Node& n, int& budget) {
  if (n.frozen || n.of_frozen || n.op == Op::constant) return !is_overwritten(n);
  if (n.ready() || n.arity == 0 || --budget < 0) return false;
  switch (kind_of(n.op)) {
    case OpKind::pointwise:
    case OpKind::view:
    case OpKind::reduce: break;
    default: return false;
  }
  for (int i = 0; i < n.arity; ++i)
    if (!is_frozen(*n.operand[i], budget)) return false;
  return true;
}

/// True if all operands but the first are frozen, and one of them is no mere number.
bool has_frozen_weights(const Node& call) {
  int budget = kMostBehindWeight;
  bool any = false;
  for (int i = 1; i < call.arity; ++i) {
    if (!is_frozen(*call.operand[i], budget)) return false;
    any |= call.operand[i]->op != Op::constant;
  }
  return any;
}

class Folder {
 public:
  Folder(Graph& graph, std::vector<Node*>& held, Backend& backend, Folds* done)
      : graph_(graph), held_(held), backend_(backend), done_(done) {}

  /// Folds what can be of nodes, from the first on.
  void run(std::vector<Node*>& nodes) {
    to_.reserve(nodes.size());
    size_t at = 0;
    try {
      for (; at < nodes.size(); ++at) {
        Node* const n = nodes[at];
        if (n->op == Op::call && n->call->definition().expand) consider(n, nodes.size() - at);
        to_.push_back(n);
      }
    } catch (...) {
      for (; at < nodes.size(); ++at) to_.push_back(nodes[at]);  // for which there is memory
      finish(nodes);
      throw;
    }
    finish(nodes);
  }

 private:
  void finish(std::vector<Node*>& nodes) noexcept {
    std::erase(to_, nullptr);
    nodes.swap(to_);
  }

  void consider(Node* n, size_t later) {
    const CallDefinition& d = n->call->definition();
    if (d.channels && has_frozen_weights(*n)) {
      const std::vector<Node*> between = between_calls(*n);
      if (!between.empty())
        if (const auto first =
                std::find(candidates_.rbegin(), candidates_.rend(), between.back()->operand[0]);
            first != candidates_.rend())
          fold(*first, n, between, later);
    }
    if (n->call->definition().with_channels && has_frozen_weights(*n)) candidates_.push_back(n);
  }

  /// Returns what lies between a call's first operand and the call that computes it, whose output comes last:
  /// that, and before it views which cancel, as of an image that is seen with its channels last. Returns
  /// nothing if something else reads any of it.
  static std::vector<Node*> between_calls(const Node& call) {
    std::vector<Node*> r;
    // Its one count is the reader's: nobody has a handle of it, nor reads it.
    const auto is_between = [&](const Node& reader, Op op) {
      Node* const x = reader.operand[0];
      if (reader.operand.is_input(0) || x->op != op || x->counts.load(std::memory_order_acquire) != 1)
        return false;
      r.push_back(x);
      return true;
    };
    const Node* reader = &call;
    if (is_between(call, Op::permute)) {
      if (!is_between(*r[0], Op::permute)) return {};
      for (int i = 0; i < r[0]->axes.size(); ++i)
        if (r[1]->axes[static_cast<int>(r[0]->axes[i])] != i) return {};
      reader = r[1];
    }
    if (!is_between(*reader, Op::part)) return {};
    return r;
  }

  /// Folds `second` into `first`, whose output nobody else reads, if that can be done.
  void fold(Node* first, Node* second, const std::vector<Node*>& between, size_t later) {
    if (first->counts.load(std::memory_order_acquire) != 1) return;  // its output's
    std::vector<Node*> made;
    std::vector<Handle> operands = recorded(*first, *second, made);
    if (operands.empty()) return;
    const auto arity = static_cast<int>(operands.size());
    Operands fresh;
    fresh.reserve(arity);
    to_.reserve(to_.size() + made.size() + later + 1);
    held_.reserve(held_.size() + static_cast<size_t>(first->arity + second->arity));
    if (done_) note(*first, *second);
    // Nothing fails from here on.
    metric::add(MetricCounter::calls_folded);
    for (int i = 0; i < arity; ++i) {
      Node* const o = operands[static_cast<size_t>(i)].get();
      add_reference(o);
      fresh[i] = o;
      if (o->ready() || is_source(o->op)) fresh.mark_input(i);
    }
    for (const Node* n : {first, second})
      for (int i = 0; i < n->arity; ++i)
        if (Node* const o = n->operand[i]; o != between[0] && !n->operand.is_input(i)) {
          add_reference(o);  // the flush has it, and nobody may read it now
          held_.push_back(o);
        }
    to_.insert(to_.end(), made.begin(), made.end());
    for (auto n = to_.rbegin(); n != to_.rend(); ++n)
      if (*n == first || std::find(between.begin(), between.end(), *n) != between.end()) *n = nullptr;
    second->call = first->call;
    second->site = first->site;
    second->purpose = first->purpose;
    second->accuracy = first->accuracy;
    const int before = std::exchange(second->arity, 0);
    for (int i = 0; i < before; ++i) drop_reference(second->operand[i]);
    second->operand.take(fresh, arity);
    second->arity = arity;
    std::erase(candidates_, first);
  }

  /// Records the operands of a call that does the work of both. `made` gets what was recorded for them.
  std::vector<Handle> recorded(const Node& first, const Node& second, std::vector<Node*>& made) {
    const OperandsOf of_first(first), of_second(second);
    const NoFlush none;
    const WithinExpansion scope;
    const AccuracyScope accuracy(second.accuracy);
    const Purpose purpose(first.purpose ? first.purpose : first.call->name());
    RecordingApart apart;
    std::vector<Handle> operands;
    {
      const ChannelMap map = second.call->definition().channels(
          {*second.call, of_second.pointers, backend_, backend_.preferences(), second.site});
      operands = first.call->definition().with_channels(
          {*first.call, of_first.pointers, backend_, backend_.preferences(), first.site}, map);
    }
    apart.take(graph_, made);
    return operands;
  }

  void note(const Node& first, const Node& second) {
    const char *const a = first.call->name(), *const b = second.call->name();
    auto at = std::find_if(done_->begin(), done_->end(),
                           [&](const Fold& f) { return f.first == a && f.second == b; });
    if (at == done_->end()) at = done_->insert(at, {a, b});
    ++at->times;
  }

  Graph& graph_;
  std::vector<Node*>& held_;
  Backend& backend_;
  Folds* const done_;
  std::vector<Node*> to_;          // null for what was folded away
  std::vector<Node*> candidates_;  // calls so far with which another may be folded
};

/// True if a fold may be found: most flushes have nothing frozen.
bool any_frozen(const std::vector<Node*>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* n) {
    return n->op == Op::call && n->call->definition().channels && has_frozen_weights(*n);
  });
}

}  // namespace

std::string describe(const Fold& f) {
  return std::string(f.first) + " + " + f.second + " -> " + f.first + ", " +
         (f.times == 1 ? "once" : std::to_string(f.times) + " times");
}

void fold(Graph& graph, std::vector<Node*>& nodes, std::vector<Node*>& held, Backend& backend, Folds* done) {
  if (backend.host() && any_frozen(nodes)) Folder(graph, held, backend, done).run(nodes);
}

}  // namespace lazy::jit
