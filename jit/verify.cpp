#include "jit/verify.hpp"

#include <cmath>
#include <unordered_map>

#include "jit/graph/graph.hpp"
#include "jit/graph/layout.hpp"
#include "jit/plan/compile.hpp"
#include "jit/registry.hpp"
#include "support/fp16.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"

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

double unit_of(DType t) {
  switch (t) {
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    case DType::float32: return 0x1p-24;
    case DType::float64: return 0x1p-53;
    default: return 0;
  }
}

// Largest difference in units of the type's rounding, relative to the larger of the element and the tensor's
// magnitude.
struct Difference {
  double units = 0;
  int64_t at = -1;
  double got = 0, expected = 0;
};
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

// Ops whose result can jump when an operand changes by a rounding error.
bool can_jump(Op op, DType operand, DType result) {
  switch (op) {
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::sign:
    case Op::floor_divide:
    case Op::remainder:
    case Op::copysign: return true;
    default: return is_float(operand) && !is_float(result);
  }
}

/// What is known of a value that was computed with rounding errors.
struct Trust {
  double unit = 0;     // of the coarsest type on the way to it; 0: exact
  bool jumps = false;  // errors on the way may have become anything
};

// A node with the same recipe on other operands, in no graph.
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

// Runs the recipe of one node on given operand values. The result is a node of its own.
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

std::string value_text(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

}  // namespace

void verify(const Program&, const Frame& f, const Site& site) {
  metric::add(Counter::verify_runs);
  Backend& reference = *backends().reference;
  std::unordered_map<const Node*, Handle> values;
  const auto operands_of = [&](const Node& n) {
    std::vector<Handle> r;
    for (int i = 0; i < n.arity; ++i) {
      const auto known = values.find(n.operand[i]);
      if (known != values.end()) {
        r.push_back(known->second);
      } else {
        n.operand[i]->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
        r.push_back(Handle::adopt(n.operand[i]));
      }
    }
    return r;
  };
  double chain = 1;  // rounding errors add up along the graph
  Difference worst;
  const Node* wrong = nullptr;
  std::unordered_map<const Node*, Trust> trust;
  const auto trust_of = [&](const Node& n) {
    Trust t;
    bool inexact = false;
    DType operand = n.dtype;
    for (int i = 0; i < n.arity; ++i) {
      operand = i == 0 ? n.operand[i]->dtype : operand;
      const auto o = trust.find(n.operand[i]);
      if (o == trust.end()) continue;
      t.jumps |= o->second.jumps;
      t.unit = std::max(t.unit, o->second.unit);
      inexact |= o->second.unit > 0;
    }
    t.jumps |= inexact && can_jump(n.op, operand, n.dtype);
    t.unit = std::max(t.unit, unit_of(n.dtype));
    return t;
  };
  for (const Node* n : f.taken) {
    values.emplace(n, run_alone(*n, operands_of(*n), reference));
    const Trust t = trust.emplace(n, trust_of(*n)).first->second;
    chain += 1;
    if (!n->buffer || wrong) continue;
    // Where errors may have become anything the fused value says nothing: then the op is judged alone.
    const Handle alone = t.jumps ? run_alone(*n, operands_of(*n), *backends().main) : Handle();
    const Difference d =
        compare(t.jumps ? *alone.get() : *n, *values.at(n).get(), is_float(n->dtype) ? t.unit : 0);
    if (d.at >= 0 && d.units > 64 * chain) {
      worst = d;
      wrong = n;
    }
  }
  if (!wrong) return;
  metric::add(Counter::verify_failures);
  std::string text = "LAZY_VERIFY: flush at " + to_string(site) + ": value of " + name_of(wrong->op) +
                     " recorded at " + to_string(wrong->site) + " is " + value_text(worst.got) +
                     " at element " + std::to_string(worst.at) + ", the reference backend says " +
                     value_text(worst.expected);
  for (const Node* n : f.taken) {
    const Handle alone = run_alone(*n, operands_of(*n), *backends().main);
    const Difference d = compare(*alone.get(), *values.at(n).get(), unit_of(n->dtype));
    if (d.at < 0 || d.units <= 64) continue;
    logging::warning(text + "; first op that differs when run alone: " + name_of(n->op) + " at " +
                     to_string(n->site) + ", " + value_text(d.got) + " instead of " + value_text(d.expected));
    return;
  }
  logging::warning(text + "; every op agrees when run alone: it differs only when fused");
}

}  // namespace lazy::jit
