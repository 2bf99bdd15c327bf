#include "tests/differential/interpreted.hpp"

#include "backends/reference/kernel.hpp"
#include "backends/vector/vecmath/vecmath.hpp"
#include "backends/vector/vir_interpret.hpp"
#include "jit/core/rules.hpp"

namespace lazy::test {
namespace {
using jit::Op;
using reference::StripFn;

using One = vir::Val (*)(vir::Builder&, vir::Val);
using Two = vir::Val (*)(vir::Builder&, vir::Val, vir::Val);

struct Program {
  vir::Interpreter interpreter;
  vir::Val result;
};

Program record(One f, vir::Type t) {
  vir::Builder b;
  const vir::Val r = f(b, b.input(t, 0));
  return {vir::Interpreter(b.code), r};
}
Program record(Two f, vir::Type t) {
  vir::Builder b;
  const vir::Val x = b.input(t, 0), y = b.input(t, 1);
  const vir::Val r = f(b, x, y);
  return {vir::Interpreter(b.code), r};
}

template <auto F, vir::Type T>
void run(const void* a, const void* b, const void*, void* out, int n) {
  thread_local Program p = record(F, T);
  const void* inputs[] = {a, b};
  // The result may lie where an operand does: the interpreter works in blocks that hold a whole strip.
  static_assert(reference::kStrip <= 512);
  p.interpreter.run(inputs, static_cast<size_t>(n), {&p.result, 1}, {&out, 1});
}

template <auto F>
StripFn of(DType t) {
  return t == DType::float32 ? run<F, vir::Type::f32> : run<F, vir::Type::f64>;
}

}  // namespace

StripFn interpreted_meaning(Op op, DType operand, DType result) {
  if (!jit::loop::is_approximate(op, operand)) return reference::meaning(op, operand, result);
  namespace m = vecmath;
  switch (op) {
#define LAZY_CASE(name) \
  case Op::name: return of<static_cast<One>(m::name)>(operand);
    // clang-format off
    LAZY_CASE(rsqrt) LAZY_CASE(exp) LAZY_CASE(expm1) LAZY_CASE(log) LAZY_CASE(log1p) LAZY_CASE(log2)
    LAZY_CASE(log10) LAZY_CASE(sin) LAZY_CASE(cos) LAZY_CASE(tan) LAZY_CASE(sinh) LAZY_CASE(cosh)
    LAZY_CASE(tanh) LAZY_CASE(asin) LAZY_CASE(acos) LAZY_CASE(atan) LAZY_CASE(asinh) LAZY_CASE(acosh)
    LAZY_CASE(atanh) LAZY_CASE(erf) LAZY_CASE(erfc) LAZY_CASE(sigmoid) LAZY_CASE(gelu)
        // clang-format on
        case Op::power : return of<static_cast<Two>(m::pow)>(operand);
    case Op::atan2: return of<static_cast<Two>(m::atan2)>(operand);
    case Op::hypot: return of<static_cast<Two>(m::hypot)>(operand);
    default: return nullptr;
  }
}

Contestant oracle() {
  return {"reference", [](const jit::loop::LoopKernel& k) {
            return std::make_unique<reference::LoopsKernel>(k, interpreted_meaning);
          }};
}

}  // namespace lazy::test
