// Prints a kernel as text. Tests and golden files compare it: change it deliberately.
#include "jit/core/rules.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {
namespace {

std::string value(ValueId v) { return v == kNoValue ? "%none" : "%" + std::to_string(v); }

std::string axes(const LoopKernel& k) {
  constexpr const char* done[] = {"", " reduced", " scanned", " scattered", " depth"};
  std::string s = "[";
  for (int i = 0; i < k.rank; ++i) {
    s += (i ? ", a" : "a") + std::to_string(i);
    if (i == k.sequential) s += done[static_cast<int>(k.form)];
    if (k.form == Form::contract && i == k.contraction.row) s += " rows";
    if (k.form == Form::contract && i == k.rank - 1) s += " columns";
  }
  return s + "]";
}

std::string operand(const LoopKernel& k, const Operand& o) {
  constexpr const char* names[] = {"zero", "unit", "any"};
  std::string s = std::string(short_name(o.dtype)) + (o.output ? " out [" : " in [");
  for (int i = 0; i < k.rank; ++i) s += std::string(i ? ", " : "") + names[static_cast<int>(o.stride[i])];
  return s + (o.wide ? "] wide" : "]");
}

std::string side(const Side& s) {
  switch (s.prologue) {
    case Prologue::none: return value(s.value);
    case Prologue::cast: return value(s.value) + " (a cast of " + value(s.load) + ")";
    case Prologue::casts: return value(s.value) + " (casts of " + value(s.load) + ")";
    case Prologue::computed: break;
  }
  return value(s.value) + " (computed)";
}

std::string instruction(const Instr& n) {
  const std::string imm = std::to_string(n.imm), type = short_name(n.type);
  switch (n.code) {
    case Code::load: return "load " + type + " operand " + imm;
    case Code::scalar: return "scalar " + type + " argument " + imm;
    case Code::iota: return "iota " + type + " a" + imm;
    case Code::result: return "result " + type + " r" + imm;
    case Code::load_at: return "load " + type + " operand " + imm + " at " + value(n.a);
    case Code::check: return "check " + type + " " + value(n.a) + ", argument " + imm;
    case Code::carried: return "carried " + type + " " + value(n.a) + ", then " + value(n.b);
    case Code::op: break;
  }
  std::string s = std::string(name_of(n.op)) + suffix_of(n.accuracy) + " " + type;
  const ValueId args[] = {n.a, n.b, n.c};
  for (int i = 0; i < row_of(n.op).arity && i < 3; ++i) s += (i ? ", " : " ") + value(args[i]);
  return s;
}

}  // namespace

std::string print(const LoopKernel& k) {
  constexpr const char* forms[] = {"map", "reduce", "scan", "scatter", "contract"};
  std::string s = forms[static_cast<int>(k.form)];
  if (!k.name.empty()) s += " " + k.name;
  s += " " + axes(k);
  if (k.scalars) s += " scalars " + std::to_string(k.scalars);
  s += "\n";
  for (size_t i = 0; i < k.operands.size(); ++i)
    s += "  operand " + std::to_string(i) + ": " + operand(k, k.operands[i]) + "\n";
  const auto line = [&](size_t i) {
    s += "  " + value(static_cast<ValueId>(i)) + " = " + instruction(k.body[i]) + "\n";
  };
  for (size_t i = 0; i < k.epilogue && i < k.body.size(); ++i) {
    for (const RolledLoop& r : k.rolled_loops) {
      if (i == r.last) s += "  end\n";
      if (i != r.first) continue;
      s += "  repeat argument " + std::to_string(r.trips) + " times";
      if (r.scalar_step) s += ", scalars step " + std::to_string(r.scalar_step);
      s += "\n";
    }
    line(i);
  }
  for (const RolledLoop& r : k.rolled_loops)
    if (r.last == k.body.size()) s += "  end\n";
  for (size_t i = 0; i < k.reductions.size(); ++i) {
    const Reduction& r = k.reductions[i];
    s += "  r" + std::to_string(i) + " = " + name_of(r.op) + " " + short_name(r.type) + " " + value(r.value);
    s += "\n";
  }
  if (k.form == Form::contract)
    s += std::string("  r0 = contract ") + short_name(k.contraction.type) + " left " +
         side(k.contraction.left) + ", right " + side(k.contraction.right) + "\n";
  if (k.epilogue < k.body.size()) s += "epilogue\n";
  for (size_t i = k.epilogue; i < k.body.size(); ++i) line(i);
  for (const Store& t : k.stores) {
    s += "  store operand " + std::to_string(t.operand) + ", " + value(t.value);
    if (t.at != kNoValue) s += " at " + value(t.at);
    if (t.combine != Op::cast) s += std::string(" by ") + name_of(t.combine);
    s += "\n";
  }
  return s;
}

}  // namespace lazy::jit::loop
