// Compares random kernels on the emulated device with the reference, to the bit. LAZY_TEST_SEED and
// LAZY_TEST_CASES as in tests/differential/kernels.cpp.
#include <boost/test/unit_test.hpp>

#include "backends/cuda/emitter/tiles.hpp"
#include "tests/backends/cuda/direct.hpp"
#include "tests/backends/cuda/representative.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/kernel_builder.hpp"
#include "tests/differential/interpreted.hpp"
#include "tests/differential/trial.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

std::string compare(const Case& c) {
  if (!wanted(c)) return {};
  return trial(c, oracle(),
               {{"emulated CUDA", [](const jit::loop::LoopKernel& k) { return on_emulated_device(k); }}});
}

/// Shares a kernel between several launches.
struct Shared final : jit::Kernel {
  std::shared_ptr<jit::Kernel> kernel;
  void launch(uint64_t* args) const override { kernel->launch(args); }
};

/// Returns the kernel on a box of these extents: operands packed, `shift` elements away from a page.
Case packed(const jit::loop::LoopKernel& k, std::vector<int64_t> extents, int shift, Values values) {
  Case c;
  c.kernel = k;
  c.extents = std::move(extents);
  for (int a = 0; a < k.rank; ++a) c.origins.push_back(100 * a);
  for (uint32_t i = 0; i < k.scalars; ++i)
    c.scalars.push_back(k.rolled_loops.empty() || i > 0 ? random_value(float32, Values::small, 7, i)
                                                        : k.scalars - 1u);
  for (const auto& in : k.body)
    if (in.code == jit::loop::Code::scalar && k.rolled_loops.empty())
      c.scalars[in.imm] = random_value(in.type, Values::small, 7, in.imm);
  for (uint32_t i = 0; i < k.operands.size(); ++i) {
    const auto& o = k.operands[i];
    OperandPlan p;
    p.strides.resize(c.extents.size());
    int64_t step = static_cast<int64_t>(size_of(o.dtype));
    p.shift = shift * static_cast<int>(step);
    // An operand that is packed along an axis has it innermost.
    std::vector<size_t> order;
    for (size_t a = 0; a < c.extents.size(); ++a)
      if (o.stride[a] == jit::loop::Stride::any) order.push_back(a);
    for (size_t a = 0; a < c.extents.size(); ++a)
      if (o.stride[a] == jit::loop::Stride::unit) order.push_back(a);
    for (; !order.empty(); order.pop_back()) {
      p.strides[order.back()] = step;
      step *= std::max<int64_t>(c.extents[order.back()], 1);
    }
    p.tag = i;
    p.values = values;
    c.plans.push_back(p);
  }
  return c;
}

/// Returns shapes at the edges of what each layout processes at once.
std::vector<std::vector<int64_t>> edge_shapes(const jit::loop::LoopKernel& k) {
  if (k.rank == 1) return {{0}, {1}, {3}, {4}, {31}, {1024}, {2053}, {16384}, {16385}, {100003}};
  if (k.rank == 4) return {{2, 1, 3, 0}, {3, 65, 2, 17}, {1, 64, 64, 16}, {2, 5, 130, 33}, {2, 3, 40, 300}};
  if (k.rank == 3)
    return {{1, 1, 1},    {2, 0, 3},    {0, 3, 3},      {2, 70, 3},   {3, 5, 700}, {65, 17, 64},
            {64, 16, 64}, {3, 47, 129}, {130, 1030, 3}, {3, 200, 70}, {1, 65, 33}};
  if (k.form == jit::loop::Form::reduce && k.sequential == 1)
    return {{1, 0},  {0, 5},  {3, 1},   {7, 2},    {300, 3},   {300, 8},  {70, 9},
            {5, 16}, {9, 17}, {33, 64}, {5, 1000}, {3, 16385}, {2, 50001}};
  return {{1, 1}, {0, 5}, {3, 0}, {17, 4}, {1, 130}, {4, 33}, {5, 1023}, {1024, 31}, {1025, 3}, {4100, 33}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_execution)

/// Makes a contestant of a compiled kernel.
Contestant contestant(const std::string& name, std::shared_ptr<jit::Kernel> compiled) {
  return {name, [compiled = std::move(compiled)](const jit::loop::LoopKernel&) {
            auto shared = std::make_unique<Shared>();
            shared->kernel = compiled;
            return shared;
          }};
}

/// Returns the kernel, and where a module has a special function for few results, also the kernel without it.
std::vector<Contestant> ways(const jit::loop::LoopKernel& k) {
  std::vector<Contestant> v;
  const bool one = k.form == jit::loop::Form::scan || k.form == jit::loop::Form::contract;
  const size_t fewer = one ? 1 : 2;
  for (const size_t functions : {size_t{9}, fewer}) {
    if (k.form == jit::loop::Form::map && functions == 2) break;
    std::shared_ptr<jit::Kernel> compiled = on_emulated_device(k, functions);
    v.push_back(contestant("emulated CUDA, " + std::to_string(functions) + " functions", compiled));
  }
  // The emulated tensor cores add up as the loop IR does.
  if (cuda_backend::fits_tensor_cores(k))
    for (const int multiprocessors : {1, 1000})
      v.push_back(contestant("emulated tensor cores", with_tensor_cores(k, multiprocessors)));
  return v;
}

BOOST_AUTO_TEST_CASE(each_kind_agrees_at_the_edges) {
  for (const Representative& r : representatives()) {
    const std::string text = in_child([&] {
      const std::vector<Contestant> contestants = ways(r.kernel);
      for (const auto& extents : edge_shapes(r.kernel))
        for (const int shift : {0, 1}) {
          const Case c = packed(r.kernel, extents, shift, shift ? Values::special : Values::range);
          const std::string found = trial(c, oracle(), contestants);
          if (!found.empty()) return describe(c) + found;
        }
      return std::string();
    });
    BOOST_CHECK_MESSAGE(text.empty(), r.name << ": " << text);
  }
}

/// Builds a product of batches whose sides have these strides; there are four kinds of `epilogue`.
jit::loop::LoopKernel product(DType t, const std::vector<Stride>& left, const std::vector<Stride>& right,
                              int epilogue) {
  KernelBuilder b(jit::loop::Form::contract, 4, 0);  // k, b, m, n
  const int r = b.contract(b.cast(float32, b.input(t, left)), b.cast(float32, b.input(t, right)));
  b.begin_epilogue();
  const Stride A = Stride::any, U = Stride::unit, Z = Stride::zero;
  ValueId v = b.result(r);
  if (epilogue == 1) v = b.op(Op::gelu, b.op(Op::add, v, b.cast(float32, b.input(t, {Z, Z, Z, U}))));
  if (epilogue == 2) v = b.op(Op::add, v, b.cast(float32, b.input(t, {Z, A, A, U})));
  if (epilogue == 3) v = b.op(Op::multiply, v, b.cast(float32, b.iota(2)));
  if (epilogue == 3) b.store(b.op(Op::add, v, b.scalar(float32)), {Z, A, A, A});
  b.store(epilogue == 0 ? v : b.cast(t, v),
          epilogue == 2 ? std::vector{Z, A, U, A} : std::vector{Z, A, A, U});
  return b.done();
}

/// Transposes a side so that its lines become neighbours, if the kernel assumes no contiguous axis.
void turn(Case& c, size_t operand, size_t axis) {
  auto& strides = c.plans[operand].strides;
  if (c.kernel.operands[operand].stride[axis] != Stride::any ||
      c.kernel.operands[operand].stride[0] != Stride::any)
    return;
  strides[axis] = 2;
  strides[0] = 2 * c.extents[axis];
}

/// The emulated tensor cores add up in ascending order, so results are the reference's to the bit.
BOOST_AUTO_TEST_CASE(tensor_cores_take_sides_in_any_layout) {
  const Stride A = Stride::any, U = Stride::unit, Z = Stride::zero;
  const std::vector<std::vector<Stride>> lefts = {{U, A, A, Z}, {A, A, U, Z}, {U, Z, A, Z}, {A, A, A, Z},
                                                  {A, Z, U, Z}, {U, A, Z, Z}, {Z, A, A, Z}};
  const std::vector<std::vector<Stride>> rights = {{A, A, Z, U}, {U, A, Z, A}, {A, Z, Z, U}, {A, A, Z, A},
                                                   {U, Z, Z, A}, {U, A, Z, Z}, {Z, Z, Z, U}};
  // Complete tiles, and ends of each kind.
  const std::vector<std::vector<int64_t>> shapes = {{64, 1, 128, 128}, {40, 2, 72, 200}, {33, 1, 129, 9},
                                                    {100, 3, 8, 65},   {8, 1, 200, 136}, {31, 2, 63, 127}};
  for (size_t i = 0; i < lefts.size() * 2; ++i) {
    // Each layout meets its like, then another.
    const auto& left = lefts[i % lefts.size()];
    const auto& right = rights[(i + i / lefts.size()) % rights.size()];
    const DType t = i % 2 ? float16 : bfloat16;
    const jit::loop::LoopKernel k = product(t, left, right, static_cast<int>(i % 4));
    BOOST_REQUIRE(cuda_backend::fits_tensor_cores(k));
    const std::string text = in_child([&] {
      std::vector<Contestant> contestants;
      for (const int multiprocessors : {1, 1000})
        contestants.push_back(contestant(multiprocessors == 1 ? "large tiles" : "small tiles",
                                         with_tensor_cores(k, multiprocessors)));
      for (size_t j = 0; j < shapes.size(); ++j)
        for (const int shift : {0, 1}) {
          if ((i + j) % 2 && shift) continue;
          Case c = packed(k, shapes[j], shift, j % 3 == 2 ? Values::special : Values::small);
          if ((i + j) % 3 != 0) turn(c, 0, 2);
          if ((i + j) % 3 != 1) turn(c, 1, 3);
          const std::string found = trial(c, oracle(), contestants);
          if (!found.empty()) return describe(c) + found;
        }
      return std::string();
    });
    BOOST_CHECK_MESSAGE(text.empty(), "layout " << i << ": " << text);
  }
}

BOOST_AUTO_TEST_CASE(random_kernels_agree_to_the_bit) {
  const uint64_t first = asked_seed();
  const uint64_t count = asked_cases(60);
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << first << " LAZY_TEST_CASES=" << count);
  int failures = 0;
  for (uint64_t i = first; i < first + count && failures < 3;) {
    const Failure x =
        first_failure(i, first + count, [](uint64_t seed) { return compare(random_case(seed)); });
    i = x.index;
    if (x.text.empty()) continue;
    ++failures;
    BOOST_ERROR("LAZY_TEST_SEED=" << i << " LAZY_TEST_CASES=1 fails: " << x.text << describe(random_case(i)));
    ++i;
  }
}

BOOST_AUTO_TEST_SUITE_END()
