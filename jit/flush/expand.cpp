#include "jit/flush/expand.hpp"

#include <algorithm>
#include <utility>

#include "jit/backend/backend.hpp"
#include "jit/calls/call.hpp"
#include "jit/flush/no_flush.hpp"
#include "jit/flush/operands_of.hpp"
#include "jit/graph/accuracy.hpp"
#include "jit/graph/layout.hpp"
#include "jit/graph/places.hpp"
#include "jit/graph/record.hpp"
#include "support/error.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

/// Has an output of an intention be computed as `from` is, which loses its recipe.
void take_recipe(Node& output, Node& from) noexcept {
  drop_reference(output.operand[0]);  // the intention
  output.op = from.op;
  output.arity = std::exchange(from.arity, 0);
  output.operand.take(from.operand, output.arity);
  output.accuracy = from.accuracy;
  output.contiguous_axis = from.contiguous_axis;
  output.ints.swap(from.ints);
  output.steps.swap(from.steps);
  output.axes.swap(from.axes);
  output.scalar = from.scalar;
  output.purpose = from.purpose;
  output.call = from.call;
}

/// Has an output of an intention, whose `ints` are its extents, be `value`, seen through a view.
void become_view(Node& output, Node* value) noexcept {
  add_reference(value);
  drop_reference(std::exchange(output.operand[0], value));  // the intention
  if (value->ready() || is_source(value->op)) output.operand.mark_input(0);
  output.op = Op::reshape;
  output.axes.clear();
  mark_unit_reshape(output);  // into the memory of the number of the output
  output.contiguous_axis = contiguous_axis_of_view(output);
}

/// Has the nodes that read `from` read `to`.
void redirect(std::span<Node* const> nodes, Node* from, Node* to) noexcept {
  for (Node* n : nodes)
    for (int i = 0; i < n->arity; ++i)
      if (n->operand[i] == from) {
        add_reference(to);
        drop_reference(std::exchange(n->operand[i], to));
      }
}

/// Records what an intention is expanded to. Returns the values of the outputs; `made` gets what was recorded
/// for them.
std::vector<Handle> recorded(Graph& graph, const Node& intention, std::span<Node* const> outputs,
                             Backend& backend, std::vector<Node*>& made) {
  const CallSpec& spec = *intention.call;
  const OperandsOf operands(intention);
  const NoFlush none;
  const WithinExpansion scope;
  const AccuracyScope accuracy(intention.accuracy);
  const Purpose purpose(intention.purpose ? intention.purpose : spec.name());
  RecordingApart apart;
  std::vector<Handle> all =
      spec.definition().expand({spec, operands.pointers, backend, backend.preferences(), intention.site});
  std::vector<Handle> values;
  values.reserve(outputs.size());
  for (Node* output : outputs) {
    const Handle& h = all.at(output_of(*output));
    if (h->shape != output->shape || h->dtype != output->dtype)
      throw CompileError(std::string(spec.name()) + ": its expansion gives " + name_of(h->dtype) + " " +
                             to_string(h->shape) + " for " + name_of(output->dtype) + " " +
                             to_string(output->shape),
                         intention.site);
    output->ints = output->shape;  // for become_view(), which may not fail
    values.push_back(h);
  }
  all.clear();
  apart.take(graph, made);
  if (const std::string_view place = place_of(intention.purpose); !place.empty()) [[unlikely]]
    for (Node* n : made) n->purpose = in_place(place, n->purpose);
  return values;
}

void note_fallback(const Node& intention, const Backend& backend) {
  if (!intention.call->definition().run) return;  // there is no kernel for it anywhere
  metric::add(MetricCounter::call_fallbacks);
  if (logging::enabled(logging::Channel::device))
    logging::print(logging::Channel::device, "%s at %s: %s has no kernel for it, it is expanded",
                   describe(*intention.call).c_str(), lazy::to_string(intention.site).c_str(),
                   backend.name());
}

class Expander {
 public:
  Expander(Graph& graph, std::vector<Node*>& held, Backend& backend)
      : graph_(graph), held_(held), backend_(backend) {}

  /// Reserves memory for as many nodes more.
  void reserve(size_t more) { nodes_.reserve(nodes_.size() + more); }
  /// Adds nodes, for which there is memory.
  void add(std::span<Node* const> nodes) noexcept {
    for (Node* n : nodes) {
      if (changed_ && kind_of(n->op) == OpKind::view) n->contiguous_axis = contiguous_axis_of_view(*n);
      nodes_.push_back(n);
    }
  }
  /// Adds what computes the outputs of an intention, in its place, and leaves memory for `later` nodes.
  void add_expansion(Node* intention, std::span<Node* const> outputs, size_t later) {
    if (outputs.empty()) return;  // nobody reads it
    std::vector<Node*> made;
    const std::vector<Handle> values = recorded(graph_, *intention, outputs, backend_, made);
    reserve(made.size() + outputs.size() + later);
    held_.reserve(held_.size() + static_cast<size_t>(intention->arity));
    note_fallback(*intention, backend_);
    for (int i = 0; i < intention->arity; ++i)
      if (!intention->operand.is_input(i)) {  // the flush has it, and the expansion may not read it
        add_reference(intention->operand[i]);
        held_.push_back(intention->operand[i]);
      }
    add(made, outputs, values);
    changed_ = true;
  }
  std::vector<Node*>& nodes() { return nodes_; }

 private:
  /// Adds what was made, with the outputs in the places of their values.
  void add(const std::vector<Node*>& made, std::span<Node* const> outputs,
           const std::vector<Handle>& values) noexcept {
    std::vector<Node*>& all = nodes_;
    const size_t first = all.size();
    all.insert(all.end(), made.begin(), made.end());
    const std::span<Node*> added(all.data() + first, made.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Node* value = values[i].get();
      if (const auto at = std::find(added.begin(), added.end(), value); at != added.end()) {
        redirect(added, value, outputs[i]);
        take_recipe(*outputs[i], *value);
        *at = outputs[i];
        continue;
      }
      // An operand, a constant, or what an earlier output has become.
      if (std::find(made.begin(), made.end(), value) != made.end())
        for (size_t k = i; k-- > 0;)
          if (values[k].get() == value) value = outputs[k];
      become_view(*outputs[i], value);
      all.push_back(outputs[i]);
    }
  }

  Graph& graph_;
  std::vector<Node*>& held_;
  Backend& backend_;
  std::vector<Node*> nodes_;
  bool changed_ = false;
};

}  // namespace

void expand(Graph& graph, std::vector<Node*>& nodes, std::vector<Node*>& held, Backend& backend) {
  Expander to(graph, held, backend);
  to.reserve(nodes.size());
  const std::span<Node* const> all(nodes);
  size_t at = 0;
  try {
    while (at < all.size()) {
      size_t end = at + 1;
      if (all[at]->op != Op::call || takes_whole(backend, *all[at]->call)) {
        to.add(all.subspan(at, 1));
      } else {
        while (end < all.size() && all[end]->op == Op::part && all[end]->operand[0] == all[at]) ++end;
        to.add_expansion(all[at], all.subspan(at + 1, end - at - 1), all.size() - end);
      }
      at = end;
    }
  } catch (...) {
    to.add(all.subspan(at));
    nodes.swap(to.nodes());
    throw;
  }
  nodes.swap(to.nodes());
}

}  // namespace lazy::jit
