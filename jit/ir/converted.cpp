#include "jit/ir/converted.hpp"

#include <algorithm>

namespace lazy::jit::loop {
namespace {

/// Describes a side that is one operand, through casts alone.
struct CastSide {
  ValueId load = kNoValue;
  ValueId stored = kNoValue;  // the value, of type `type`, that memory would have to hold
  DType type{};
};

CastSide cast_side(const LoopKernel& k, const Side& side) {
  CastSide s{side.load, side.value, {}};
  const Instr& last = k.body[side.value];
  const bool casts = side.load != side.value;
  if (casts && last.type == DType::float32 && is_half(k.body[last.a].type)) s.stored = last.a;
  s.type = k.body[s.stored].type;
  return s;
}

/// True if all values of a type are values of float16 and of bfloat16, too.
bool fits_half(DType t) { return t == DType::bool_ || t == DType::int8 || t == DType::uint8; }

/// True if the side is loaded as such a type and widened to float32 at once.
bool is_narrow(const LoopKernel& k, const CastSide& s) {
  return s.type == DType::float32 && s.stored != s.load && k.body[s.stored].a == s.load &&
         fits_half(k.body[s.load].type);
}

/// Gives narrow sides the 16-bit float type of the other side; bfloat16 if both are narrow.
void make_half(const LoopKernel& k, CastSide& first, CastSide& second) {
  const bool narrow[] = {is_narrow(k, first), is_narrow(k, second)};
  const DType type = is_half(first.type) ? first.type : is_half(second.type) ? second.type : DType::bfloat16;
  if (!narrow[0] && !narrow[1]) return;
  if ((!narrow[0] && !is_half(first.type)) || (!narrow[1] && !is_half(second.type))) return;
  if (narrow[0]) first.stored = first.load, first.type = type;
  if (narrow[1]) second.stored = second.load, second.type = type;
}

Conversion conversion_of(const LoopKernel& k, const CastSide& s, const std::vector<int>& axes) {
  Conversion c;
  c.axes = axes;
  c.operand = k.body[s.load].imm;
  LoopKernel& m = c.kernel;
  m.rank = static_cast<uint8_t>(axes.size());
  m.name = k.name + "_conversion";
  m.at = k.at;
  Operand in = k.operands[c.operand], out;
  for (size_t a = 0; a < axes.size(); ++a) {
    in.stride[a] = k.operands[c.operand].stride[axes[a]];
    out.stride[a] = a + 1 == axes.size() ? Stride::unit : Stride::any;
  }
  out.dtype = s.type;
  out.output = true;
  m.operands = {in, out};
  Instr load = k.body[s.load];
  load.imm = 0;
  m.body.push_back(load);
  const auto cast_to = [&](DType t) {
    Instr i;
    i.code = Code::op;
    i.op = Op::cast;
    i.type = t;
    i.a = static_cast<ValueId>(m.body.size() - 1);
    m.body.push_back(i);
  };
  std::vector<DType> types;
  for (ValueId v = s.stored; v != s.load; v = k.body[v].a) types.push_back(k.body[v].type);
  for (size_t i = types.size(); i-- > 0;) cast_to(types[i]);
  if (m.body.back().type != s.type) {
    cast_to(DType::float32);  // as the kernel has it
    cast_to(s.type);
  }
  m.epilogue = static_cast<uint16_t>(m.body.size());
  m.stores.push_back({1, static_cast<ValueId>(m.body.size() - 1)});
  return c;
}

/// Drops the instructions that nothing needs.
void drop_unused(LoopKernel& k) {
  std::vector<uint8_t> used(k.body.size(), 0);
  Contraction& c = k.contraction;
  used[c.left.value] = used[c.right.value] = 1;
  for (const Store& s : k.stores) used[s.value] = 1;
  for (size_t i = k.body.size(); i-- > 0;)
    for (const ValueId v : {k.body[i].a, k.body[i].b, k.body[i].c})
      if (used[i] && v != kNoValue) used[v] = 1;
  std::vector<ValueId> now(k.body.size());
  std::vector<Instr> body;
  uint16_t epilogue = 0;
  for (size_t i = 0; i < k.body.size(); ++i) {
    if (i == k.epilogue) epilogue = static_cast<uint16_t>(body.size());
    now[i] = static_cast<ValueId>(body.size());
    if (!used[i]) continue;
    Instr in = k.body[i];
    for (ValueId* v : {&in.a, &in.b, &in.c})
      if (*v != kNoValue) *v = now[*v];
    body.push_back(in);
  }
  const ValueId left = now[c.left.value], right = now[c.right.value];
  for (Store& s : k.stores) s.value = now[s.value];
  k.body = std::move(body);
  k.epilogue = epilogue;
  c.left = side_of(k, left);
  c.right = side_of(k, right);
}

}  // namespace

std::optional<ConvertedProduct> with_converted_sides(const LoopKernel& k) {
  if (k.form != Form::contract) return {};
  if (const auto p = product_of(k); p && p->left_type == p->right_type) return {};
  const Contraction& r = k.contraction;
  if (!is_float(r.type) || r.left.value == r.right.value) return {};
  if (r.left.prologue == Prologue::computed || r.right.prologue == Prologue::computed) return {};
  CastSide first = cast_side(k, r.left), second = cast_side(k, r.right);
  if (k.body[first.load].imm == k.body[second.load].imm) return {};
  make_half(k, first, second);
  if (first.type != second.type) {
    first.stored = r.left.value, first.type = r.type;
    second.stored = r.right.value, second.type = r.type;
  }
  ConvertedProduct c{k, {}};
  LoopKernel& p = c.product;
  p.name = k.name;
  for (const CastSide* s : {&first, &second}) {
    const Operand& o = k.operands[k.body[s->load].imm];
    if (s->stored == s->load && o.dtype == s->type) continue;
    const auto moves = [&](int a) { return o.stride[a] != Stride::zero; };
    // A matrix as products read it: the left one's rows are along the sum.
    std::vector<int> axes;
    for (int a = 0; a + 1 < k.rank; ++a)
      if (a != k.sequential && moves(a)) axes.push_back(a);
    if (moves(k.sequential)) axes.push_back(k.sequential);
    if (moves(k.rank - 1)) axes.push_back(k.rank - 1);
    if (axes.empty()) return {};
    c.conversions.push_back(conversion_of(k, *s, axes));
    Operand made;
    made.dtype = s->type;
    for (const int a : axes) made.stride[a] = a == axes.back() ? Stride::unit : Stride::any;
    Instr load;
    load.code = Code::load;
    load.type = s->type;
    load.imm = c.conversions.back().operand;
    p.operands[load.imm] = made;
    p.body[s->stored] = load;
  }
  drop_unused(p);
  for (const Conversion& one : c.conversions) {  // nothing else may read it
    const auto reads = [&](const Instr& in) { return in.code == Code::load && in.imm == one.operand; };
    if (std::count_if(p.body.begin(), p.body.end(), reads) != 1) return {};
  }
  const auto made = product_of(p);
  if (!made || made->left_type != made->right_type) return {};
  return c;
}

}  // namespace lazy::jit::loop
