// Implements the driver's functions for graphs. Nodes are kernels.
#include <algorithm>

#include "tests/emulated_cuda/driver.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated::driver {
namespace {

Result prepare(PreparedLaunch& launch, const KernelNodeParams& p) {
  ContextStruct* context = p.context != nullptr ? p.context : current_context();
  if (!handles().has<ContextStruct>(context)) return 201;
  if ((p.function == nullptr) == (p.kernel == nullptr)) return kInvalidValue;
  void* handle = p.function != nullptr ? static_cast<void*>(p.function) : p.kernel;
  return emulated::prepare(launch, handle, context,
                           {p.grid_x, p.grid_y, p.grid_z, p.block_x, p.block_y, p.block_z}, p.shared_bytes,
                           p.params, p.extra);
}

/// Returns the nodes in an order that their dependencies allow: of those that might be next the first, the
/// last or any, by EMULATED_CUDA_ORDER.
std::vector<GraphNodeStruct*> in_order(const GraphStruct& graph) {
  std::vector<GraphNodeStruct*> order;
  std::vector<bool> done(graph.nodes.size());
  uint64_t random = settings().seed;
  while (order.size() < graph.nodes.size()) {
    std::vector<size_t> next;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto& needs = graph.nodes[i]->needs;
      if (!done[i] && std::all_of(needs.begin(), needs.end(), [&](size_t n) { return done[n]; }))
        next.push_back(i);
    }
    size_t chosen = 0;
    if (settings().order == Order::reverse) chosen = next.size() - 1;
    if (settings().order == Order::shuffled)
      chosen = (random = random * 6364136223846793005 + 1) % 65521 % next.size();
    done[next[chosen]] = true;
    order.push_back(graph.nodes[next[chosen]].get());
  }
  return order;
}

}  // namespace

Result cuGraphCreate(Graph* graph, unsigned flags) {
  if (flags != 0) return kInvalidValue;
  *graph = new GraphStruct;
  handles().add(*graph);
  return kSuccess;
}

Result cuGraphDestroy(Graph graph) {
  if (!handles().has<GraphStruct>(graph)) return kInvalidHandle;
  handles().remove(graph);
  for (const auto& node : graph->nodes) handles().remove(node.get());
  delete graph;
  return kSuccess;
}

Result cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                            const KernelNodeParams* params) {
  if (!handles().has<GraphStruct>(graph)) return kInvalidHandle;
  auto fresh = std::make_unique<GraphNodeStruct>();
  for (size_t i = 0; i < count; ++i) {
    const auto found = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                                    [&](const auto& n) { return n.get() == dependencies[i]; });
    if (found == graph->nodes.end()) return kInvalidValue;
    fresh->needs.push_back(static_cast<size_t>(found - graph->nodes.begin()));
  }
  if (const Result result = prepare(fresh->launch, *params); result != kSuccess) return result;
  *node = fresh.get();
  handles().add(*node);
  graph->nodes.push_back(std::move(fresh));
  return kSuccess;
}

Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long flags) {
  if (!handles().has<GraphStruct>(graph)) return kInvalidHandle;
  if (flags != 0) return kInvalidValue;
  *exec = new GraphExecStruct;
  for (GraphNodeStruct* node : in_order(*graph)) {
    (*exec)->launches.emplace_back(node, std::make_shared<const PreparedLaunch>(node->launch));
  }
  handles().add(*exec);
  return kSuccess;
}

Result cuGraphExecDestroy(GraphExec exec) {
  if (!handles().has<GraphExecStruct>(exec)) return kInvalidHandle;
  handles().remove(exec);
  delete exec;
  return kSuccess;
}

Result cuGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node, const KernelNodeParams* params) {
  if (!handles().has<GraphExecStruct>(exec) || !handles().has<GraphNodeStruct>(node)) return kInvalidHandle;
  auto launch = std::make_shared<PreparedLaunch>();
  if (const Result result = prepare(*launch, *params); result != kSuccess) return result;
  const std::lock_guard lock(exec->mutex);
  for (auto& [of, current] : exec->launches) {
    if (of != node) continue;
    if (launch->kernel != current->kernel || launch->context != current->context)
      return kGraphExecUpdateFailure;
    current = std::move(launch);
    return kSuccess;
  }
  return kInvalidValue;
}

Result cuGraphLaunch(GraphExec exec, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (!handles().has<GraphExecStruct>(exec)) return kInvalidHandle;
  const std::lock_guard lock(exec->mutex);
  for (const auto& [node, launch] : exec->launches) {
    if (launch->context != stream->context) return kInvalidValue;
    if (!check_pointers(*launch)) return kSuccess;
  }
  stream->queue->submit([launches = exec->launches] {
    for (const auto& [node, launch] : launches) execute(*launch);
  });
  return kSuccess;
}

}  // namespace emulated::driver
