#include "tests/differential/interpreted.hpp"

#include "backends/reference/kernel.hpp"
#include "backends/vector/vecmath/forms.hpp"
#include "backends/vector/vir_interpret.hpp"
#include "jit/core/rules.hpp"

namespace lazy::test {
namespace {
using jit::Op;
using reference::StripFn;

struct Program {
  vir::Interpreter interpreter;
  vir::Val result;
};

Program record(Op op, jit::Accuracy accuracy, vir::Type t) {
  vir::Builder b;
  const vir::Val x = b.input(t, 0);
  const vecmath::One one = vecmath::unary(op, accuracy);
  const vir::Val r = one ? one(b, x) : vecmath::binary(op, accuracy)(b, x, b.input(t, 1));
  return {vir::Interpreter(b.code), r};
}

template <Op op, jit::Accuracy accuracy, vir::Type T>
void run(const void* a, const void* b, const void*, void* out, int n) {
  thread_local Program p = record(op, accuracy, T);
  const void* inputs[] = {a, b};
  // The result may lie where an operand does: the interpreter works in blocks that hold a whole strip.
  static_assert(reference::kStrip <= 512);
  p.interpreter.run(inputs, static_cast<size_t>(n), {&p.result, 1}, {&out, 1});
}

template <Op op, jit::Accuracy accuracy = jit::Accuracy::full>
StripFn of(DType t) {
  return t == DType::float32 ? run<op, accuracy, vir::Type::f32> : run<op, accuracy, vir::Type::f64>;
}

}  // namespace

StripFn interpreted_meaning(const jit::loop::Instr& i, DType operand) {
  if (!jit::loop::is_approximate(i.op, operand)) return reference::meaning(i.op, operand, i.type);
  const auto is = [&](Op op, jit::Accuracy a = jit::Accuracy::full) { return i.op == op && i.accuracy == a; };
#define LAZY_RECIPE(name) \
  if (is(Op::name)) return of<Op::name>(operand);
#define LAZY_RECIPE2(name, recipe) LAZY_RECIPE(name)
#define LAZY_FORM(name, form, recipe) \
  if (is(Op::name, jit::Accuracy::form)) return of<Op::name, jit::Accuracy::form>(operand);
#define LAZY_FORM2(name, form, recipe) LAZY_FORM(name, form, recipe)
#include "backends/vector/vecmath/forms.def"
  return nullptr;
}

Contestant oracle() {
  return {"reference", [](const jit::loop::LoopKernel& k) {
            return std::make_unique<reference::LoopsKernel>(k, interpreted_meaning);
          }};
}

}  // namespace lazy::test
