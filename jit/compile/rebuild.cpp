#include "jit/compile/rebuild.hpp"

#include <utility>

#include "jit/built_in/registry.hpp"
#include "jit/key/recordable.hpp"
#include "support/archive.hpp"

namespace lazy::jit {
namespace {

/// Encodes signed numbers so that small ones become small unsigned ones.
uint64_t folded(int64_t v) { return static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63); }
int64_t unfolded(uint64_t v) { return static_cast<int64_t>(v >> 1 ^ (0 - (v & 1))); }

/// True for ops whose extents, except those that the key says are 1, do not follow from their operands'.
bool own_extents(Op op) {
  return op == Op::input || op == Op::constant || op == Op::iota || op == Op::reshape ||
         op == Op::broadcast || op == Op::slice || op == Op::window;
}
bool has_positions(Op op) { return op == Op::slice || op == Op::window || op == Op::slice_update; }

/// Infers the extents of an op from its operands', which are known; leaves others of `n` as they are.
void infer_shape(Node& n) {
  const auto operand = [&](int i) -> const Shape& { return n.operand[i]->shape; };
  switch (kind_of(n.op)) {
    case OpKind::call: n.shape = Shape{0}; return;
    case OpKind::part:
      if (Meta m; meta_of_part(n, m)) n.shape = m.shape;
      return;
    case OpKind::pointwise:
      for (int o = 0; o < n.arity; ++o)
        for (int i = 0; i < operand(o).size(); ++i) {
          const int at = n.shape.size() - operand(o).size() + i;
          if (at >= 0 && operand(o)[i] != 1) n.shape[at] = operand(o)[i];
        }
      return;
    case OpKind::indexed: n.shape = operand(1); return;
    case OpKind::reduce:
    case OpKind::scan:
    case OpKind::update:
      n.shape = operand(0);
      if (kind_of(n.op) == OpKind::reduce && n.axes.size() == 1 && axis_of(n) < n.shape.size())
        n.shape[axis_of(n)] = 1;
      return;
    case OpKind::contract: {
      const int rank = n.shape.size();
      for (int o = 0; o < 2; ++o)
        for (int i = 0; i + 2 < operand(o).size(); ++i) {
          const int at = rank - operand(o).size() + i;
          if (at >= 0 && operand(o)[i] != 1) n.shape[at] = operand(o)[i];
        }
      if (rank < 2 || operand(0).size() < 2 || operand(1).empty()) return;
      n.shape[rank - 2] = operand(0)[operand(0).size() - 2];
      n.shape[rank - 1] = operand(1).back();
      return;
    }
    default: break;
  }
  if (n.op != Op::permute || n.axes.size() != n.shape.size()) return;
  for (int i = 0; i < n.shape.size(); ++i)
    if (n.axes[i] < operand(0).size()) n.shape[i] = operand(0)[static_cast<int>(n.axes[i])];
}

}  // namespace

std::string instance_of(const CapturedGraph& f) {
  Saver s;
  const auto put = [&](int64_t v) { s.count(folded(v)); };
  KeyReader key(f.key);
  for (const Node* n : f.values) {
    KeyValue x;
    key.next(x);
    const Op op = x.op;
    if (own_extents(op))
      for (int64_t e : n->shape)
        if (e != 1) put(e);
    if (has_positions(op)) {
      for (int64_t v : n->ints) put(v);
      for (int64_t v : n->steps) put(v);
    }
    if (op == Op::input) {
      s(n->contiguous);
      if (!n->contiguous)
        for (int64_t v : n->strides) put(v);
    } else {  // the marks of an input are in its key
      put(n->marks.load(std::memory_order_relaxed));
    }
  }
  return s.take();
}

/// Reads key and instance, value by value.
class RebuiltFrame::Reader {
 public:
  Reader(std::span<const uint32_t> key, std::string_view instance, std::deque<Node>& nodes)
      : key_(key), instance_(instance), nodes_(nodes) {}

  bool run() {
    if (key_.empty() || !KeySettings::valid(key_[0])) return false;
    KeyReader r(key_);
    for (KeyValue x; r.next(x);)
      if (!value(x)) return false;
    return r.ok() && instance_.done();
  }

 private:
  int64_t number() { return unfolded(instance_.count()); }
  Dims numbers(int n) {
    Dims d(n, 0);
    for (int64_t& v : d) v = number();
    return d;
  }

  bool value(const KeyValue& x) {
    const uint32_t rank = x.rank, ones = x.ones;
    Node& n = nodes_.emplace_back();
    n.op = x.op;
    n.dtype = x.dtype;
    n.accuracy = x.accuracy;
    const uint8_t arity = row_of(n.op).arity;
    if ((arity != kAnyArity && x.operands.size() != arity) || (n.op == Op::input && x.output)) return false;
    n.operand.reserve(static_cast<int>(x.operands.size()));
    for (const uint32_t o : x.operands) {
      if (o >= nodes_.size() - 1) return false;
      n.operand[n.arity++] = &nodes_[o];
    }
    if (!attributes(n, x)) return false;
    n.shape = Shape(static_cast<int>(rank), 1);
    if (own_extents(n.op)) {
      for (uint32_t i = 0; i < rank; ++i)
        if (!(ones >> i & 1)) n.shape[static_cast<int>(i)] = number();
    } else {
      infer_shape(n);
    }
    if (n.op == Op::reshape || n.op == Op::broadcast) n.ints = n.shape;
    if (has_positions(n.op)) {
      const int count = n.op == Op::window ? n.axes.size() : static_cast<int>(rank);
      n.ints = numbers(count);
      n.steps = numbers(count);
    }
    if (n.op == Op::input) {
      instance_(n.contiguous);
      if (!n.contiguous) n.strides = numbers(static_cast<int>(rank));
    } else {
      n.marks.store(static_cast<uint16_t>(number()), std::memory_order_relaxed);
    }
    if (!instance_.ok() || n.shape.size() != static_cast<int>(rank)) return false;
    for (uint32_t i = 0; i < rank; ++i)
      if ((n.shape[static_cast<int>(i)] == 1) != (ones >> i & 1)) return false;
    return recordable(n);
  }

  static bool attributes(Node& n, const KeyValue& x) {
    if (n.op == Op::input) {
      n.marks.store(x.marks(), std::memory_order_relaxed);
      return x.attributes.empty() || (x.attributes.size() == sizeof(uint16_t) && x.marks());
    }
    if (n.op == Op::call) {
      const CallDefinition* const d = find_call(x.call_name());
      if (d) n.call = &intern_call(*d, x.call_attributes());
      return d && n.call->identity() == x.attributes;
    }
    if (x.attributes.size() > kMaxRank) return false;
    n.axes = x.axes();
    return true;
  }

  const std::span<const uint32_t> key_;
  Loader instance_;
  std::deque<Node>& nodes_;
};

std::unique_ptr<RebuiltFrame> RebuiltFrame::make(std::span<const uint32_t> key, std::string_view instance,
                                                 const Program& p, std::string& why) {
  auto made = std::make_unique<RebuiltFrame>();
  if (!Reader(key, instance, made->nodes_).run()) {
    why = "its key and extents are of no graph that can be recorded";
    return nullptr;
  }
  std::vector<Node*> nodes;
  for (Node& n : made->nodes_) nodes.push_back(&n);
  for (const Guard& g : p.guards)
    if (g.kind == Guard::Kind::scalar && g.node < nodes.size())
      nodes[g.node]->scalar.bits = static_cast<uint64_t>(g.value);
  made->captured_.restore({key.begin(), key.end()}, std::move(nodes));
  return made;
}

}  // namespace lazy::jit
