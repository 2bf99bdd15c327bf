#include "backends/cuda/emitter/values.hpp"

#include "backends/cuda/emitter/expression.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::Op;
using jit::loop::Code;
using jit::loop::Instr;
using jit::loop::kNoValue;
using jit::loop::RolledLoop;
using jit::loop::ValueId;

Values::Values(const jit::loop::LoopKernel& k, Prelude& prelude)
    : k_(k),
      prelude_(prelude),
      name_(k.body.size()),
      declared_(k.body.size()),
      same_(k.body.size()),
      scalar_types_(k.scalars, uint64) {
  for (const Instr& in : k.body)
    if (in.code == Code::scalar) scalar_types_[in.imm] = in.type;
    else if (in.code == Code::check) scalar_types_[in.imm] = int64;
  for (const RolledLoop& r : k.rolled_loops) {
    scalar_types_[r.trips] = int64;
    scalar_array_ |= r.scalar_step > 0;
  }
  const int axis = k.sequential >= 0 ? k.sequential : k.rank - 1;
  const auto is_same = [&](const Instr& in) {
    switch (in.code) {
      case Code::load: return k.operands[in.imm].stride[axis] == jit::loop::Stride::zero;
      case Code::scalar: return k.rolled_loops.empty();
      case Code::iota: return in.imm != axis;
      case Code::load_at:
      case Code::check:
      case Code::result:
      case Code::carried: return false;
      case Code::op: break;
    }
    for (const ValueId v : {in.a, in.b, in.c})
      if (v != kNoValue && !same_[v]) return false;
    return true;
  };
  for (size_t i = 0; i < k.body.size(); ++i) same_[i] = is_same(k.body[i]);
}

std::string Values::scalar(int i, DType t, const std::string& ahead) const {
  if (!scalar_array_) return "args.s" + std::to_string(i);
  const std::string word = "args.s[" + std::to_string(i) + ahead + "]";
  switch (t) {
    case DType::float32: return "__uint_as_float((u32)" + word + ")";
    case DType::float64: return "__longlong_as_double((i64)" + word + ")";
    case DType::float16:
    case DType::bfloat16: return std::string(spelled(t)) + "{(u16)" + word + "}";
    default: return std::string("(") + spelled(t) + ")" + word;
  }
}

std::string Values::value_of(size_t i, const Place& place, const std::string& ahead) {
  const Instr& in = k_.body[i];
  switch (in.code) {
    case Code::load: return place.load(in.imm);
    case Code::scalar: return scalar(in.imm, in.type, ahead);
    case Code::iota: return "args.origin" + std::to_string(in.imm) + " + " + place.index(in.imm);
    case Code::result: return place.result(in.imm);
    case Code::load_at: return load_at(in.imm, name_[in.a]);
    case Code::check:
    case Code::carried:
    case Code::op: break;
  }
  const auto operand = [&](ValueId v) { return v == kNoValue ? std::string() : name_[v]; };
  const DType from = k_.body[in.op == Op::where ? in.b : in.a].type;
  if (in.op == Op::divide && in.type == DType::float32 && same_[in.b] && !same_[in.a]) {
    prelude_.need("divide_by_same_f32");
    return "divide_by_same_f32(" + name_[in.a] + ", " + name_[in.b] + ")";
  }
  return expression(prelude_, in.op, from, in.type, {operand(in.a), operand(in.b), operand(in.c)},
                    in.accuracy);
}

void Values::instruction(Text& text, size_t i, const Place& place, const std::string& ahead) {
  const Instr& in = k_.body[i];
  if (in.code == Code::check) {
    text.line("if (" + name_[in.a] + ") *(i32*)" + scalar(in.imm, int64, "") + " = 1;");
    name_[i] = name_[in.a];
    return;
  }
  const std::string value = value_of(i, place, ahead);
  const char* stem = in.code == Code::op        ? jit::name_of(in.op)
                     : in.code == Code::load    ? "load"
                     : in.code == Code::load_at ? "element"
                     : in.code == Code::iota    ? "index"
                     : in.code == Code::scalar  ? "scalar"
                                                : "result";
  name_[i] = stem + std::to_string(i);
  if (declared_[i]) text.line(name_[i] + " = " + value + ";");
  else text.line(std::string("const ") + spelled(in.type) + " " + name_[i] + " = " + value + ";");
  if (place.then) place.then(static_cast<ValueId>(i));
}

void Values::rolled_loop(Text& text, const RolledLoop& r, const Place& place) {
  // A value that is needed after the loop is declared before it.
  const auto inside = [&](ValueId v) { return v != kNoValue && v >= r.first && v < r.last; };
  const auto outlives = [&](ValueId v) {
    if (inside(v)) declared_[v] = 1;
  };
  for (size_t i = r.last; i < k_.body.size(); ++i)
    for (const ValueId v : {k_.body[i].a, k_.body[i].b, k_.body[i].c}) outlives(v);
  for (const auto& s : k_.stores) outlives(s.value);
  for (size_t i = r.first; i < r.last; ++i) {
    const Instr& in = k_.body[i];
    if (in.code == Code::carried) {
      name_[i] = "carried" + std::to_string(i);
      text.line(std::string(spelled(in.type)) + " " + name_[i] + " = " + name_[in.a] + ";");
    } else if (declared_[i]) {
      const std::string name = (in.code == Code::op ? jit::name_of(in.op) : "scalar") + std::to_string(i);
      text.line(std::string(spelled(in.type)) + " " + name + ";");
    }
  }
  // The loop runs as often as was recorded, one node each at least. Short ones share the loop's counter and
  // branch.
  text.line(r.last - r.first <= 32 ? "#pragma unroll 4" : "#pragma unroll 2");
  text.open("for (u32 trip = 0; trip < (u32)" + scalar(r.trips, int64, "") + "; ++trip)");
  const std::string ahead = r.scalar_step ? " + " + std::to_string(r.scalar_step) + " * trip" : std::string();
  for (size_t i = r.first; i < r.last; ++i)
    if (k_.body[i].code != Code::carried) instruction(text, i, place, ahead);
  // They are all assigned at once: one may be carried into another.
  for (size_t i = r.first; i < r.last && k_.body[i].code == Code::carried; ++i)
    text.line(std::string("const ") + spelled(k_.body[i].type) + " next" + std::to_string(i) + " = " +
              name_[k_.body[i].b] + ";");
  for (size_t i = r.first; i < r.last && k_.body[i].code == Code::carried; ++i)
    text.line(name_[i] + " = next" + std::to_string(i) + ";");
  text.close();
}

void Values::write(Text& text, size_t first, size_t last, const Place& place) {
  auto next = k_.rolled_loops.begin();
  for (size_t i = first; i < last;) {
    if (next != k_.rolled_loops.end() && i == next->first) {
      rolled_loop(text, *next, place);
      i = next++->last;
    } else {
      instruction(text, i++, place, "");
    }
  }
}

}  // namespace lazy::cuda_backend
