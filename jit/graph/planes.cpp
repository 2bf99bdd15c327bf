#include "jit/graph/planes.hpp"

#include <utility>

#include "jit/graph/recording.hpp"

namespace lazy::jit {
namespace {

Handle plane(const Handle& pair, int which) {
  Node* const n = pair->operand[which];
  fetch_add(n->counts, Counted::kHandle, std::memory_order_relaxed);
  return Handle::adopt(n);
}

}  // namespace

Handle complex(const Handle& re, const Handle& im, const Site& site) {
  Node* const n = make_node_like(Op::complex, complex_type(re->dtype), re->shape, site);
  n->device = is_source(re->op) ? im->device : re->device;
  Handle pair = Handle::adopt(n);
  for (Handle h : {re, im}) {  // the pair owns a handle of each: planes are values while it lives
    n->operand[n->arity++] = h.get();
    fetch_add(h->counts, Counted::kHandle, std::memory_order_relaxed);
  }
  return pair;
}

void replace_planes(const Handle& pair, const Handle& re, const Handle& im) {
  int which = 0;
  for (const Handle& h : {re, im}) {
    fetch_add(h->counts, Counted::kHandle, std::memory_order_relaxed);
    Handle::adopt(std::exchange(pair->operand[which++], h.get()));
  }
}

Handle real_plane(const Handle& pair) { return plane(pair, 0); }
Handle imaginary_plane(const Handle& pair) { return plane(pair, 1); }

}  // namespace lazy::jit
