#include "jit/flush/faults.hpp"

#include <unordered_map>

#include "jit/graph/indexed.hpp"
#include "jit/verify/verify_values.hpp"

namespace lazy::jit {
namespace {

using Values = std::unordered_map<const Node*, Handle>;

Handle value_of(const Values& values, Node* n) {
  if (const auto known = values.find(n); known != values.end()) return known->second;
  n->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
  return Handle::adopt(n);
}

/// Computes `wanted`, an operand of one of the flush's ops, again: op by op, from inputs that are as they
/// were.
Handle computed_again(const CapturedGraph& f, Node* wanted, Backend& backend) {
  std::unordered_map<const Node*, bool> needed{{wanted, true}};
  for (size_t i = f.taken.size(); i-- > 0;) {
    const Node& n = *f.taken[i];
    if (!needed.contains(&n)) continue;
    for (int k = 0; k < n.arity; ++k) needed.emplace(n.operand[k], true);
  }
  Values values;
  for (Node* n : f.taken) {
    if (!needed.contains(n)) continue;
    std::vector<Handle> operands;
    for (int k = 0; k < n->arity; ++k) operands.push_back(value_of(values, n->operand[k]));
    values.emplace(n, run_alone(*n, operands, backend));
    if (n == wanted) break;
  }
  return value_of(values, wanted);
}

/// Returns the indices of a gather or scatter, on the host, as int64.
std::vector<int64_t> indices_of(const CapturedGraph& f, const Node& n, Backend& backend) {
  const Handle index = computed_again(f, n.operand[1], backend);
  Node widen;
  widen.op = Op::cast;
  widen.dtype = DType::int64;
  widen.shape = index->shape;
  widen.site = n.site;
  const Handle wide = run_alone(widen, {index}, backend);
  std::vector<int64_t> all(static_cast<size_t>(numel(wide->shape)));
  backend.read(all.data(), wide->data(), all.size() * sizeof(int64_t));
  return all;
}

}  // namespace

bool leave_out_faulty(CapturedGraph& f, const Fault& fault, const Node& wanted) {
  f.find_words();
  std::vector<uint8_t> depends(f.values.size(), 0);
  std::vector<uint32_t> outputs;
  depends[fault.value()] = 1;
  for (uint32_t v = fault.value(); v < f.values.size(); ++v) {
    if (!f.pending[v]) continue;
    const Node& n = *f.values[v];
    for (int i = 0; i < n.arity; ++i) depends[v] |= depends[f.key_value(v).operands[static_cast<size_t>(i)]];
    if (depends[v] && &n == &wanted) return false;
    if (depends[v] && f.is_output(v)) outputs.push_back(v);
  }
  f.drop(outputs);
  return true;
}

void explain(const Fault& fault, const CapturedGraph& f, Backend& backend) {
  const Node& n = *f.values[fault.value()];
  const DType type = n.operand[1]->dtype;
  const int64_t extent = n.operand[0]->shape[indexed_of(n).axis];
  const std::string op = n.purpose ? n.purpose : name_of(n.op);
  for (const int64_t i : indices_of(f, n, backend)) {
    if (i < extent && i >= (is_unsigned_int(type) ? 0 : -extent)) continue;
    const std::string text =
        is_unsigned_int(type) ? std::to_string(static_cast<uint64_t>(i)) : std::to_string(i);
    throw IndexError(op + ": index " + text + " is out of range for an axis of " + std::to_string(extent) +
                         (extent == 1 ? " element" : " elements"),
                     n.site);
  }
  throw IndexError(op + ": an index is out of range", n.site);
}

}  // namespace lazy::jit
