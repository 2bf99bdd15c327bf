#include "jit/flush/recording.hpp"

#include <algorithm>
#include <utility>

#include "jit/backend/registry.hpp"
#include "jit/calls/call.hpp"
#include "jit/flush/expand.hpp"
#include "jit/flush/flush.hpp"
#include "jit/flush/flush_reporting.hpp"
#include "jit/flush/folds.hpp"
#include "jit/flush/together.hpp"
#include "jit/graph/capturing.hpp"
#include "jit/graph/recording.hpp"
#include "jit/run/run.hpp"
#include "support/error.hpp"
#include "support/float_mode.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

/// Returns a node of no graph that describes the same value, and has none of its memory.
Handle described(const Node& n) {
  Node* const c = make_node_like(n.op, n.dtype, n.shape, n.site);
  Handle h = Handle::adopt(c);
  c->device = n.device;
  c->contiguous = n.contiguous;
  c->contiguous_axis = n.contiguous_axis;
  c->marks.store(n.marks.load(std::memory_order_relaxed), std::memory_order_relaxed);
  c->accuracy = n.accuracy;
  c->offset = n.offset;
  if (n.ints.size()) c->ints = n.ints;
  if (n.steps.size()) c->steps = n.steps;
  if (n.axes.size()) c->axes = n.axes;
  if (n.strides.size()) c->strides = n.strides;
  c->scalar = n.scalar;
  c->purpose = n.purpose;
  c->call = n.call;
  c->state.store(State::ready, std::memory_order_relaxed);
  return h;
}

/// Returns a value that lies as `n` says, in this memory.
Handle value_in(const Node& n, BufferRef memory, int64_t offset) {
  Node* const c = make_node_like(Op::input, n.dtype, n.shape, n.site);
  c->purpose = nullptr;
  c->device = n.device;
  c->contiguous = n.contiguous;
  c->contiguous_axis = n.contiguous_axis;
  if (!n.contiguous) c->strides = n.strides;
  c->buffer = std::move(memory);
  c->offset = offset;
  c->state.store(State::ready, std::memory_order_release);
  return Handle::adopt(c);
}

/// Takes a component for a scope, and puts it back.
class Taken {
 public:
  explicit Taken(Node* n) : graph_(*n->graph) {
    spare_.fill();
    graph_.take(n, nodes_, held_);
  }
  Taken(const Taken&) = delete;
  ~Taken() {
    graph_.restore(nodes_, spare_);
    for (Node* n : held_) drop_reference(n);
  }
  const std::vector<Node*>& nodes() const { return nodes_; }
  void expand_intentions(Backend& backend, Folds* done) {
    const Capturing scope;
    fold(graph_, nodes_, held_, backend, done);
    expand(graph_, nodes_, held_, backend);
  }

 private:
  Graph& graph_;
  Graph::Spare spare_;
  std::vector<Node*> nodes_, held_;
};

bool has_effect(const Node& n) { return n.op == Op::call && n.call->definition().has(call_trait::kEffect); }

}  // namespace

/// Holds what one run works on.
struct Recording::OfRun {
  struct OfPart {
    CapturedGraph captured;
    std::vector<Handle> nodes;
    std::unique_ptr<Arguments> arguments;  // null before the first run
  };
  std::vector<OfPart> parts;
  explicit OfRun(const std::vector<Part>& all) : parts(all.size()) {
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<Node*> values;
      for (const Handle& h : all[i].nodes) {
        parts[i].nodes.push_back(described(*h.get()));
        parts[i].nodes.back()->buffer = h->buffer;  // of a constant
        values.push_back(parts[i].nodes.back().get());
      }
      parts[i].captured.restore(all[i].key, std::move(values));
    }
  }
};

Recording::Recording(std::span<const Handle> outputs, std::span<const Handle> inputs, const Inputs& views,
                     const Site& site) {
  std::vector<const Handle*> all;
  for (const Handle& h : outputs) all.push_back(&h);
  join_for_flush(all, site);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Handle& h = outputs[i];
    Output o;
    const auto before = std::find_if(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(i),
                                     [&](const Handle& x) { return x.get() == h.get(); });
    if (before != outputs.begin() + static_cast<ptrdiff_t>(i)) {
      o.kind = Output::Kind::same;
      o.as = static_cast<uint32_t>(before - outputs.begin());
    } else if (h->ready() || is_source(h->op)) {
      const auto input = views.find(h.get());
      o.kind = input == views.end() ? Output::Kind::constant : Output::Kind::input;
      o.node = input == views.end() ? h : described(*h.get());
      if (input != views.end()) {
        o.input = input->second;
        o.offset = h->offset - inputs[o.input]->offset;
      }
    } else {
      o.kind = Output::Kind::computed;
      const auto part_of = [&](size_t p) {
        return std::find_if(parts_[p].nodes.begin(), parts_[p].nodes.end(),
                            [&](const Handle& x) { return x.get() == h.get(); });
      };
      for (o.part = 0; o.part < parts_.size() && part_of(o.part) == parts_[o.part].nodes.end();) ++o.part;
      if (o.part == parts_.size()) add_part(h.get(), inputs, views, site);
      o.value = static_cast<uint32_t>(part_of(o.part) - parts_[o.part].nodes.begin());
    }
    outputs_.push_back(std::move(o));
  }
  // Until now the parts had the very nodes that were recorded.
  for (Part& p : parts_) {
    std::vector<uint8_t> is_bound(p.nodes.size(), 0);
    for (const Bound& b : p.bound) is_bound[b.value] = 1;
    for (size_t v = 0; v < p.nodes.size(); ++v) {
      const Handle was = p.nodes[v];
      const bool constant = was->ready() && !is_bound[v];
      p.nodes[v] = described(*was.get());
      if (constant) p.nodes[v]->buffer = was->buffer;
    }
  }
  for (Output& o : outputs_)
    if (o.kind == Output::Kind::computed) o.node = parts_[o.part].nodes[o.value];
}

Recording::~Recording() = default;

void Recording::add_part(Node* wanted, std::span<const Handle> inputs, const Inputs& views,
                         const Site& site) {
  Part part;
  part.device = wanted->device;
  part.backend = &backend_of(part.device, site);
  part.site = site;
  CapturedGraph captured;
  Taken taken(wanted);
  if (!captured.build(taken.nodes(), part.backend->code_class()))
    throw Error("replay: a value that the function reads is not there", wanted->site);
  if (!captured.build(taken.nodes(), part.backend->code_class(), false)) {
    taken.expand_intentions(*part.backend, ReplayReporting::wanted() ? &part.folds : nullptr);
    (void)captured.build(taken.nodes(), part.backend->code_class());
  }
  for (uint32_t v = 0; v < captured.values.size(); ++v) {
    Node& n = *captured.values[v];
    if (has_effect(n)) throw Error(std::string("replay: ") + n.call->name() + " has effects", n.site);
    if (!captured.pending[v])
      if (const auto input = views.find(&n); input != views.end())
        part.bound.push_back({v, input->second, n.offset - inputs[input->second]->offset});
  }
  for (Node* n : captured.values) {
    n->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
    part.nodes.push_back(Handle::adopt(n));
  }
  part.key = std::move(captured.key);
  parts_.push_back(std::move(part));
}

bool Recording::fits_backends() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const Part& p) { return p.backend == &backend_of(p.device, Site{}); });
}

void Recording::find(Part& part, const CapturedGraph& captured) {
  if (!ReplayReporting::wanted()) {
    part.program = find_program(captured, *part.backend, nullptr);
    return;
  }
  ReplayReporting reporting(part.site, part.folds);
  part.program = find_program(captured, *part.backend, reporting.report());
  reporting.finish(*part.program, captured);
}

std::unique_ptr<Recording::OfRun> Recording::take() {
  {
    const Hold hold(lock_);
    if (!hold.intact()) std::construct_at(&idle_);
    if (!idle_.empty()) {
      std::unique_ptr<OfRun> one = std::move(idle_.back());
      idle_.pop_back();
      return one;
    }
  }
  return std::make_unique<OfRun>(parts_);
}

void Recording::put(std::unique_ptr<OfRun> one) noexcept {
  const Hold hold(lock_);
  if (!hold.intact()) std::construct_at(&idle_);
  try {
    idle_.push_back(std::move(one));
  } catch (...) {}  // it goes
}

void Recording::run(std::span<Node* const> inputs, std::span<Handle> results) {
  const FloatMode mode;
  std::unique_ptr<OfRun> of = take();
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    OfRun::OfPart& mine = of->parts[i];
    CapturedGraph& captured = mine.captured;
    for (const Bound& b : part.bound) {
      Node& to = *captured.values[b.value];
      const Node& from = *inputs[b.input];
      to.buffer = from.buffer;
      to.offset = from.offset + b.offset;
    }
    const bool again = mine.arguments != nullptr;
    if (!again) {
      const Hold turn(finding_);
      if (!part.program) find(part, captured);
      mine.arguments = std::make_unique<Arguments>(*part.program);
    }
    captured.stands.clear();
    captured.copied = kNone;
    jit::run(*part.program, captured, *part.backend, mine.arguments, again);
    part.program->runs.add();
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& o = outputs_[i];
    switch (o.kind) {
      case Output::Kind::same: results[i] = results[o.as]; break;
      case Output::Kind::constant: results[i] = o.node; break;
      case Output::Kind::input:
        results[i] = value_in(*o.node.get(), inputs[o.input]->buffer, inputs[o.input]->offset + o.offset);
        break;
      case Output::Kind::computed: {
        Node& n = *of->parts[o.part].captured.values[o.value];
        results[i] = value_in(n, std::move(n.buffer), n.offset);
        n.buffer = {};
      }
    }
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    CapturedGraph& captured = of->parts[i].captured;
    for (const Bound& b : parts_[i].bound) captured.values[b.value]->buffer.reset();
    for (Node* n : captured.stands) n->buffer.reset();
  }
  metric::add(MetricCounter::replays);
  put(std::move(of));
}

}  // namespace lazy::jit
