// Makes a failing case smaller.
#include <algorithm>

#include "jit/core/rules.hpp"
#include "support/error.hpp"
#include "tests/differential/random_kernel.hpp"

namespace lazy::test {
using namespace jit::loop;
using jit::Op;

namespace {

bool loads(const Instr& i) { return i.code == Code::load || i.code == Code::load_at; }

/// Returns, by instruction, true for those that keep an index in range.
std::vector<bool> bounds_of(const LoopKernel& k) {
  std::vector<bool> kept(k.body.size());
  const auto keep = [&](ValueId v) {
    for (; k.body[v].code == Code::op; v = k.body[v].op == Op::where ? k.body[v].b : k.body[v].a) {
      kept[v] = true;
      if (k.body[v].op == Op::remainder) return;
    }
  };
  for (const Instr& i : k.body)
    if (i.code == Code::load_at) keep(i.a);
  for (const Store& t : k.stores)
    if (t.at != kNoValue) keep(t.at);
  return kept;
}

}  // namespace

Case without_dead_code(const Case& c) {
  const LoopKernel& k = c.kernel;
  std::vector<bool> live(k.body.size()), needed(k.reductions.size());
  for (const Store& t : k.stores) {
    live[t.value] = true;
    if (t.at != kNoValue) live[t.at] = true;
  }
  if (!needed.empty() && std::none_of(needed.begin(), needed.end(), [](bool b) { return b; })) {
    // A reduce or a scan needs a reduction, even where no store reads one.
    bool read = false;
    for (size_t i = 0; i < k.body.size(); ++i) read = read || k.body[i].code == Code::result;
    if (!read) needed[0] = true;
  }
  const auto reductions = [&] {
    for (size_t r = 0; r < needed.size(); ++r)
      if (needed[r]) { live[k.reductions[r].value] = true; }
    if (k.form == Form::contract) live[k.contraction.left.value] = live[k.contraction.right.value] = true;
  };
  // A result makes its reduction needed, whose value comes earlier: one sweep from the back, then the body
  // again. A carried value makes its next value needed.
  for (size_t pass = 0; pass < 2 + k.rolled_loops.size() * k.body.size(); ++pass) {
    reductions();
    for (size_t i = k.body.size(); i-- > 0;) {
      if (!live[i]) continue;
      const Instr& s = k.body[i];
      for (ValueId v : {s.a, s.b, s.c})
        if (v != kNoValue) live[v] = true;
      if (s.code == Code::result && k.form != Form::contract) {
        needed[s.imm] = true;
        reductions();
      }
    }
    if (!needed.empty() && std::none_of(needed.begin(), needed.end(), [](bool b) { return b; }))
      needed[0] = true;
  }

  Case r = c;
  LoopKernel& out = r.kernel;
  std::vector<ValueId> at(k.body.size(), kNoValue);
  std::vector<uint16_t> reduction_at(needed.size()), operand_at(k.operands.size()), scalar_at(k.scalars);
  std::vector<bool> operand_used(k.operands.size()), scalar_used(k.scalars);
  for (const Store& t : k.stores) operand_used[t.operand] = true;
  if (!k.rolled_loops.empty())
    scalar_used.assign(k.scalars, true);  // where they lie among the others matters
  for (size_t i = 0; i < k.body.size(); ++i) {
    if (!live[i]) continue;
    if (loads(k.body[i])) operand_used[k.body[i].imm] = true;
    if (k.body[i].code == Code::scalar) scalar_used[k.body[i].imm] = true;
  }
  // An output that overwrites an input which is not read any more gets separate memory.
  for (size_t i = 0; i < k.operands.size(); ++i)
    if (r.plans[i].overwrites >= 0 && !operand_used[r.plans[i].overwrites]) r.plans[i].overwrites = -1;
  // So does one whose input is also stored unchanged beside it: a backend may load an element as late as that
  // store.
  for (const Store& t : k.stores)
    for (OperandPlan& p : r.plans)
      if (k.stores.size() > 1 && k.body[t.value].code == Code::load && p.overwrites == k.body[t.value].imm)
        p.overwrites = -1;

  out.operands.clear();
  std::vector<OperandPlan> plans;
  for (size_t i = 0; i < k.operands.size(); ++i) {
    operand_at[i] = static_cast<uint16_t>(out.operands.size());
    if (!operand_used[i]) continue;
    out.operands.push_back(k.operands[i]);
    plans.push_back(r.plans[i]);
  }
  for (OperandPlan& p : plans)
    if (p.overwrites >= 0) p.overwrites = operand_at[p.overwrites];
  r.plans = std::move(plans);

  r.scalars.clear();
  for (size_t i = 0; i < k.operands.size(); ++i)
    if (operand_used[i] && c.plans[i].indexed >= 0)
      scalar_used[static_cast<size_t>(c.plans[i].extent_scalar)] =
          scalar_used[static_cast<size_t>(c.plans[i].stride_scalar)] = true;
  for (int i = 0; i < k.scalars; ++i) {
    scalar_at[i] = static_cast<uint16_t>(r.scalars.size());
    if (scalar_used[i]) r.scalars.push_back(c.scalars[i]);
  }
  out.scalars = static_cast<uint16_t>(r.scalars.size());
  for (OperandPlan& p : r.plans)
    if (p.indexed >= 0)
      for (int* number : {&p.extent_scalar, &p.stride_scalar})
        *number = scalar_at[static_cast<size_t>(*number)];

  uint16_t reductions_kept = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    reduction_at[i] = reductions_kept;
    if (needed[i]) ++reductions_kept;
  }

  out.body.clear();
  for (size_t i = 0; i <= k.body.size(); ++i) {
    for (size_t n = 0; n < k.rolled_loops.size(); ++n) {
      if (i == k.rolled_loops[n].first) out.rolled_loops[n].first = static_cast<uint16_t>(out.body.size());
      if (i == k.rolled_loops[n].last) out.rolled_loops[n].last = static_cast<uint16_t>(out.body.size());
    }
    if (i == k.body.size()) break;
    if (i == k.epilogue) out.epilogue = static_cast<uint16_t>(out.body.size());
    if (!live[i]) continue;
    Instr s = k.body[i];
    if (s.code != Code::carried)  // carried values also refer to later ones: below
      for (ValueId* v : {&s.a, &s.b, &s.c})
        if (*v != kNoValue) *v = at[*v];
    if (loads(s)) s.imm = operand_at[s.imm];
    if (s.code == Code::scalar) s.imm = scalar_at[s.imm];
    if (s.code == Code::result && k.form != Form::contract) s.imm = reduction_at[s.imm];
    at[i] = static_cast<ValueId>(out.body.size());
    out.body.push_back(s);
  }
  if (k.epilogue >= k.body.size()) out.epilogue = static_cast<uint16_t>(out.body.size());
  for (Instr& s : out.body)
    if (s.code == Code::carried) s.a = at[s.a], s.b = at[s.b];
  std::erase_if(out.rolled_loops, [](const RolledLoop& r) { return r.first == r.last; });

  out.reductions.clear();
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    Reduction d = k.reductions[i];
    d.value = at[d.value];
    out.reductions.push_back(d);
  }
  if (k.form == Form::contract) {
    for (Side* s : {&out.contraction.left, &out.contraction.right}) *s = side_of(out, at[s->value]);
  }
  for (Store& t : out.stores) {
    t.operand = operand_at[t.operand];
    t.value = at[t.value];
    if (t.at != kNoValue) t.at = at[t.at];
  }
  return r;
}

std::vector<Case> smaller(const Case& c) {
  std::vector<Case> all;
  const LoopKernel& k = c.kernel;
  const auto add = [&](Case s) {
    s = without_dead_code(s);
    try {
      check(s.kernel);  // a value that takes the place of one of a rolled loop may be out of place there
    } catch (const Error&) { return; }
    all.push_back(s);
  };

  for (size_t i = 0; k.stores.size() > 1 && i < k.stores.size(); ++i) {
    Case s = c;
    s.kernel.stores.erase(s.kernel.stores.begin() + static_cast<ptrdiff_t>(i));
    add(s);
  }
  // Replaces an instruction by an earlier one of its type: its operand first of all.
  const std::vector<bool> bounds = bounds_of(k);
  for (size_t i = k.body.size(); i-- > 0;) {
    const Instr& n = k.body[i];
    if (n.code != Code::op || bounds[i]) continue;
    std::vector<ValueId> instead = {n.c, n.b, n.a};
    for (size_t j = 0; j < i && j < 6; ++j) instead.push_back(static_cast<ValueId>(j));
    for (ValueId v : instead) {
      if (v == kNoValue || v >= i || k.body[v].type != n.type || (i >= k.epilogue && v < k.epilogue))
        continue;
      Case s = c;
      for (Instr& u : s.kernel.body)
        for (ValueId* w : {&u.a, &u.b, &u.c})
          if (*w == i) *w = v;
      for (Reduction& r : s.kernel.reductions) {
        if (r.value == i) r.value = v;
      }
      for (Side* side : {&s.kernel.contraction.left, &s.kernel.contraction.right})
        if (side->value == i) side->value = v;
      for (Store& t : s.kernel.stores)
        if (t.value == i) t.value = v;  // where it is stored has bounds
      if (s.kernel.form == Form::scan) {
        // A running sum's value has to stay before the instructions that read it: v is earlier than i, so it
        // is.
      }
      add(s);
    }
  }
  // Stores another value: the operand of the stored one, of whatever type.
  for (size_t i = 0; k.form != Form::scatter && i < k.stores.size(); ++i) {
    const Instr& n = k.body[k.stores[i].value];
    for (ValueId v : {n.a, n.b, n.c}) {
      if (n.code != Code::op || v == kNoValue || k.body[v].type == n.type) continue;
      const DType t = k.body[v].type;
      Case s = c;
      const uint16_t o = k.stores[i].operand;
      s.kernel.stores[i].value = v;
      s.kernel.operands[o].dtype = t;
      s.plans[o].overwrites = -1;
      int64_t step = static_cast<int64_t>(size_of(t));
      for (int a = k.rank - 1; a >= 0; --a) {
        if (s.kernel.operands[o].stride[a] == Stride::zero) continue;
        s.kernel.operands[o].stride[a] = Stride::any;
        s.plans[o].strides[a] = step;
        step *= std::max<int64_t>(c.extents[a], 1);
      }
      add(s);
    }
  }
  for (size_t a = 0; a < c.extents.size(); ++a)
    for (int64_t e :
         {int64_t{1}, int64_t{2}, c.extents[a] / 4, c.extents[a] / 2, c.extents[a] - 16, c.extents[a] - 1}) {
      if (e < 1 || e >= c.extents[a]) continue;
      Case s = c;
      s.extents[a] = e;
      all.push_back(s);
    }
  for (size_t i = 0; i < c.plans.size(); ++i) {
    const OperandPlan& p = c.plans[i];
    const auto change = [&](auto f) {
      Case s = c;
      f(s.plans[i], s.kernel.operands[i]);
      all.push_back(s);
    };
    if (p.shift) change([](OperandPlan& q, Operand&) { q.shift = 0; });
    if (p.overwrites >= 0) change([](OperandPlan& q, Operand&) { q.overwrites = -1; });
    if (p.values != Values::small) change([](OperandPlan& q, Operand&) { q.values = Values::small; });
    if (k.operands[i].wide) change([](OperandPlan&, Operand& o) { o.wide = false; });
  }
  for (size_t a = 0; a < c.origins.size(); ++a)
    if (c.origins[a]) {
      Case s = c;
      s.origins[a] = 0;
      all.push_back(s);
    }
  return all;
}

}  // namespace lazy::test
