#include "backends/cuda/emitter/reductions.hpp"

#include "backends/cuda/emitter/expression.hpp"
#include "backends/cuda/emitter/types.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend {
using jit::Op;
using jit::loop::Reduction;

bool is_position(const Reduction& r) { return r.op == Op::argmax || r.op == Op::argmin; }

bool is_ordered(const Reduction& r) { return is_float(r.type) && (r.op == Op::sum || r.op == Op::prod); }

int partials_of_lane(const Reduction& r) {
  return is_ordered(r) ? jit::loop::reduce_lanes(r.type, true) / 32 : 1;
}

int members_of_part(const Reduction& r) { return is_position(r) ? 2 : 1; }

namespace {
Op combination(Op op) {
  switch (jit::reduction_of(op)) {
    case Op::sum: return Op::add;
    case Op::prod: return Op::multiply;
    case Op::max: return Op::maximum;
    case Op::min: return Op::minimum;
    case Op::any: return Op::bitwise_or;
    case Op::all: return Op::bitwise_and;
    default:
      throw CompileError(std::string("CUDA: no way to combine partial results of ") + jit::name_of(op));
  }
}
}  // namespace

std::string Reductions::name(size_t j) const {
  return (contracts() ? "matmul" : jit::name_of(k_.reductions[j].op)) + std::to_string(j);
}

std::string Reductions::type(size_t j) const {
  if (contracts()) return spelled(k_.contraction.type);
  const Reduction& r = k_.reductions[j];
  return is_position(r) ? std::string("Best<") + spelled(r.type) + ">" : spelled(r.type);
}

std::string Reductions::start(size_t j) const {
  if (contracts()) return literal(k_.contraction.type, 0);
  const Reduction& r = k_.reductions[j];
  return is_position(r) ? "{" + identity_of(r) + ", nowhere}" : identity_of(r);
}

void Reductions::add(Text& text, size_t j, const std::string& accumulator, const std::string& value,
                     const std::string& at) {
  const Reduction& r = k_.reductions[j];
  if (is_position(r)) {
    const std::string offer = r.op == Op::argmax ? "offer_max" : "offer_min";
    prelude_.need(offer);
    text.line(offer + "(" + accumulator + ", " + value + ", " + at + ");");
    return;
  }
  combine(text, j, accumulator, value);
}

void Reductions::add_product(Text& text, const std::string& sum, const std::string& left,
                             const std::string& right) {
  const DType t = k_.contraction.type;
  if (is_float(t)) {
    text.line(sum + " = " + expression(prelude_, Op::fma, t, t, {left, right, sum}) + ";");
    return;
  }
  text.line("const " + type(0) +
            " product0 = " + expression(prelude_, Op::multiply, t, t, {left, right, {}}) + ";");
  text.line(sum + " = " + expression(prelude_, Op::add, t, t, {sum, "product0", {}}) + ";");
}

void Reductions::combine(Text& text, size_t j, const std::string& accumulator, const std::string& other) {
  const Reduction& r = k_.reductions[j];
  if (is_position(r)) {
    const std::string merge = r.op == Op::argmax ? "merge_max" : "merge_min";
    prelude_.need(merge);
    text.line(merge + "(" + accumulator + ", " + other + ");");
    return;
  }
  text.line(accumulator + " = " +
            expression(prelude_, combination(r.op), r.type, r.type, {accumulator, other, {}}) + ";");
}

std::string Reductions::from_further(size_t j, const std::string& accumulator, const std::string& distance) {
  prelude_.need("shuffle_down");
  const auto one = [&](const std::string& v) { return "shuffle_down(" + v + ", " + distance + ")"; };
  if (!is_position(k_.reductions[j])) return one(accumulator);
  return type(j) + "{" + one(accumulator + ".value") + ", " + one(accumulator + ".at") + "}";
}

std::string Reductions::from_lane(size_t j, const std::string& accumulator, const std::string& lane) {
  prelude_.need("shuffle");
  const auto one = [&](const std::string& v) { return "shuffle(" + v + ", " + lane + ")"; };
  if (!is_position(k_.reductions[j])) return one(accumulator);
  return type(j) + "{" + one(accumulator + ".value") + ", " + one(accumulator + ".at") + "}";
}

std::string Reductions::result(size_t j, const std::string& accumulator, const std::string& empty) const {
  if (contracts()) return accumulator;
  const Reduction& r = k_.reductions[j];
  // Nothing was better than what it starts from: all are equal to that, so the first is the one.
  if (is_position(r))
    return "args.origin" + std::to_string(k_.sequential) + " + (" + accumulator +
           ".at == nowhere ? 0ll : " + accumulator + ".at)";
  if (r.op == Op::sum && is_float(r.type))
    return empty + " ? " + (r.type == float32 ? "0.0f" : "0.0") + " : " + accumulator;
  return accumulator;
}

}  // namespace lazy::cuda_backend
