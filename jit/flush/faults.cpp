#include "jit/flush/faults.hpp"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "jit/graph/indexed.hpp"
#include "jit/graph/places.hpp"
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

bool is_out_of_range(int64_t i, int64_t extent, DType type, Bounds rule) {
  const bool from_the_end = rule == Bounds::check && !is_unsigned_int(type);
  return i >= extent || i < (from_the_end ? -extent : 0);
}

/// Returns, by value, 1 for those marked and what depends on them.
std::vector<uint8_t> with_dependents(const CapturedGraph& f, std::vector<uint8_t> marked) {
  for (uint32_t v = 0; v < f.values.size(); ++v) {
    if (!f.pending[v]) continue;
    const Node& n = *f.values[v];
    for (int i = 0; i < n.arity; ++i) marked[v] |= marked[f.key_value(v).operands[static_cast<size_t>(i)]];
  }
  return marked;
}

std::vector<uint8_t> dependents(CapturedGraph& f, const Fault& fault) {
  f.find_words();
  std::vector<uint8_t> marked(f.values.size(), 0);
  marked[fault.value()] = 1;
  return with_dependents(f, std::move(marked));
}

/// True if computing the value again takes a few ops, none of them a call.
bool is_cheap(const CapturedGraph& f, uint32_t value) {
  constexpr size_t kFew = 64;
  std::vector<uint32_t> open{value}, seen{value};
  while (!open.empty()) {
    const uint32_t v = open.back();
    open.pop_back();
    if (!f.pending[v]) continue;
    const OpKind k = kind_of(f.values[v]->op);
    if (k == OpKind::call || k == OpKind::contract || seen.size() > kFew) return false;
    for (const uint32_t o : f.key_value(v).operands)
      if (std::find(seen.begin(), seen.end(), o) == seen.end()) open.push_back(o), seen.push_back(o);
  }
  return true;
}

/// True if an index of a gather or scatter, a value, is out of range.
bool fails_as_well(const CapturedGraph& f, uint32_t value, Backend& backend) {
  const Node& n = *f.values[value];
  if ((n.op != Op::gather && n.op != Op::scatter) || !may_throw(indexed_of(n).bounds)) return false;
  if (!is_cheap(f, f.key_value(value).operands[1])) return false;
  const int64_t extent = n.operand[0]->shape[indexed_of(n).axis];
  try {
    for (const int64_t i : indices_of(f, n, backend))
      if (is_out_of_range(i, extent, n.operand[1]->dtype, indexed_of(n).bounds)) return true;
  } catch (const Error&) { return true; }
  return false;
}

std::atomic<FaultListener> listener{nullptr};

}  // namespace

bool leave_out_faulty(CapturedGraph& f, const Fault& fault, const Node& wanted) {
  const std::vector<uint8_t> depends = dependents(f, fault);
  std::vector<uint32_t> outputs;
  for (uint32_t v = fault.value(); v < f.values.size(); ++v) {
    if (!depends[v]) continue;
    if (f.values[v] == &wanted) return false;
    if (f.is_output(v)) outputs.push_back(v);
  }
  f.drop(outputs);
  return true;
}

std::vector<const Node*> failed_with(CapturedGraph& f, const Fault& fault, Backend& backend) {
  // A label out of range is so in the gradient as well, which is another value.
  std::vector<uint8_t> depends = dependents(f, fault);
  for (uint32_t v = 0; v < f.values.size(); ++v)
    if (f.pending[v] && !depends[v]) depends[v] = fails_as_well(f, v, backend);
  depends = with_dependents(f, std::move(depends));
  std::vector<const Node*> nodes;
  for (uint32_t v = 0; v < f.values.size(); ++v)
    if (depends[v]) nodes.push_back(f.values[v]);
  return nodes;
}

void set_fault_listener(FaultListener l) noexcept { listener = l; }

bool is_fault_listened_to() noexcept { return listener != nullptr; }

void tell_of_fault(const std::vector<const Node*>& failed) noexcept {
  if (const FaultListener l = listener) l(failed);
}

void explain(const Fault& fault, const CapturedGraph& f, Backend& backend) {
  const Node& n = *f.values[fault.value()];
  const DType type = n.operand[1]->dtype;
  const Indexed how = indexed_of(n);
  const int64_t extent = n.operand[0]->shape[how.axis];
  const char* const purpose = without_place(n.purpose);
  const std::string op = purpose ? purpose : name_of(n.op);
  const bool is_condition = is_bool(type);  // lazy/indexing/recording.hpp: zeros_if
  for (const int64_t i : indices_of(f, n, backend)) {
    if (!is_out_of_range(i, extent, type, how.bounds)) continue;
    if (is_condition) throw Error(op, n.site);
    const std::string text =
        is_unsigned_int(type) ? std::to_string(static_cast<uint64_t>(i)) : std::to_string(i);
    throw IndexError(op + ": index " + text + " is out of range for an axis of " + std::to_string(extent) +
                         (extent == 1 ? " element" : " elements"),
                     n.site);
  }
  throw IndexError(op + ": an index is out of range", n.site);
}

}  // namespace lazy::jit
