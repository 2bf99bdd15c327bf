#include "jit/verify/verify.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "jit/backend/registry.hpp"
#include "jit/calls/call.hpp"
#include "jit/verify/bisect.hpp"
#include "jit/verify/verify_values.hpp"
#include "support/config.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

// True for ops whose result can jump when an operand changes by a rounding error.
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

/// Describes the rounding errors of a value.
struct Trust {
  double unit = 0;     // relative rounding of the coarsest dtype on the way to it; 0: exact
  bool jumps = false;  // errors on the way may have become arbitrarily large
};

std::string value_text(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

using Values = std::unordered_map<const Node*, Handle>;
using Trusts = std::unordered_map<const Node*, Trust>;

/// Returns the operands' values: those of ops of the flush from `values`, those of inputs as they are.
std::vector<Handle> operands_of(const Node& n, const Values& values) {
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
}

/// Returns the op's value for these operands' values, run alone on a backend; a call's output is run with its
/// call.
Handle alone(const Node& n, const Values& values, Backend& backend) {
  if (n.op != Op::part) return run_alone(n, operands_of(n, values), backend);
  return run_part_alone(n, operands_of(*n.operand[0], values), backend);
}

/// True for an output of a call that can't be run again to compare, or whose other answers prove nothing: its
/// value is taken to be right.
bool is_given(const Node& n) {
  if (n.op != Op::part) return false;
  const CallDefinition& d = n.operand[0]->call->definition();
  return d.runs_once() || d.has(call_trait::kVaries | call_trait::kNotUnique);
}

/// Returns the value itself as its expected value.
Handle as_it_is(const Node& n) {
  Node* const own = const_cast<Node*>(&n);
  own->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
  return Handle::adopt(own);
}

/// True if the device promises the same bits for fused ops as for single ones.
bool exact_when_fused(const CapturedGraph& f, const Backend& device) {
  const config::Values& settings = config::get();
  bool exact = device.host() && !settings.fp_contract;
  for (const Node* n : f.taken) exact = exact && (settings.exact_casts || !is_half(n->dtype));
  return exact;
}

constexpr double kUnitsOfOneOp = 64;

struct Finding {
  const Node* fused = nullptr;  // a value that differs from its op's value on the same device
  const Node* alone = nullptr;  // an op whose result, run alone, differs from the reference's
  Difference difference, of_alone;
};

/// Runs the flush op by op on its own device, each op also by the reference on the same operands: rounding
/// errors that grow along the graph are then in both.
Finding unfused(const CapturedGraph& f, const Trusts& trusts, Backend& device, Backend& reference) {
  Finding r;
  Values values;
  const bool exact = exact_when_fused(f, device);
  double chain = 1;
  for (const Node* n : f.taken) {
    if (n->op == Op::call) continue;
    if (is_given(*n)) {
      values.emplace(n, as_it_is(*n));
      continue;
    }
    const Handle here = alone(*n, values, device), there = r.alone ? Handle() : alone(*n, values, reference);
    values.emplace(n, here);
    chain += 1;
    if (!r.alone) {
      const Difference d = compare(*here.get(), *there.get(), unit_of(n->dtype));
      if (d.at >= 0 && d.units > kUnitsOfOneOp) r.alone = n, r.of_alone = d;
    }
    const Trust& trust = trusts.at(n);
    if (!n->buffer || r.fused || (!exact && trust.jumps)) continue;
    const Difference d = compare(*n, *here.get(), exact || !is_float(n->dtype) ? 0 : trust.unit);
    if (d.at >= 0 && (exact || d.units > kUnitsOfOneOp * chain)) r.fused = n, r.difference = d;
  }
  return r;
}

}  // namespace

void verify(const Program&, const CapturedGraph& f, const Site& site) {
  metric::add(MetricCounter::verify_runs);
  Backend& reference = *backends().reference;
  Backend& device = backend_of(f.taken.front()->device, site);
  Values values;
  double chain = 1;  // rounding errors add up along the graph
  Difference worst;
  const Node* wrong = nullptr;
  Trusts trust;
  const auto trust_of = [&](const Node& n) {
    Trust t;
    bool inexact = false;
    const Node& reads = n.op == Op::part ? *n.operand[0] : n;
    const DType operand = reads.arity > 0 ? reads.operand[0]->dtype : n.dtype;
    for (int i = 0; i < reads.arity; ++i) {
      const auto o = trust.find(reads.operand[i]);
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
    if (n->op == Op::call) continue;
    if (is_given(*n) && !n->buffer) return;  // its readers can't be checked
    values.emplace(n, is_given(*n) ? as_it_is(*n) : alone(*n, values, reference));
    const Trust t = trust.emplace(n, trust_of(*n)).first->second;
    chain += 1;
    if (!n->buffer || wrong) continue;
    // Where errors may be arbitrarily large the fused value proves nothing: then the op is judged alone.
    const Handle judged = t.jumps && !is_given(*n) ? alone(*n, values, device) : as_it_is(*n);
    const Difference d = compare(*judged.get(), *values.at(n).get(), is_float(n->dtype) ? t.unit : 0);
    if (d.at >= 0 && d.units > kUnitsOfOneOp * chain) {
      worst = d;
      wrong = n;
    }
  }
  if (!wrong) return;
  const Finding found = unfused(f, trust, device, reference);
  if (!found.alone && !found.fused) return;  // rounding errors that grew
  metric::add(MetricCounter::verify_failures);
  const bool calls = std::any_of(f.taken.begin(), f.taken.end(), [](auto* n) { return n->op == Op::call; });
  if (f.verify == config::Verify::bisect && !calls)  // the C++ can't record calls
    bisect(f, *wrong, values, trust.at(wrong).jumps, trust.at(wrong).unit, site);
  std::string text = "LAZY_VERIFY: flush at " + to_string(site) + ": value of " + name_of(wrong->op) +
                     " recorded at " + to_string(wrong->site) + " is " + value_text(worst.got) +
                     " at element " + std::to_string(worst.at) + ", the reference backend says " +
                     value_text(worst.expected);
  if (found.alone)
    return logging::warning(text + "; first op that differs when run alone: " + name_of(found.alone->op) +
                            " at " + to_string(found.alone->site) + ", " + value_text(found.of_alone.got) +
                            " instead of " + value_text(found.of_alone.expected));
  logging::warning(text + "; every op agrees when run alone: it differs only when fused");
}

}  // namespace lazy::jit
