#include "jit/compile/kept_steps.hpp"

#include <algorithm>

namespace lazy::jit {
namespace {

/// True if the step reads one input and stores it, perhaps in another dtype.
bool only_moves(const Step& s) {
  if (s.operands.size() != 2 || !s.scalars.empty() || s.sequential >= 0) return false;
  const Binding &in = s.operands[s.operands[0].output], &out = s.operands[!s.operands[0].output];
  return out.output && !in.output && in.slot < 0 && s.ops <= (in.dtype != out.dtype);
}

/// Returns, by slot, 1 for those that are only a tensor's value, which has them, or that several steps write.
std::vector<uint8_t> not_kept(const Program& p) {
  std::vector<uint8_t> value(p.slots.size(), 0);
  std::vector<uint32_t> read(p.slots.size(), 0), written(p.slots.size(), 0);
  for (const Result& r : p.results)
    if (r.slot >= 0) value[static_cast<size_t>(r.slot)] = 1;
  for (const Step& s : p.steps)
    for (const Binding& b : s.operands)
      if (b.slot >= 0) ++(b.output ? written : read)[static_cast<size_t>(b.slot)];
  std::vector<uint8_t> no(p.slots.size(), 0);
  for (size_t s = 0; s < no.size(); ++s) no[s] = (value[s] && !read[s]) || written[s] != 1;
  return no;
}

}  // namespace

void find_kept_steps(Program& p) {
  const std::vector<uint8_t> no = not_kept(p);
  std::vector<uint8_t> of_inputs(p.slots.size(), 0);
  for (Step& s : p.steps) {
    if (s.call.spec || s.may_throw || s.fallible || s.ahead_of != kNone || s.initial == Initial::copy)
      continue;
    bool reads = false, good = true;
    for (const Binding& b : s.operands) {
      if (b.output) {
        good &= !no[static_cast<size_t>(b.slot)] &&
                std::find(s.made.begin(), s.made.end(), static_cast<uint32_t>(b.slot)) != s.made.end();
      } else {
        reads = true;
        good &= b.slot < 0 || of_inputs[static_cast<size_t>(b.slot)];
      }
    }
    if (!good || !reads) continue;
    s.of_inputs = true;
    s.relayout = only_moves(s);
    for (const uint32_t slot : s.made) of_inputs[slot] = 1;
  }
}

}  // namespace lazy::jit
