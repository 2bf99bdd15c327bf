// Rows of compiling: each call times itself.
#include <chrono>
#include <iterator>
#include <random>

#include "inputs.hpp"
#include "jit/backend/registry.hpp"
#include "rows.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point t) {
  return std::chrono::duration<double, std::micro>(Clock::now() - t).count();
}

Tensor of_uniform(int64_t n) {
  static uint64_t seed = 0;
  return from_span<float>(uniform(n, -1, 1, ++seed));
}

/// Times 1,000 calls, each with another size; inputs are made outside of it. In the first pass of a process
/// nothing has been compiled.
double changing_shapes() {
  ones({1}).eval();  // starting the library does not count
  double us = 0;
  for (const int64_t n : changing_sizes()) {
    const Tensor a = of_uniform(n), b = of_uniform(n), c = of_uniform(n), d = of_uniform(n);
    const auto start = Clock::now();
    fused_chain(a, b, c, d).eval();
    us += microseconds_since(start);
  }
  return us;
}

/// Compiles a program that was never seen before: a random straight line of 300 ops with four inputs. The
/// time is that of metrics() for compiling, so the median over the repetitions is the p50.
double compile_program() {
  static std::mt19937 random(5);
  static const Tensor inputs[] = {of_uniform(16), of_uniform(16), of_uniform(16), of_uniform(16)};
  Tensor t = inputs[0], u = inputs[1];
  for (int i = 0; i < 300; ++i) {
    const Tensor& x = inputs[random() % 4];
    Tensor next;
    switch (random() % 6) {
      case 0: next = t + x; break;
      case 1: next = t * x; break;
      case 2: next = t - u; break;
      case 3: next = maximum(t, x); break;
      case 4: next = t * 0.5; break;
      default:
        next = abs(t) + u;
        ++i;
        break;
    }
    u = t;
    t = next;
  }
  const auto before = metrics();
  t.eval();
  const auto after = metrics();
  if (after.program_misses == before.program_misses) throw Error("nothing was compiled");
  return static_cast<double>(after.compile_ns - before.compile_ns) * 1e-3;
}

/// Compiles loop IR to a callable kernel: 8 operands, 280 float32 instructions, among them an exp and a log.
double compile_kernel() {
  using namespace jit::loop;
  LoopKernel k;
  k.rank = 1;
  const auto operand = [&](bool output) {
    Operand o;
    o.dtype = float32;
    o.output = output;
    o.stride[0] = Stride::unit;
    k.operands.push_back(o);
  };
  const auto emit = [&](Instr i) {
    i.type = float32;
    k.body.push_back(i);
    return static_cast<ValueId>(k.body.size() - 1);
  };
  for (uint16_t i = 0; i < 7; ++i) {
    operand(false);
    emit({.code = Code::load, .imm = i});
  }
  operand(true);
  using jit::Op;
  constexpr Op ops[] = {Op::add, Op::multiply, Op::subtract, Op::maximum, Op::minimum};
  std::mt19937 random(9);
  while (k.body.size() < 278) {
    const auto n = static_cast<uint32_t>(k.body.size());
    const auto recent = [&] { return static_cast<ValueId>(n - 1 - random() % std::min(n, 12u)); };
    emit({.code = Code::op,
          .op = ops[random() % std::size(ops)],
          .a = static_cast<ValueId>(n - 1),
          .b = recent()});
  }
  emit({.code = Code::op, .op = Op::exp, .a = static_cast<ValueId>(k.body.size() - 1)});
  k.stores.push_back(
      {7, emit({.code = Code::op, .op = Op::log, .a = static_cast<ValueId>(k.body.size() - 1)})});
  k.epilogue = static_cast<uint16_t>(k.body.size());
  check(k);
  jit::Backend& backend = *jit::backends().main;
  const auto start = Clock::now();
  const auto compiled = backend.compile(k);
  return microseconds_since(start);
}

}  // namespace

void add_compiling() {
  add_measured("compile_program", "300", 101, false, compile_program);
  add_measured("compile_kernel", "280", 101, false, compile_kernel);
  add_measured("changing_shapes_cold", "1000", 1, true, changing_shapes);
  add_measured("changing_shapes_warm", "1000", 1, false, [] {
    static const double first = changing_shapes();
    return first > 0 ? changing_shapes() : 0;
  });
}

}  // namespace bench
