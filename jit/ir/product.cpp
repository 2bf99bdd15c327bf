#include "jit/ir/product.hpp"

#include <algorithm>
#include <map>

namespace lazy::jit::loop {
namespace {

/// Returns the operand of a side that is a load, perhaps of a 16-bit float that is widened; -1 for others.
int operand_of(const LoopKernel& k, const Side& s) {
  if (s.prologue != Prologue::none && s.prologue != Prologue::cast) return -1;
  const Instr& load = k.body[s.load];
  const DType from = load.type, to = k.contraction.type;
  return from == to || (to == DType::float32 && is_half(from)) ? load.imm : -1;
}

bool moves(const LoopKernel& k, int operand, int axis) {
  return k.operands[static_cast<size_t>(operand)].stride[axis] != Stride::zero;
}

/// Returns the value that v is a cast of, or v itself.
ValueId without_cast(const LoopKernel& k, ValueId v, bool from_half) {
  const Instr& in = k.body[v];
  const bool is_cast = in.code == Code::op && in.op == Op::cast;
  return is_cast && is_half(from_half ? k.body[in.a].type : in.type) ? in.a : v;
}

/// Returns the operand of a bias: a load that moves along the columns and nothing else.
int bias_of(const LoopKernel& k, ValueId v) {
  const Instr& in = k.body[without_cast(k, v, true)];
  if (in.code != Code::load) return -1;
  for (int a = 0; a < k.rank; ++a)
    if (moves(k, in.imm, a) != (a == k.rank - 1)) return -1;
  return in.imm;
}

void match_epilogue(const LoopKernel& k, Product& p) {
  if (k.stores.size() != 1) return;
  const ValueId sum = without_cast(k, k.stores[0].value, false);
  const auto is_result = [&](ValueId v) { return k.body[v].code == Code::result; };
  const Instr& in = k.body[sum];
  const int output = k.stores[0].operand;
  if (is_result(sum)) {
    p.plain_output = output;
  } else if (in.code == Code::op && in.op == Op::add && (is_result(in.a) || is_result(in.b))) {
    const int bias = bias_of(k, is_result(in.a) ? in.b : in.a);
    if (bias < 0 ||
        k.operands[static_cast<size_t>(bias)].dtype != k.operands[static_cast<size_t>(output)].dtype)
      return;
    p.plain_output = output;
    p.bias = bias;
  }
}

}  // namespace

std::optional<Product> product_of(const LoopKernel& k) {
  const Contraction& c = k.contraction;
  if (k.form != Form::contract || is_indexed(k)) return {};
  if (c.type != DType::float32 && c.type != DType::float64) return {};
  const int left = operand_of(k, c.left), right = operand_of(k, c.right);
  if (left < 0 || right < 0) return {};
  Product p;
  p.left = static_cast<uint16_t>(left);
  p.right = static_cast<uint16_t>(right);
  p.left_type = k.operands[p.left].dtype;
  p.right_type = k.operands[p.right].dtype;
  p.sum_type = c.type;
  p.column_axis = k.rank - 1;
  p.summed_axis = k.sequential;
  // A library's rows may be any axis that only the left side moves along: the innermost one.
  for (int a = p.column_axis - 1; a >= 0; --a) {
    if (a == k.sequential) continue;
    if (p.row_axis < 0 && moves(k, left, a) && !moves(k, right, a)) p.row_axis = a;
    else p.batch_axes.push_back(a);
  }
  std::reverse(p.batch_axes.begin(), p.batch_axes.end());
  match_epilogue(k, p);
  return p;
}

Epilogue epilogue_of(const LoopKernel& k, const Product& p) {
  Epilogue e;
  LoopKernel& m = e.kernel;
  m.form = Form::map;
  m.rank = static_cast<uint8_t>(k.rank - 1);
  m.name = k.name + "_epilogue";
  m.at = k.at;
  const auto without_summed = [&](const Operand& o) {
    Operand r = o;
    for (int a = 0, to = 0; a < k.rank; ++a)
      if (a != p.summed_axis) r.stride[to++] = o.stride[a];
    return r;
  };
  std::map<uint16_t, uint16_t> operand, scalar;
  const auto operand_of = [&](uint16_t o) {
    const auto [at, fresh] = operand.emplace(o, static_cast<uint16_t>(m.operands.size()));
    if (fresh) {
      m.operands.push_back(without_summed(k.operands[o]));
      e.operands.push_back(o);
    }
    return at->second;
  };
  const auto scalar_of = [&](uint16_t s) {
    const auto [at, fresh] = scalar.emplace(s, m.scalars);
    if (fresh) {
      ++m.scalars;
      e.scalars.push_back(s);
    }
    return at->second;
  };
  for (size_t i = k.epilogue; i < k.body.size(); ++i) {
    const Instr& in = k.body[i];
    if (in.code == Code::load) (void)operand_of(in.imm);
  }
  for (const Store& s : k.stores) (void)operand_of(s.operand);
  const auto sum = static_cast<uint16_t>(m.operands.size());
  Operand packed;
  packed.dtype = p.sum_type;
  for (int a = 0; a < m.rank; ++a) packed.stride[a] = a + 1 == m.rank ? Stride::unit : Stride::any;
  m.operands.push_back(packed);
  for (size_t i = k.epilogue; i < k.body.size(); ++i) {
    Instr in = k.body[i];
    for (ValueId* v : {&in.a, &in.b, &in.c})
      if (*v != kNoValue) *v = static_cast<ValueId>(*v - k.epilogue);
    switch (in.code) {
      case Code::result:
        in.code = Code::load;
        in.imm = sum;
        break;
      case Code::load: in.imm = operand_of(in.imm); break;
      case Code::scalar: in.imm = scalar_of(in.imm); break;
      case Code::iota:
        if (in.imm > p.summed_axis) --in.imm;
        break;
      case Code::op:
      case Code::load_at:
      case Code::check:
      case Code::carried: break;  // of no product
    }
    m.body.push_back(in);
  }
  for (const Store& s : k.stores)
    m.stores.push_back({operand.at(s.operand), static_cast<ValueId>(s.value - k.epilogue)});
  m.epilogue = static_cast<uint16_t>(m.body.size());
  return e;
}

}  // namespace lazy::jit::loop
