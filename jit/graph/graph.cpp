#include "jit/graph/graph.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "jit/graph/observed.hpp"
#include "jit/graph/record.hpp"
#include "support/config.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"
#include "support/per_thread.hpp"
#include "support/profile.hpp"

namespace lazy::jit {
namespace {

constexpr uint32_t kLeastInLoop = 256;  // nodes

/// Returns how many nodes are worth one flush, of LAZY_MAX_GRAPH at most, if more of them save nothing: those
/// that outgrow the second-level cache take longer to record and to number.
uint32_t most_alike(uint32_t max_nodes) { return std::max(max_nodes / 8, std::min(max_nodes, kLeastInLoop)); }

// Graphs outlive their threads: another thread may still refer to a node of one and lock it.
constinit Mutex idle_lock;
constinit Graph* idle = nullptr;

}  // namespace

/// Returns a graph that no thread uses.
Graph* Graph::take_idle() {
  const Hold hold(idle_lock);
  if (!hold.intact()) idle = nullptr;
  return idle ? std::exchange(idle, idle->next_idle_) : new Graph;
}

void Graph::give_idle(Graph* g) noexcept {
  const Hold hold(idle_lock);
  if (!hold.intact()) idle = nullptr;
  g->next_idle_ = std::exchange(idle, g);
}

/// Represents a thread's use of a graph, from its first op to its end.
struct Graph::Tenant {
  Graph* graph = take_idle();
  Graph* apart = nullptr;  // of the thread's RecordingApart, once there was one
  Tenant() = default;
  Tenant(const Tenant&) = delete;
  ~Tenant() {
    graph->end_effects();
    current_ = nullptr;
    give_idle(graph);
    if (apart) give_idle(apart);
  }
};

thread_local constinit Graph* Graph::current_ = nullptr;

Graph* Graph::apart_of_mine() {
  Tenant& mine = PerThread<Tenant>::get();
  if (!mine.apart) mine.apart = take_idle();
  return mine.apart;
}

Graph& Graph::begin_mine() { return *(current_ = PerThread<Tenant>::get().graph); }

/// Locks a graph. Throws DeviceError if the graph can't be used in this process.
class Graph::Locked {
 public:
  explicit Locked(Graph& g) : hold_(g.lock_) {
    g.torn_ |= !hold_.intact();
    if (g.torn_) [[unlikely]]
      forks::fail_left_behind();
  }

 private:
  Hold<SpinLock> hold_;
};

Component* Graph::kept() noexcept {
  Component* const c = free_;
  if (!c) return nullptr;
  free_ = c->parent;
  *c = Component{};
  return c;
}

Graph::Spare::~Spare() {
  while (count_ > 0) delete held_[--count_];
}
void Graph::Spare::fill() {
  for (; count_ < kMost; ++count_) held_[count_] = new Component;
}
Component* Graph::Spare::take() noexcept { return held_[--count_]; }

void Graph::unreference(Component* c) noexcept {
  while (c && --c->references == 0) {
    Component* up = c->parent;
    c->parent = free_;
    free_ = c;
    c = up;
  }
}

inline Component* Graph::find(Node* n) noexcept { return n->component->parent ? root_of(n) : n->component; }

Component* Graph::root_of(Node* n) noexcept {
  Component* root = n->component->parent;
  while (root->parent) root = root->parent;
  ++root->references;  // points the node straight at the root
  unreference(n->component);
  return n->component = root;
}

Component* Graph::join(Component* a, Component* b) noexcept {
  if (a->tail) a->tail->next = b->head;
  else a->head = b->head;
  if (b->head) {
    b->head->previous = a->tail;
    a->tail = b->tail;
  }
  a->count += b->count;
  a->differentiable |= b->differentiable;
  a->live_bytes = std::min(a->live_bytes, b->live_bytes);
  a->first_time = std::min(a->first_time, b->first_time);
  b->parent = a;
  b->head = b->tail = nullptr;
  ++a->references;
  return a;
}

inline void Graph::append(Component* c, Node* n) noexcept {
  n->component = c;
  ++c->references;
  n->previous = c->tail;
  n->next = nullptr;
  if (c->tail) c->tail->next = n;
  else c->head = n;
  c->tail = n;
  ++c->count;
}

void Graph::leave(Node* n) noexcept {
  Component* c = n->component;
  n->component = nullptr;
  n->previous = n->next = nullptr;
  unreference(c);
}

// Marks operands that are values to the component as inputs: ready ones, sources, those being flushed;
// another graph's nodes were flushed before.
inline Component* Graph::joined(Node* n, bool& waits) noexcept {
  Component* c = nullptr;
  for (int i = 0; i < n->arity; ++i) {
    Node* const o = n->operand[i];
    if (o->graph != this || !o->component || n->operand.is_input(i)) {
      n->operand.mark_input(i);
      waits |= !o->ready() && !is_source(o->op);
      continue;
    }
    Component* const other = find(o);
    c = !c || c == other ? other : join(c, other);
  }
  return c;
}

static Component* begin(Component* c, const Node* n) noexcept {
  c->first_site = n->site;
  c->differentiable = false;
  c->live_bytes = metric::live();
  c->first_time = profile::start_time();
  return c;
}

void GivenHandles::take(const Node& n) noexcept {
  for (int i = 0; which_; ++i, which_ >>= 1) {
    if (!(which_ & 1)) continue;
    Handle& h = const_cast<Handle&>(*operands_[static_cast<size_t>(i)]);
    Node* const o = h.get();
    // A value that another thread's flush is making is stored only if it has a handle.
    const bool there = !n.operand.is_input(i) || o->ready() || is_source(o->op);
    if (there && !o->attachment) h.become_reference();
    else add_reference(o);
  }
}

void GivenHandles::add_references() noexcept {
  for (int i = 0; which_; ++i, which_ >>= 1)
    if (which_ & 1) add_reference(operands_[static_cast<size_t>(i)]->get());
}

Linked Graph::link(Node* n, GivenHandles* handles) {
  const auto& limits = config::get();
  const uint32_t max_nodes = static_cast<uint32_t>(limits.max_graph);
  Linked linked;
  const Locked hold(*this);
  if (apart_) [[unlikely]] {
    mark_values(n);
    append(apart_, n);
    if (handles) handles->take(*n);
    return linked;
  }
  Component* c = joined(n, linked.waits);
  if (!c) {
    c = kept();
    c = begin(c ? c : new Component, n);
  }
  // The cut is before the line where the component began, so that the next one begins there too and the same
  // program serves it; but not much later. Coming to that line again means a loop.
  if (c->count + 1 >= std::min(max_nodes, kLeastInLoop)) [[unlikely]] {
    if (c->count >= (c->differentiable ? max_nodes : most_alike(max_nodes)) &&
        n->site.line() == c->first_site.line() && n->site.file_name() == c->first_site.file_name())
      return {Limit::nodes_before, false};
    if (c->count + 1 >= max_nodes + max_nodes / 4) linked.limit = Limit::nodes;
  }
  append(c, n);
  if (handles) handles->take(*n);
  if (linked.limit == Limit::none && metric::live() > c->live_bytes + static_cast<uint64_t>(limits.max_bytes))
    linked.limit = Limit::bytes;
  return linked;
}

/// Marks operands that are values as inputs, whatever graph they are of.
void Graph::mark_values(Node* n) noexcept {
  for (int i = 0; i < n->arity; ++i)
    if (is_source(n->operand[i]->op) || n->operand[i]->ready()) n->operand.mark_input(i);
}

void Graph::note_differentiable(Node* n) noexcept {
  const Locked hold(*this);
  if (n->component) find(n)->differentiable = true;
}

void Graph::link_part(Node* n) {
  const Locked hold(*this);
  append(apart_ ? apart_ : joined(n), n);
}

bool records_apart() noexcept { return Graph::mine().is_apart(); }

RecordingApart::RecordingApart() : graph_(Graph::apart_of_mine()), outer_(Graph::current_) {
  Component* const c = graph_->kept();
  graph_->apart_ = c ? c : new Component;
  graph_->apart_->references = 1;
  Graph::current_ = graph_;
}

// Nodes that were not taken have died by now, or do with the caller's handles: in a list of nobody's.
RecordingApart::~RecordingApart() {
  Graph::current_ = outer_;
  const Hold hold(graph_->lock_);
  graph_->unreference(std::exchange(graph_->apart_, nullptr));
}

void RecordingApart::take(Graph& graph, std::vector<Node*>& out) {
  const Graph::Locked hold(*graph_);
  Component* const c = graph_->apart_;
  out.reserve(out.size() + c->count);
  const State flushing = flushing_here();
  for (Node *n = c->head, *next = nullptr; n; n = next) {
    next = n->next;
    n->component = nullptr;
    n->previous = n->next = nullptr;
    --c->references;
    n->graph = &graph;
    n->state.store(flushing, std::memory_order_relaxed);
    out.push_back(n);
  }
  c->head = c->tail = nullptr;
  c->count = 0;
}

const Handle* Graph::last_effect(int stream, Device device) const {
  for (const Effect& e : effects_)
    if (e.stream == stream && e.latest->device == device) return &e.latest;
  return nullptr;
}

void Graph::hold_effect(int stream, const char* name, const Handle& call) {
  for (Effect& e : effects_)
    if (e.stream == stream && e.latest->device == call->device) {
      e.name = name, e.latest = call;
      return;
    }
  static const int once = std::atexit([] {  // the main thread has no Tenant that ends
    if (current_) current_->end_effects();
  });
  (void)once;
  effects_.push_back({stream, name, call});
}

std::vector<Handle> Graph::effects() const {
  std::vector<Handle> all;
  for (const Effect& e : effects_) all.push_back(e.latest);
  return all;
}

void Graph::end_effects() noexcept {
  for (const Effect& e : effects_) {
    const Node& n = *e.latest.get();
    if (n.ready()) continue;
    try {
      logging::warning(std::string(e.name) + ", recorded at " + to_string(n.site) +
                       ", has effects and never ran, nor did what was recorded before it in its stream: no "
                       "value was read that waits for it");
    } catch (...) {}  // no memory to say so
  }
  effects_.clear();
}

void Graph::unlink(Node* n) noexcept {
  const Hold hold(lock_);
  torn_ |= !hold.intact();
  if (torn_ || !n->component) return;
  Component* c = find(n);
  (n->previous ? n->previous->next : c->head) = n->next;
  (n->next ? n->next->previous : c->tail) = n->previous;
  --c->count;
  leave(n);
}

bool Graph::join_for_flush(Node* a, Node* b) {
  const uint32_t most = most_alike(static_cast<uint32_t>(config::get().max_graph));
  const Locked hold(*this);
  if (!b->component) return true;  // a source, or a value by now
  if (!a->component) return false;
  Component *const first = find(a), *const second = find(b);
  if (first != second && first->count + second->count > most) return false;
  if (first != second) join(first, second);
  return true;
}

uint64_t Graph::take(Node* n, std::vector<Node*>& out, std::vector<Node*>& held) {
  out.clear();
  held.clear();
  for (;;) {
    size_t room = 0;
    {
      const Locked hold(*this);
      if (n->state.load(std::memory_order_relaxed) != State::pending) return 0;
      room = n->component ? find(n)->count : 1;
      if (room <= out.capacity() && room <= held.capacity()) return take_locked(n, out, held);
    }
    out.reserve(std::max(room, 2 * out.capacity()));  // nothing may fail halfway, and other threads wait for
    held.reserve(out.capacity());                     // the lock
  }
}

namespace {

/// Adds a reference unless the node has none: then it is dying on another thread.
bool add_reference_if_alive(Node* n) noexcept {
  uint64_t counts = n->counts.load(std::memory_order_relaxed);
  do {
    if (static_cast<uint32_t>(counts) == 0) return false;
  } while (!compare_exchange(n->counts, counts, counts + 1, std::memory_order_relaxed));
  return true;
}

}  // namespace

uint64_t Graph::take_locked(Node* n, std::vector<Node*>& out, std::vector<Node*>& held) noexcept {
  const State flushing = flushing_here();
  if (!n->component) {  // a source is in no list; it is its own recipe
    n->state.store(flushing, std::memory_order_relaxed);
    out.push_back(n);
    return 0;
  }
  Component* const c = find(n);
  const uint64_t first_time = c->first_time;
  ++c->references;  // keeps it while it is emptied
  out.resize(c->count);
  size_t at = out.size();
  // The last one first: a node that a taken one reads lives as long as that one keeps its operands.
  for (Node *i = c->tail, *previous = nullptr; i; i = previous) {
    previous = i->previous;
    bool alive = std::exchange(i->read_by_taken, false) || i == n;  // the caller has a handle of `n`
    if (!alive && add_reference_if_alive(i)) {
      held.push_back(i);
      alive = true;
    }
    if (i->component == c) --c->references;
    else unreference(i->component);
    i->component = nullptr;  // one that is dying on another thread is found gone from the list there
    i->previous = i->next = nullptr;
    if (!alive) continue;
    i->state.store(flushing, std::memory_order_relaxed);
    out[--at] = i;
    for (int k = 0; k < i->arity; ++k)
      if (!i->operand.is_input(k)) i->operand[k]->read_by_taken = true;
  }
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(at));
  c->head = c->tail = nullptr;
  c->count = 0;
  unreference(c);
  return first_time;
}

// Appends a node to the component of its operands, or to a new one. `last_resort` takes all parts for which
// there is no memory for separate components.
void Graph::append_apart(Node* n, Component*& last_resort, Spare& spare) noexcept {
  Component* c = joined(n);
  if (!c && (c = kept())) begin(c, n);
  if (!c && (c = new (std::nothrow) Component)) begin(c, n);
  if (!c && !last_resort) c = last_resort = begin(spare.take(), n);
  if (!c)
    for (c = last_resort; c->parent;) c = c->parent;
  append(c, n);
}

void Graph::repend(const std::vector<Node*>& nodes, Spare& spare) noexcept {
  const Hold hold(lock_);
  torn_ |= !hold.intact();
  Component* last_resort = nullptr;
  for (Node* n : nodes) {
    append_apart(n, last_resort, spare);
    n->watch.fetch_or(watch::kRepended, std::memory_order_relaxed);
    n->state.store(State::pending, std::memory_order_release);
    n->state.notify_all();
  }
}

void Graph::restore(const std::vector<Node*>& nodes, Spare& spare) noexcept {
  const Hold hold(lock_);
  torn_ |= !hold.intact();
  Component* last_resort = nullptr;
  for (Node* n : nodes) {
    if (!is_source(n->op)) append_apart(n, last_resort, spare);
    n->state.store(State::pending, std::memory_order_release);
    n->state.notify_all();
  }
}

// Marks operands that are in no list: they are inputs.
void Graph::mark_inputs(std::span<Node* const> nodes) noexcept {
  for (Node* n : nodes)
    for (int i = 0; i < n->arity; ++i)
      if (!n->operand[i]->component) n->operand.mark_input(i);
}

void Graph::restore_in_two(const std::vector<Node*>& nodes, size_t middle, Spare& spare) noexcept {
  const Hold hold(lock_);
  torn_ |= !hold.intact();
  const std::span<Node*const> all(nodes), first = all.first(middle), second = all.subspan(middle);
  // An operand is an input unless it is in the component already, as a node of the second part is.
  restore_locked(second, spare);
  mark_inputs(second);
  restore_locked(first, spare);
}

void Graph::restore_locked(std::span<Node* const> nodes, Spare& spare) noexcept {
  Component* c = nullptr;
  for (Node* n : nodes) {
    if (!is_source(n->op)) {
      if (!c) {
        c = kept();
        if (!c) c = spare.take();
        c->first_site = n->site;
        c->live_bytes = metric::live();
      }
      append(c, n);
    }
    n->state.store(State::pending, std::memory_order_release);
    n->state.notify_all();
  }
}

}  // namespace lazy::jit
