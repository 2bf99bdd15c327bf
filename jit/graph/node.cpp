#include "jit/graph/node.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "jit/graph/attachment.hpp"
#include "jit/graph/graph.hpp"
#include "jit/graph/observed.hpp"
#include "support/spare_memory.hpp"

namespace lazy::jit {
namespace {

constinit thread_local Node** doomed = nullptr;  // first node that a destruction under way has to free
constinit thread_local Attachment** doomed_attachments = nullptr;  // likewise

}  // namespace

Node* new_node() { return new (SpareMemory<Node>::take()) Node; }

inline void free_node_here(Node* n) noexcept {
  n->~Node();
  SpareMemory<Node>::put(n);
}

void free_node(Node* n) noexcept { free_node_here(n); }

void release_spare_nodes() noexcept {
  SpareMemory<Node>::release();
  SpareMemory<Dims>::release();
}

constinit const RareDims::None RareDims::kNone;

Dims& RareDims::make() { return *(dims_ = new (SpareMemory<Dims>::take()) Dims); }

void RareDims::release() noexcept { SpareMemory<Dims>::put(dims_); }

void Operands::reserve(int n) {
  static_assert(sizeof(Node*) == sizeof(uint64_t));
  if (n <= kInline) return;
  // The memory has words of bits, then their number, then the pointers.
  const auto count = static_cast<size_t>(n), words = count / kBits;
  auto* const memory = static_cast<uint64_t*>(::operator new((1 + words + count) * sizeof(uint64_t)));
  std::fill_n(memory, words, 0);
  memory[words] = words;
  at_ = reinterpret_cast<Node**>(memory + words + 1);
}

void Operands::release() noexcept {
  auto* const pointers = reinterpret_cast<uint64_t*>(at_);
  ::operator delete(pointers - 1 - pointers[-1]);
}

void Operands::take(Operands& from, int arity) noexcept {
  if (at_ != inline_) release();
  const bool few = from.at_ == from.inline_;
  at_ = few ? inline_ : from.at_;
  if (few) std::copy_n(from.inline_, arity, inline_);
  inputs_ = from.inputs_;
  from.at_ = from.inline_;
  from.inputs_ = 0;
}

bool Operands::any_input(int arity) const {
  bool any = inputs_ != 0;
  for (int i = kBits; i < arity && !any; ++i) any = is_input(i);
  return any;
}

// Puts a node without references first in a chain. Its link is that of its graph's list, which it has left:
// nodes die where there may be no memory.
static void doom(Node* n, Node*& first) noexcept {
  if (n->graph && n->state.load(std::memory_order_acquire) == State::pending && n->arity) n->graph->unlink(n);
  n->next = std::exchange(first, n);
}

// Destroys nodes without references, and those that only they referred to, without recursion.
static void destroy(Node* last_used) noexcept {
  if (doomed) return doom(last_used, *doomed);
  Node* first = nullptr;
  doomed = &first;
  doom(last_used, first);
  while (first) {
    Node* const n = std::exchange(first, first->next);
    for (int i = 0; i < n->arity; ++i) {
      Node* o = n->operand[i];
      if (n->op == Op::complex) [[unlikely]] {
        (void)Handle::adopt(o);  // a plane: the pair has a handle of it
        continue;
      }
      if (o && static_cast<uint32_t>(fetch_sub(o->counts, 1, std::memory_order_acq_rel)) == 1) doom(o, first);
    }
    watch::end(*n);
    free_node_here(n);  // may run a user's deleter that drops tensors: they join the chain
  }
  doomed = nullptr;
}

void attach(Node& n, Attachment* a) noexcept {
  if (a) a->add_reference();
  Attachment* const before = std::exchange(n.attachment, a);
  if (a && n.graph && n.state.load(std::memory_order_acquire) == State::pending)
    n.graph->note_differentiable(&n);
  if (!before) return;
  before->left(n);
  before->release();
}

void Attachment::destroy() noexcept {
  if (doomed_attachments) {
    next_ = std::exchange(*doomed_attachments, this);
    return;
  }
  Attachment* first = this;
  doomed_attachments = &first;
  while (first) {
    const Attachment* const a = std::exchange(first, first->next_);
    delete a;
  }
  doomed_attachments = nullptr;
}

// Drops a handle of a node with an attachment, which goes with the last one.
static void release_attached(Node* n) noexcept {
  add_reference(n);
  if (fetch_sub(n->counts, Node::kHandle, std::memory_order_acq_rel) >> 32 == 1) attach(*n, nullptr);
  drop_reference(n);
}

Handle handle_if_alive(Node* n) noexcept {
  uint64_t counts = n->counts.load(std::memory_order_relaxed);
  do {
    if (counts >> 32 == 0) return {};
  } while (!n->counts.compare_exchange_weak(counts, counts + Node::kHandle, std::memory_order_acq_rel));
  return Handle::adopt(n);
}

void drop_reference(Node* n) noexcept {
  if (static_cast<uint32_t>(fetch_sub(n->counts, 1, std::memory_order_acq_rel)) == 1) destroy(n);
}

void drop_references(std::span<Node* const> nodes, const uint32_t* n) noexcept {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (n[i] == 0) continue;
    Node* const node = nodes[i];
    // Without handles and other references nobody else can reach it: no thread changes the counts meanwhile.
    const bool last = node->counts.load(std::memory_order_acquire) == n[i];
    if (last && node->arity == 0 && !doomed) {
      watch::end(*node);
      free_node_here(node);
    } else if (last ||
               static_cast<uint32_t>(fetch_sub(node->counts, n[i], std::memory_order_acq_rel)) == n[i]) {
      destroy(node);
    }
  }
}

void Handle::release(Counted* counted) noexcept {
  Node* const n = static_cast<Node*>(counted);
  if (n->attachment) [[unlikely]]
    return release_attached(n);
  // The only handle of a value that nothing else refers to: no thread can reach it meanwhile. (It could take
  // a pending node from its graph's list.)
  if (n->counts.load(std::memory_order_acquire) == Node::kHandle && n->ready()) return destroy(n);
  if (static_cast<uint32_t>(fetch_sub(n->counts, Node::kHandle, std::memory_order_acq_rel)) == 1) destroy(n);
}

}  // namespace lazy::jit
