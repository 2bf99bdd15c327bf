// Records calls: a node of op call, followed by one of op part for each of its outputs.
#include "jit/backend/registry.hpp"
#include "jit/calls/call.hpp"
#include "jit/graph/accuracy.hpp"
#include "jit/graph/nan_origin.hpp"
#include "jit/graph/recording.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

std::vector<CallOutput> outputs_of(const CallSpec& spec, std::span<const Handle* const> operands,
                                   const Site& site) {
  std::vector<Meta> metas;
  metas.reserve(operands.size());
  for (const Handle* o : operands) metas.push_back({(*o)->dtype, (*o)->shape});
  return located<ShapeError>(
      site, [&] { return located<DtypeError>(site, [&] { return spec.definition().infer(spec, metas); }); });
}

/// True if an intention is to be expanded where it is recorded: where ops run one by one, and in the
/// expansion of another one.
bool expands_at_once(const CallSpec& spec, const Graph& graph) {
  return spec.definition().expand && (config::get().eager || nan_origin::wanted() || graph.is_apart());
}

std::vector<Handle> expanded(const CallSpec& spec, std::span<const Handle* const> operands, Backend& backend,
                             const Site& site) {
  const Purpose purpose(Purpose::current() ? Purpose::current() : spec.name());
  return spec.definition().expand({spec, operands, backend, backend.preferences(), site});
}

/// Returns the value that an effect waits for: the token of the one before it in its stream, or a constant if
/// there is none.
Handle token_before(Graph& graph, int stream, Device device, const Site& site) {
  if (const Handle* before = graph.last_effect(stream, device))
    if (!(*before)->ready()) return *before;
  return constant(Scalar{}, DType::uint8, Shape{0}, device, site);
}

Handle make_part(Graph& graph, Node* call, int output, const Meta& meta, const Site& site) {
  Node* const n = make_node(Op::part, meta.dtype, meta.shape, site);
  Handle part = Handle::adopt(n);
  n->device = call->device;
  n->axes.push_back(output);
  add_reference(call);
  n->operand[n->arity++] = call;
  n->graph = &graph;
  graph.link_part(n);
  return part;
}

}  // namespace

std::vector<Handle> record_call(const CallSpec& spec, std::span<const Handle* const> given,
                                const Site& site) {
  const CallDefinition& d = spec.definition();
  metric::add(MetricCounter::nodes_recorded);
  Graph& graph = Graph::mine();
  settle_elsewhere(graph, given, site);
  const std::vector<CallOutput> outputs = outputs_of(spec, given, site);
  const Device device = device_of(d.name, given, site);
  if (expands_at_once(spec, graph)) [[unlikely]]
    if (Backend& backend = backend_of(device, site); !takes_whole(backend, spec)) {
      const WithinExpansion scope;
      return expanded(spec, given, backend, site);
    }

  std::span<const Handle* const> operands = given;
  Handle token;
  std::vector<const Handle*> with_token;
  if (d.has(call_trait::kEffect)) {
    with_token.assign(given.begin(), given.end());
    token = token_before(graph, spec.stream(), device, site);
    with_token.push_back(&token);
    operands = with_token;
  }
  if (operands.size() > static_cast<size_t>(kMostOperands))
    throw ShapeError(std::string(d.name) + ": " + std::to_string(operands.size()) +
                         " operands are more than an op can have",
                     site);
  if (outputs.size() > kMostOutputs)
    throw Error(std::string(d.name) + ": " + std::to_string(outputs.size()) +
                    " outputs are more than a call can have",
                site);
  for (const CallOutput& o : outputs)
    if (!countable(o.meta.shape))
      throw ShapeError(std::string(d.name) + ": shape " + to_string(o.meta.shape) +
                           " has more elements than can be addressed",
                       site);
  Node* const n = make_node(Op::call, DType::uint8, Shape{0}, site);
  const Handle call = Handle::adopt(n);
  n->device = device;
  n->call = &spec;
  if (d.expand) n->accuracy = AccuracyScope::current();
  n->operand.reserve(static_cast<int>(operands.size()));
  for (const Handle* o : operands) {
    add_reference(o->get());
    n->operand[n->arity++] = o->get();
  }
  const Linked linked = link_node(graph, n, operands, site);
  std::vector<Handle> parts;
  parts.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    parts.push_back(make_part(graph, n, static_cast<int>(i), outputs[i].meta, site));
  if (d.has(call_trait::kEffect)) graph.hold_effect(spec.stream(), d.name, call);
  if (linked.waits) await_inputs(*n, operands, site);
  obey(parts.empty() ? call : parts[0], linked.limit);
  if (nan_origin::wanted()) [[unlikely]]
    for (const Handle& part : parts) nan_origin::note(d.name, part, given);
  return parts;
}

std::vector<Handle> record_expanded(const CallSpec& spec, std::span<const Handle* const> operands,
                                    const Site& site) {
  return expanded(spec, operands, backend_of(device_of(spec.name(), operands, site), site), site);
}

void run_effects(const Site& site) {
  const std::vector<Handle> tokens = Graph::mine().effects();
  std::vector<const Handle*> wanted;
  for (const Handle& t : tokens) wanted.push_back(&t);
  evaluate(wanted, Cause::eval, site);
}

}  // namespace lazy::jit
