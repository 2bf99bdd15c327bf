#include "jit/verify/verify_values.hpp"

#include "jit/run/run.hpp"

#include <cmath>
#include <cstring>

#include "jit/backend/registry.hpp"
#include "jit/compile/compile.hpp"
#include "jit/graph/graph.hpp"
#include "jit/graph/layout.hpp"
#include "support/fp16.hpp"

namespace lazy::jit {
namespace {

/// Reads the memory of a value on the host.
class HostMemory {
 public:
  explicit HostMemory(const Node& n) : data_(static_cast<const char*>(n.buffer->data())) {
    Backend& b = backend_of(*n.buffer.get());
    if (b.host()) return;
    copy_.resize(n.buffer->bytes());
    b.read(copy_.data(), data_, copy_.size());
    data_ = copy_.data();
  }
  const char* data() const { return data_; }

 private:
  const char* data_;
  std::vector<char> copy_;
};

double element(const Node& n, const char* data, const Layout& l, int64_t linear) {
  int64_t at = l.offset;
  for (int i = l.shape.size() - 1; i >= 0; --i) {
    at += linear % l.shape[i] * l.strides[i];
    linear /= l.shape[i];
  }
  const void* p = data + at * static_cast<int64_t>(size_of(n.dtype));
  const auto read = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    return static_cast<double>(v);
  };
  switch (n.dtype) {
    case DType::bool_:
    case DType::uint8: return read(uint8_t{});
    case DType::int8: return read(int8_t{});
    case DType::int16: return read(int16_t{});
    case DType::int32: return read(int32_t{});
    case DType::int64: return read(int64_t{});
    case DType::uint16: return read(uint16_t{});
    case DType::uint32: return read(uint32_t{});
    case DType::uint64: return read(uint64_t{});
    case DType::float16: return read(float16_t{});
    case DType::bfloat16: return read(bfloat16_t{});
    case DType::float32: return read(float{});
    case DType::float64: return read(double{});
    case DType::complex64:  // no flush has them
    case DType::complex128: break;
  }
  return 0;
}

}  // namespace

double unit_of(DType t) {
  switch (t) {
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    case DType::float32: return 0x1p-24;
    case DType::float64: return 0x1p-53;
    default: return 0;
  }
}

Difference compare(const Node& got, const Node& expected, double unit) {
  const Layout a = layout_of(got), b = layout_of(expected);
  const int64_t n = numel(got.shape);
  const HostMemory got_memory(got), expected_memory(expected);
  double scale = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double e = std::abs(element(expected, expected_memory.data(), b, i));
    if (std::isfinite(e)) scale = std::max(scale, e);
  }
  Difference worst;
  for (int64_t i = 0; i < n; ++i) {
    const double x = element(got, got_memory.data(), a, i);
    const double y = element(expected, expected_memory.data(), b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double d = std::isfinite(x) && std::isfinite(y) && unit > 0
                         ? std::abs(x - y) / (unit * std::max(scale, 1e-300))
                         : INFINITY;
    if (d > worst.units || worst.at < 0) worst = {d, i, x, y};
  }
  return worst;
}

Handle in_reach_of(Backend& backend, const Handle& h) {
  if (!h->buffer) return h;  // a source
  Backend& owner = backend_of(*h->buffer.get());
  if (owner.device() == backend.device()) return h;
  const size_t bytes = h->buffer->bytes();
  BufferRef copy = BufferRef::allocate(backend, bytes);
  if (bytes) {
    if (backend.host()) {
      owner.read(copy->data(), h->buffer->data(), bytes);
    } else {
      const HostMemory from(*h.get());
      backend.write(copy->data(), from.data(), bytes);
    }
  }
  Node* const n = new_node();
  n->counts.store(Node::kHandle, std::memory_order_relaxed);
  n->op = Op::input;
  n->dtype = h->dtype;
  n->device = backend.device();
  n->site = h->site;
  n->shape = h->shape;
  n->contiguous = h->contiguous;
  n->strides = h->strides;
  n->offset = h->offset;
  n->contiguous_axis = h->contiguous_axis;
  n->buffer = std::move(copy);
  n->state.store(State::ready, std::memory_order_release);
  return Handle::adopt(n);
}

Node* new_recipe(const Node& recipe, const std::vector<Handle>& operands) {
  Node* n = new_node();
  n->counts.store(Node::kHandle, std::memory_order_relaxed);
  n->op = recipe.op;
  n->dtype = recipe.dtype;
  n->accuracy = recipe.accuracy;
  n->device = recipe.device;
  n->site = recipe.site;
  n->shape = recipe.shape;
  n->ints = recipe.ints;
  n->steps = recipe.steps;
  n->axes = recipe.axes;
  n->scalar = recipe.scalar;
  n->call = recipe.call;
  n->operand.reserve(static_cast<int>(operands.size()));
  for (const Handle& h : operands) {
    add_reference(h.get());
    n->operand[n->arity] = h.get();
    const bool recipe_too = !h->buffer && h->op != Op::constant && h->op != Op::iota;
    if (!recipe_too) n->operand.mark_input(n->arity);
    ++n->arity;
  }
  return n;
}

/// Runs nodes that are in no graph; the last one then has its value.
static void run_apart(std::span<Node* const> nodes, Backend& backend) {
  for (Node* n : nodes) n->device = backend.device();
  CapturedGraph captured;
  (void)captured.build(nodes, backend.code_class());
  run(*compile(captured, Variant::strict, backend), captured, backend);
  nodes.back()->state.store(State::ready, std::memory_order_release);
}

Handle run_alone(const Node& recipe, const std::vector<Handle>& operands, Backend& backend) {
  std::vector<Handle> here;
  for (const Handle& h : operands) here.push_back(in_reach_of(backend, h));
  Node* n = new_recipe(recipe, here);
  const Handle handle = Handle::adopt(n);
  Node* const one[] = {n};
  run_apart(one, backend);
  return handle;
}

Handle run_part_alone(const Node& part, const std::vector<Handle>& operands, Backend& backend) {
  std::vector<Handle> here;
  for (const Handle& h : operands) here.push_back(in_reach_of(backend, h));
  const std::vector<Handle> call{Handle::adopt(new_recipe(*part.operand[0], here))};
  const Handle handle = Handle::adopt(new_recipe(part, call));
  Node* const both[] = {call[0].get(), handle.get()};
  run_apart(both, backend);
  return handle;
}

}  // namespace lazy::jit
