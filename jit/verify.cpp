#include "jit/verify.hpp"

#include <cmath>
#include <unordered_map>

#include "jit/bisect.hpp"
#include "jit/registry.hpp"
#include "jit/verify_values.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

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

std::string value_text(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

}  // namespace

void verify(const Program&, const Frame& f, const Site& site) {
  metric::add(Counter::verify_runs);
  Backend& reference = *backends().reference;
  Backend& device = backend_of(f.taken.front()->device, site);
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
    const Handle alone = t.jumps ? run_alone(*n, operands_of(*n), device) : Handle();
    const Difference d =
        compare(t.jumps ? *alone.get() : *n, *values.at(n).get(), is_float(n->dtype) ? t.unit : 0);
    if (d.at >= 0 && d.units > 64 * chain) {
      worst = d;
      wrong = n;
    }
  }
  if (!wrong) return;
  metric::add(Counter::verify_failures);
  if (f.verify == config::Verify::bisect)
    bisect(f, *wrong, values, trust.at(wrong).jumps, trust.at(wrong).unit, site);
  std::string text = "LAZY_VERIFY: flush at " + to_string(site) + ": value of " + name_of(wrong->op) +
                     " recorded at " + to_string(wrong->site) + " is " + value_text(worst.got) +
                     " at element " + std::to_string(worst.at) + ", the reference backend says " +
                     value_text(worst.expected);
  for (const Node* n : f.taken) {
    const Handle alone = run_alone(*n, operands_of(*n), device);
    const Difference d = compare(*alone.get(), *values.at(n).get(), unit_of(n->dtype));
    if (d.at < 0 || d.units <= 64) continue;
    logging::warning(text + "; first op that differs when run alone: " + name_of(n->op) + " at " +
                     to_string(n->site) + ", " + value_text(d.got) + " instead of " + value_text(d.expected));
    return;
  }
  logging::warning(text + "; every op agrees when run alone: it differs only when fused");
}

}  // namespace lazy::jit
