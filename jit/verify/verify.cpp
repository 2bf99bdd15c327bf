#include "jit/verify/verify.hpp"

#include <cmath>
#include <unordered_map>

#include "jit/backend/registry.hpp"
#include "jit/verify/bisect.hpp"
#include "jit/verify/verify_values.hpp"
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

using Values = std::unordered_map<const Node*, Handle>;
using Trusts = std::unordered_map<const Node*, Trust>;

/// The operands' values: of ops of the flush the ones given, of its inputs their own.
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

/// Returns whether the device promises the bits that its ops give one by one.
bool exact_when_fused(const CapturedGraph& f, const Backend& device) {
  const config::Values& settings = config::get();
  bool exact = device.host() && !settings.fp_contract;
  for (const Node* n : f.taken) exact = exact && (settings.exact_casts || !is_half(n->dtype));
  return exact;
}

constexpr double kUnitsOfOneOp = 64;

struct Finding {
  const Node* fused = nullptr;  // a value that differs from its op's on the same device
  const Node* alone = nullptr;  // an op whose result, run alone, is not the reference's
  Difference difference, of_alone;
};

/// The flush op by op on its own device, each op beside the reference on the same operands: rounding errors
/// that grow along the graph are then in both.
Finding unfused(const CapturedGraph& f, const Trusts& trusts, Backend& device, Backend& reference) {
  Finding r;
  Values values;
  const bool exact = exact_when_fused(f, device);
  double chain = 1;
  for (const Node* n : f.taken) {
    const std::vector<Handle> operands = operands_of(*n, values);
    const Handle here = values.emplace(n, run_alone(*n, operands, device)).first->second;
    chain += 1;
    if (!r.alone) {
      const Difference d = compare(*here.get(), *run_alone(*n, operands, reference).get(), unit_of(n->dtype));
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
  metric::add(Counter::verify_runs);
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
    values.emplace(n, run_alone(*n, operands_of(*n, values), reference));
    const Trust t = trust.emplace(n, trust_of(*n)).first->second;
    chain += 1;
    if (!n->buffer || wrong) continue;
    // Where errors may have become anything the fused value says nothing: then the op is judged alone.
    const Handle alone = t.jumps ? run_alone(*n, operands_of(*n, values), device) : Handle();
    const Difference d =
        compare(t.jumps ? *alone.get() : *n, *values.at(n).get(), is_float(n->dtype) ? t.unit : 0);
    if (d.at >= 0 && d.units > kUnitsOfOneOp * chain) {
      worst = d;
      wrong = n;
    }
  }
  if (!wrong) return;
  const Finding found = unfused(f, trust, device, reference);
  if (!found.alone && !found.fused) return;  // rounding errors that grew
  metric::add(Counter::verify_failures);
  if (f.verify == config::Verify::bisect)
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
