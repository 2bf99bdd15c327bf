// Compares compiled code of random kernels with the reference, to the bit.
//
// LAZY_TEST_SEED=n runs cases n, n + 1, ... ; LAZY_TEST_CASES=k runs k of them. A failing case is shrunk and
// printed; its own number with LAZY_TEST_CASES=1 repeats it. LAZY_TEST_FORK=0 stays in one process, for a
// debugger.
#include <boost/test/unit_test.hpp>

#include "backends/cpu/backend.hpp"
#include "backends/reference/kernel.hpp"
#include "support/config.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/kernel_builder.hpp"
#include "tests/differential/interpreted.hpp"
#include "tests/differential/trial.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

uint64_t base_seed() {
  static const uint64_t seed = asked_seed();
  return seed;
}

Contestant exact_oracle() {
  return {"reference", [](const LoopKernel& k) { return std::make_unique<reference::LoopsKernel>(k); }};
}

std::vector<cpu_backend::Isa> levels() {
  std::vector<cpu_backend::Isa> v;
  for (cpu_backend::Isa isa : {cpu_backend::Isa::avx2, cpu_backend::Isa::avx512})
    if (isa <= cpu_backend::best_isa()) v.push_back(isa);
  return v;
}

std::vector<Contestant> contestants() {
  std::vector<Contestant> v;
  for (cpu_backend::Isa isa : levels())
    for (const char* threads : {"1", "2"}) {
      const bool stored = threads[0] == '2';  // on two threads: loaded as another process would
      // Backends outlive every kernel they compiled: made once a process, never freed.
      const auto compile = [isa, stored](const LoopKernel& k) {
        static jit::Backend* const backends[2] = {
            cpu_backend::make_backend(cpu_backend::Isa::avx2).release(),
            cpu_backend::best_isa() >= cpu_backend::Isa::avx512
                ? cpu_backend::make_backend(cpu_backend::Isa::avx512).release()
                : nullptr};
        jit::Backend& backend = *backends[isa == cpu_backend::Isa::avx512];
        auto made = backend.compile(k);
        if (!stored) return made;
        const auto again = jit::loop::from_identity(jit::loop::identity(k));
        if (!again) throw std::runtime_error("a kernel's identity could not be read");
        if (jit::loop::identity(*again) != jit::loop::identity(k))
          throw std::runtime_error("an identity changed when read");
        return backend.load(*again, made->stored());
      };
      v.push_back({std::string(cpu_backend::name_of(isa)) + (stored ? ", loaded," : "") + " with " + threads +
                       " thread(s)",
                   compile, [threads] { config::set("LAZY_NUM_THREADS", threads); }});
    }
  return v;
}

std::string compare(const Case& c) {
  if (!wanted(c)) return {};
  return trial(c, oracle(), contestants());
}

void report(const Case& found, const std::string& text, const std::function<std::string(const Case&)>& f) {
  if (!asked_to_shrink()) BOOST_FAIL("LAZY_TEST_SEED=" << found.seed << " LAZY_TEST_CASES=1 fails: " << text);
  const auto isolated = [&](const Case& c) { return in_child([&] { return f(c); }); };
  const Case least = shrink(found, isolated);
  const std::string why = isolated(least);
  BOOST_ERROR("LAZY_TEST_SEED=" << found.seed << " LAZY_TEST_CASES=1 fails: " << text << "shrunk to:\n"
                                << describe(least) << (why.empty() ? "(not every time)" : why));
}

void run_cases(uint64_t first, uint64_t count, const std::function<Case(uint64_t)>& make,
               const std::function<std::string(const Case&)>& f) {
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << first << " LAZY_TEST_CASES=" << count);
  if (number_from("LAZY_TEST_FORK", 1) == 0) {
    for (uint64_t i = first; i != first + count; ++i) {
      const std::string text = f(make(i));
      BOOST_CHECK_MESSAGE(text.empty(), "LAZY_TEST_SEED=" << i << "\n" << describe(make(i)) << text);
    }
    return;
  }
  const uint64_t end = first + count;
  int failures = 0;
  for (uint64_t i = first; i != end && failures < 5;) {
    const Failure x = first_failure(i, std::min(end, i + 200), [&](uint64_t seed) { return f(make(seed)); });
    i = x.index;
    if (x.text.empty()) continue;
    ++failures;
    report(make(i), x.text, f);
    ++i;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(differential)

BOOST_AUTO_TEST_CASE(random_kernels_agree_to_the_bit) {
  run_cases(base_seed(), asked_cases(400), random_case, compare);
}

/// Kernels that failed once: remainders of whole numbers, computed once beside accumulators that had taken
/// the registers.
BOOST_AUTO_TEST_CASE(kernels_that_failed_once) {
  for (const uint64_t seed : {100750388, 179180}) run_cases(seed, 1, random_case, compare);
}

/// Makes a case of one op on loads of its type, values of every kind: the true function is the oracle, within
/// the bound that docs/math.md promises.
Case single_op(Op op, DType t, Values values, uint64_t seed) {
  KernelBuilder b(Form::map, 1);
  Case c;
  ValueId v[3] = {kNoValue, kNoValue, kNoValue};
  const auto plan = [&] {
    OperandPlan p;
    p.strides = {static_cast<int64_t>(size_of(t))};
    p.values = values;
    p.tag = static_cast<uint32_t>(c.plans.size());
    c.plans.push_back(p);
  };
  for (int i = 0; i < jit::row_of(op).arity; ++i) {
    v[i] = b.input(t, {Stride::unit});
    plan();
  }
  b.store(b.op(op, v[0], v[1]), {Stride::unit});
  plan();
  c.kernel = b.done();
  c.extents = {4001};
  c.origins = {0};
  c.seed = seed;
  return c;
}

BOOST_AUTO_TEST_CASE(elementary_functions_stay_within_their_bound) {
  std::vector<Case> cases;
  for (int i = 0; i < jit::kOpCount; ++i)
    for (DType t : {DType::float32, DType::float64})
      for (Values values : {Values::small, Values::range, Values::special, Values::bits})
        if (is_approximate(static_cast<Op>(i), t))
          cases.push_back(single_op(static_cast<Op>(i), t, values, base_seed()));
  const auto f = [](const Case& c) { return trial(c, exact_oracle(), contestants(), {2.0, 4.0}); };
  run_cases(
      0, cases.size(), [&](uint64_t i) { return cases[i]; }, f);
}

/// Makes a case with elements further apart than 32 bits can express, in a mapping that stays almost
/// untouched.
Case far_apart(bool wide_vector) {
  KernelBuilder b(Form::map, 2);
  const ValueId x = b.input(DType::float32), y = b.input(DType::float32, {Stride::any, Stride::unit});
  b.store(b.op(Op::add, x, y), {Stride::any, Stride::unit});
  Case c;
  c.extents = {3, 21};
  c.origins = {0, 0};
  c.plans.resize(3);
  const int64_t far = (int64_t{1} << 31) + 12;
  c.plans[0].strides = wide_vector ? std::vector<int64_t>{4, far} : std::vector<int64_t>{-far * 2, 4};
  c.plans[1].strides = c.plans[2].strides = {21 * 4, 4};
  for (uint32_t i = 0; i < 3; ++i) c.plans[i].tag = i;
  b.k.operands[0].wide = wide_vector;
  c.kernel = b.done();
  return c;
}

BOOST_AUTO_TEST_CASE(elements_far_apart) {
  for (bool wide_vector : {false, true}) {
    const std::string text = in_child([&] { return compare(far_apart(wide_vector)); });
    BOOST_CHECK_MESSAGE(text.empty(), describe(far_apart(wide_vector)) << text);
  }
}

// Checks the generator: a bad one would test nothing.
BOOST_AUTO_TEST_CASE(random_kernels_are_varied_and_well_formed) {
  std::vector<int> ops(jit::kOpCount), forms(5), types(kDTypeCount), ranks(kMaxAxes + 1);
  int overwriting = 0, empty = 0, spread = 0, rolled_loops = 0, stepped = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Case c = random_case(seed);
    BOOST_REQUIRE_NO_THROW(check(c.kernel));
    BOOST_REQUIRE_EQUAL(describe(c), describe(random_case(seed)));
    ++forms[static_cast<int>(c.kernel.form)];
    ++ranks[c.kernel.rank];
    for (const Instr& i : c.kernel.body)
      if (i.code == Code::op) ++ops[static_cast<int>(i.op)];
    for (const Reduction& r : c.kernel.reductions) ++ops[static_cast<int>(r.op)];
    ops[static_cast<int>(jit::Op::matmul)] += c.kernel.form == Form::contract;
    for (const Operand& o : c.kernel.operands) ++types[static_cast<int>(o.dtype)];
    for (const RolledLoop& r : c.kernel.rolled_loops) ++rolled_loops, stepped += r.scalar_step > 0;
    for (const OperandPlan& p : c.plans) overwriting += p.overwrites >= 0;
    int64_t n = 1;
    for (int64_t e : c.extents) n *= e;
    empty += n == 0;
    spread += n > 50000;
  }
  for (int i = 0; i < jit::kOpCount; ++i) {
    const jit::OpKind k = jit::kind_of(static_cast<Op>(i));
    if (k != jit::OpKind::pointwise && k != jit::OpKind::reduce && k != jit::OpKind::scan &&
        k != jit::OpKind::contract)
      continue;
    BOOST_CHECK_MESSAGE(ops[i] >= 10, name_of(static_cast<Op>(i)) << " occurs " << ops[i] << " times");
  }
  for (int n : forms) BOOST_CHECK_GE(n, 100);
  for (int n : types) BOOST_CHECK_GE(n, 50);
  for (int rank = 1; rank <= 4; ++rank) BOOST_CHECK_GE(ranks[rank], 100);
  BOOST_CHECK_GE(overwriting, 20);
  BOOST_CHECK_GE(empty, 20);
  BOOST_CHECK_GE(spread, 20);
  BOOST_CHECK_GE(rolled_loops, 100);
  BOOST_CHECK_GE(stepped, 30);
}

BOOST_AUTO_TEST_SUITE_END()
