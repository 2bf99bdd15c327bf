#include "jit/verify_values.hpp"

#include <cmath>
#include <cstring>

#include "jit/graph/graph.hpp"
#include "jit/graph/layout.hpp"
#include "jit/plan/compile.hpp"
#include "support/fp16.hpp"

namespace lazy::jit {
namespace {

double element(const Node& n, const Layout& l, int64_t linear) {
  int64_t at = l.offset;
  for (int i = l.shape.size() - 1; i >= 0; --i) {
    at += linear % l.shape[i] * l.strides[i];
    linear /= l.shape[i];
  }
  const void* p = static_cast<const char*>(n.buffer->data()) + at * static_cast<int64_t>(size_of(n.dtype));
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
  double scale = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double e = std::abs(element(expected, b, i));
    if (std::isfinite(e)) scale = std::max(scale, e);
  }
  Difference worst;
  for (int64_t i = 0; i < n; ++i) {
    const double x = element(got, a, i), y = element(expected, b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double d = std::isfinite(x) && std::isfinite(y) && unit > 0
                         ? std::abs(x - y) / (unit * std::max(scale, 1e-300))
                         : INFINITY;
    if (d > worst.units || worst.at < 0) worst = {d, i, x, y};
  }
  return worst;
}

Node* new_recipe(const Node& recipe, const std::vector<Handle>& operands) {
  Node* n = new_node();
  n->counts.store(Node::kHandle, std::memory_order_relaxed);
  n->op = recipe.op;
  n->dtype = recipe.dtype;
  n->site = recipe.site;
  n->shape = recipe.shape;
  n->ints = recipe.ints;
  n->steps = recipe.steps;
  n->axes = recipe.axes;
  n->scalar = recipe.scalar;
  for (const Handle& h : operands) {
    add_reference(h.get());
    n->operand[n->arity] = h.get();
    n->leaf_mask |= static_cast<uint8_t>(1u << n->arity++);
  }
  return n;
}

Handle run_alone(const Node& recipe, const std::vector<Handle>& operands, Backend& backend) {
  Node* n = new_recipe(recipe, operands);
  const Handle handle = Handle::adopt(n);
  Frame frame;
  Node* const one[] = {n};
  frame.build(one);
  run(*compile(frame, Variant::strict, backend), frame, backend);
  n->state.store(State::ready, std::memory_order_release);
  return handle;
}

}  // namespace lazy::jit
