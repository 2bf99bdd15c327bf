// The loop IR's text, identity and rules.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <set>

#include "support/error.hpp"
#include "tests/common/kernel_builder.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Rows of x * scale, their sum, and an epilogue.
LoopKernel sample() {
  KernelBuilder b(Form::reduce, 2, 1);
  const ValueId x = b.input(DType::float16, {Stride::any, Stride::unit});
  const ValueId wide = b.cast(DType::float32, x), scale = b.scalar(DType::float32);
  const ValueId y = b.op(Op::multiply, wide, scale);
  const int r = b.reduce(Op::sum, y), at = b.reduce(Op::argmax, y);
  b.begin_epilogue();
  const ValueId bias = b.input(DType::float32, {Stride::unit, Stride::zero});
  b.store(b.op(Op::add, b.result(r), bias), {Stride::unit});
  b.store(b.result(at));
  b.k.operands[2].wide = true;
  b.k.name = "sample";
  return b.done();
}

/// The sums of the columns.
LoopKernel columns() {
  KernelBuilder b(Form::reduce, 2, 0);
  const int r = b.reduce(Op::sum, b.input(DType::float32));
  b.begin_epilogue();
  b.store(b.result(r));
  return b.done();
}

LoopKernel scan() {
  KernelBuilder b(Form::scan, 2, 0);
  b.store(b.result(b.reduce(Op::cumsum, b.input(DType::int32))));
  return b.done();
}

LoopKernel map() {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(DType::float32), y = b.input(DType::float32);
  b.store(b.op(Op::where, b.op(Op::less, x, y), x, y));
  b.store(b.iota(0));
  return b.done();
}

using Change = std::function<void(LoopKernel&)>;

void rejects(LoopKernel k, const std::string& rule, const Change& change) {
  BOOST_CHECK_NO_THROW(check(k));
  change(k);
  try {
    check(k);
    BOOST_ERROR("accepted, but should say: " << rule);
  } catch (const Error& e) {
    BOOST_CHECK_MESSAGE(std::string(e.what()).find(rule) != std::string::npos,
                        "\"" << e.what() << "\" lacks \"" << rule << "\"");
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loop_ir)

BOOST_AUTO_TEST_CASE(text) {
  BOOST_CHECK_EQUAL(print(sample()), R"(reduce sample [a0, a1 reduced] scalars 1
  operand 0: f16 in [any, unit]
  operand 1: f32 in [unit, zero]
  operand 2: f32 out [unit, zero] wide
  operand 3: i64 out [any, zero]
  %0 = load f16 operand 0
  %1 = cast f32 %0
  %2 = scalar f32 argument 0
  %3 = multiply f32 %1, %2
  r0 = sum f32 %3
  r1 = argmax f32 %3
epilogue
  %4 = load f32 operand 1
  %5 = result f32 r0
  %6 = add f32 %5, %4
  %7 = result i64 r1
  store operand 2, %6
  store operand 3, %7
)");
  BOOST_CHECK_EQUAL(print(scan()), R"(scan [a0 scanned, a1]
  operand 0: i32 in [any, any]
  operand 1: i32 out [any, any]
  %0 = load i32 operand 0
  %1 = result i32 r0
  r0 = cumsum i32 %0
  store operand 1, %1
)");
  BOOST_CHECK_EQUAL(print(map()), R"(map [a0]
  operand 0: f32 in [any]
  operand 1: f32 in [any]
  operand 2: f32 out [any]
  operand 3: i64 out [any]
  %0 = load f32 operand 0
  %1 = load f32 operand 1
  %2 = less bool %0, %1
  %3 = where f32 %2, %0, %1
  %4 = iota i64 a0
  store operand 2, %3
  store operand 3, %4
)");
}

BOOST_AUTO_TEST_CASE(identity_ignores_names_and_nothing_else) {
  LoopKernel named = sample();
  named.name = "another";
  BOOST_CHECK(identity(named) == identity(sample()));
  named.operands[0].stride[5] = Stride::unit;  // past the rank
  BOOST_CHECK(identity(named) == identity(sample()));

  const std::vector<Change> changes{
      [](LoopKernel&) {},
      [](LoopKernel& k) { k.form = Form::scan; },
      [](LoopKernel& k) { k.rank = 3; },
      [](LoopKernel& k) { k.sequential = 0; },
      [](LoopKernel& k) { k.epilogue -= 1; },
      [](LoopKernel& k) { k.scalars += 1; },
      [](LoopKernel& k) { k.scalars += 256; },
      [](LoopKernel& k) { k.operands[0].dtype = DType::bfloat16; },
      [](LoopKernel& k) { k.operands[0].output = true; },
      [](LoopKernel& k) { k.operands[0].wide = true; },
      [](LoopKernel& k) { k.operands[0].stride[0] = Stride::unit; },
      [](LoopKernel& k) { k.operands[0].stride[1] = Stride::zero; },
      [](LoopKernel& k) { k.operands.pop_back(); },
      [](LoopKernel& k) { k.body[0].imm = 1; },
      [](LoopKernel& k) { k.body[0].code = Code::scalar; },
      [](LoopKernel& k) { k.body[1].type = DType::float64; },
      [](LoopKernel& k) { k.body[3].op = Op::add; },
      [](LoopKernel& k) { k.body[3].a = 2; },
      [](LoopKernel& k) { k.body[3].b = 1; },
      [](LoopKernel& k) { k.body.pop_back(); },
      [](LoopKernel& k) { k.reductions[0].op = Op::prod; },
      [](LoopKernel& k) { k.reductions[0].value = 1; },
      [](LoopKernel& k) { k.reductions[0].type = DType::float64; },
      [](LoopKernel& k) { k.reductions.pop_back(); },
      [](LoopKernel& k) { k.stores[0].operand = 3; },
      [](LoopKernel& k) { k.stores[0].value = 5; },
      [](LoopKernel& k) { k.stores.pop_back(); },
  };
  std::set<std::string> all;
  for (const Change& c : changes) {
    LoopKernel k = sample();
    c(k);
    all.insert(identity(k));
  }
  BOOST_CHECK_EQUAL(all.size(), changes.size());
  BOOST_CHECK(identity(map()) != identity(scan()));
}

BOOST_AUTO_TEST_CASE(a_wheres_third_operand_counts) {
  LoopKernel k = map();
  k.body[3].c = 0;
  BOOST_CHECK(identity(k) != identity(map()));
}

BOOST_AUTO_TEST_CASE(rules_of_forms) {
  rejects(map(), "unknown form",
          [](LoopKernel& k) { k.form = static_cast<Form>(static_cast<int>(Form::contract) + 1); });
  rejects(map(), "an unknown dtype", [](LoopKernel& k) { k.operands[1].dtype = static_cast<DType>(13); });
  rejects(map(), "an unknown stride class", [](LoopKernel& k) {
    k.operands[1].stride[0] = static_cast<Stride>(1 + static_cast<int>(Stride::any));
  });
  rejects(map(), "rank 0 is not in", [](LoopKernel& k) { k.rank = 0; });
  rejects(map(), "rank 11 is not in", [](LoopKernel& k) { k.rank = 11; });
  rejects(map(), "a map has no sequential axis", [](LoopKernel& k) { k.sequential = 0; });
  rejects(map(), "a map has no reductions", [](LoopKernel& k) {
    k.reductions.push_back({Op::sum, DType::float32, 0});
  });
  rejects(map(), "only a reduce or a contract has an epilogue", [](LoopKernel& k) { k.epilogue = 2; });
  rejects(map(), "past the end of the body", [](LoopKernel& k) { k.epilogue = 9; });
  rejects(sample(), "not an axis of the kernel", [](LoopKernel& k) { k.sequential = 2; });
  rejects(sample(), "at least one reduction", [](LoopKernel& k) { k.reductions.clear(); });
  rejects(scan(), "an axis before the last one", [](LoopKernel& k) { k.sequential = 1; });
  rejects(scan(), "at least one running sum", [](LoopKernel& k) { k.reductions.clear(); });
  rejects(scan(), "sum is not a scan", [](LoopKernel& k) { k.reductions[0].op = Op::sum; });
  rejects(sample(), "moves along the reduced axis",
          [](LoopKernel& k) { k.operands[3].stride[1] = Stride::any; });
}

BOOST_AUTO_TEST_CASE(rules_of_instructions) {
  rejects(map(), "not an earlier instruction", [](LoopKernel& k) { k.body[2].a = 2; });
  rejects(map(), "not an earlier instruction", [](LoopKernel& k) { k.body[3].c = kNoValue; });
  rejects(map(), "takes 2 operands", [](LoopKernel& k) { k.body[2].c = 0; });
  rejects(map(), "has operands but is not an op", [](LoopKernel& k) { k.body[1].a = 0; });
  rejects(map(), "loads operand 7 of 4", [](LoopKernel& k) { k.body[1].imm = 7; });
  rejects(map(), "loads from an output", [](LoopKernel& k) { k.body[1].imm = 2; });
  rejects(map(), "%0 is f64 but operand 0 is f32", [](LoopKernel& k) { k.body[0].type = DType::float64; });
  rejects(map(), "the condition of where is bool", [](LoopKernel& k) { k.body[3].a = 0; });
  rejects(map(), "operands of where are f32 and bool", [](LoopKernel& k) { k.body[3].c = 2; });
  rejects(map(), "gives f32, not f64", [](LoopKernel& k) { k.body[3].type = DType::float64; });
  rejects(map(), "less of f32 gives bool, not f32", [](LoopKernel& k) { k.body[2].type = DType::float32; });
  rejects(map(), "sum is not a pointwise op", [](LoopKernel& k) { k.body[3].op = Op::sum; });
  rejects(map(), "bitwise_and is not defined on f32", [](LoopKernel& k) { k.body[2].op = Op::bitwise_and; });
  rejects(map(), "index along axis 1 of 1", [](LoopKernel& k) { k.body[4].imm = 1; });
  rejects(map(), "iota is i64", [](LoopKernel& k) { k.body[4].type = DType::int32; });
  rejects(sample(), "reads scalar 1 of 1", [](LoopKernel& k) { k.body[2].imm = 1; });
  rejects(sample(), "multiply is not defined on f16",
          [](LoopKernel& k) { k.body[3] = {Code::op, Op::multiply, DType::float16, 0, 0, 0}; });
  rejects(scan(), "reads reduction 1 of 1", [](LoopKernel& k) { k.body[1].imm = 1; });
  rejects(scan(), "before its value is computed", [](LoopKernel& k) { k.reductions[0].value = 1; });
  rejects(sample(), "%7 is i32 but r1 gives i64", [](LoopKernel& k) { k.body[7].type = DType::int32; });
  rejects(map(), "unknown code, op or dtype", [](LoopKernel& k) { k.body[0].type = static_cast<DType>(13); });
  rejects(map(), "unknown code, op or dtype",
          [](LoopKernel& k) { k.body[0].code = static_cast<Code>(static_cast<int>(Code::carried) + 1); });
  rejects(map(), "unknown code, op or dtype",
          [](LoopKernel& k) { k.body[2].op = static_cast<Op>(jit::kOpCount); });
  rejects(sample(), "unknown op or dtype",
          [](LoopKernel& k) { k.reductions[0].type = static_cast<DType>(13); });
  rejects(sample(), "unknown op or dtype",
          [](LoopKernel& k) { k.reductions[1].op = static_cast<Op>(jit::kOpCount); });
  for (const auto operand : {&Instr::a, &Instr::b, &Instr::c})
    for (const size_t i : {0, 4})
      rejects(map(), "has operands but is not an op", [=](LoopKernel& k) { k.body[i].*operand = 0; });
}

BOOST_AUTO_TEST_CASE(scalars_have_one_type) {
  KernelBuilder b(Form::map, 1);
  const ValueId s = b.scalar(DType::float32);
  b.store(s);
  LoopKernel k = b.done();
  rejects(k, "scalar 0 is read as two types", [](LoopKernel& k) {
    k.body.push_back({Code::scalar, {}, DType::int32, 0});
    k.epilogue = 2;
  });
}

BOOST_AUTO_TEST_CASE(rules_of_epilogues_and_reductions) {
  rejects(sample(), "%6 in the epilogue uses %3 of the body", [](LoopKernel& k) { k.body[6].b = 3; });
  rejects(sample(), "outside of the epilogue", [](LoopKernel& k) {
    k.body[3] = {Code::result, {}, DType::float32, 0};
  });
  rejects(sample(), "loads an operand that moves along the reduced axis",
          [](LoopKernel& k) { k.operands[1].stride[1] = Stride::any; });
  rejects(sample(), "the index along the reduced axis", [](LoopKernel& k) {
    k.body[7] = {Code::iota, {}, DType::int64, 1};
  });
  rejects(sample(), "its value is not an instruction of the body",
          [](LoopKernel& k) { k.reductions[0].value = 5; });
  rejects(sample(), "accumulates i32 but %3 is f32",
          [](LoopKernel& k) { k.reductions[1].type = DType::int32; });
  rejects(sample(), "matmul is not a reduction", [](LoopKernel& k) { k.reductions[0].op = Op::matmul; });
  rejects(sample(), "any is not defined on f32", [](LoopKernel& k) { k.reductions[0].op = Op::any; });
  rejects(sample(), "add is not a reduction", [](LoopKernel& k) { k.reductions[0].op = Op::add; });
}

/// (k, b, m, n): float16 by the absolute values of float32, and a bias.
LoopKernel contraction() {
  constexpr Stride Z = Stride::zero, U = Stride::unit, A = Stride::any;
  KernelBuilder b(Form::contract, 4, 0);
  const ValueId x = b.cast(DType::float32, b.input(DType::float16, {A, A, A, Z}));
  const ValueId y = b.op(Op::abs, b.input(DType::float32, {A, A, Z, U}));
  const int r = b.contract(y, x);  // in any order
  b.begin_epilogue();
  const ValueId sum = b.result(r), bias = b.input(DType::float32, {Z, Z, Z, U});
  b.store(b.op(Op::add, sum, bias), {Z, A, A, U});
  return b.done();
}

BOOST_AUTO_TEST_CASE(contractions_are_printed) {
  BOOST_CHECK_EQUAL(print(contraction()), R"(contract [a0 depth, a1, a2 rows, a3 columns]
  operand 0: f16 in [any, any, any, zero]
  operand 1: f32 in [any, any, zero, unit]
  operand 2: f32 in [zero, zero, zero, unit]
  operand 3: f32 out [zero, any, any, unit]
  %0 = load f16 operand 0
  %1 = cast f32 %0
  %2 = load f32 operand 1
  %3 = abs f32 %2
  r0 = contract f32 left %1 (a cast of %0), right %3 (computed)
epilogue
  %4 = result f32 r0
  %5 = load f32 operand 2
  %6 = add f32 %4, %5
  store operand 3, %6
)");
}

BOOST_AUTO_TEST_CASE(rules_of_contractions) {
  BOOST_REQUIRE_NO_THROW(check(contraction()));
  rejects(contraction(), "the depth axis must be an axis before the last one",
          [](LoopKernel& k) { k.sequential = 3; });
  rejects(contraction(), "a contract has a contraction and no reductions", [](LoopKernel& k) {
    k.reductions.push_back({Op::sum, DType::float32, 0});
  });
  for (int8_t row : {-2, 0, 1, 3})
    rejects(contraction(), "not the last one before the columns",
            [row](LoopKernel& k) { k.contraction.row = row; });
  rejects(contraction(), "left moves along the columns",
          [](LoopKernel& k) { std::swap(k.contraction.left, k.contraction.right); });
  rejects(contraction(), "right moves along the rows",
          [](LoopKernel& k) { k.operands[1].stride[2] = Stride::any; });
  rejects(contraction(), "right: its load and its prologue are not those of %3",
          [](LoopKernel& k) { k.contraction.right.prologue = Prologue::none; });
  rejects(contraction(), "left: its value is not an instruction of the body",
          [](LoopKernel& k) { k.contraction.left.value = 4; });
  rejects(contraction(), "%4 is f32 but r0 gives bool",
          [](LoopKernel& k) { k.contraction.type = DType::bool_; });
  rejects(contraction(), "reads reduction 1 of 1", [](LoopKernel& k) { k.body[4].imm = 1; });
  rejects(contraction(), "%4 is f32 but r0 gives f64",
          [](LoopKernel& k) { k.contraction.type = DType::float64; });
}

BOOST_AUTO_TEST_CASE(sides_of_contractions) {
  constexpr Stride Z = Stride::zero, A = Stride::any;
  KernelBuilder b(Form::contract, 4, 0);
  const ValueId load = b.input(DType::float64, {A, A, Z, Z}), cast = b.cast(DType::float32, load),
                casts = b.cast(DType::float64, cast), sum = b.op(Op::add, casts, load);
  BOOST_CHECK((side_of(b.k, load) == Side{load, load, Prologue::none}));
  BOOST_CHECK((side_of(b.k, cast) == Side{cast, load, Prologue::cast}));
  BOOST_CHECK((side_of(b.k, casts) == Side{casts, load, Prologue::casts}));
  BOOST_CHECK((side_of(b.k, sum) == Side{sum, kNoValue, Prologue::computed}));
  const ValueId row = b.input(DType::float64, {A, A, Z, A}), all = b.input(DType::float64, {A, A, A, A});
  BOOST_TEST(contraction_of(b.k, load, row).row == 2);
  BOOST_TEST(contraction_of(b.k, load, all).row == -1);
  BOOST_CHECK((contraction_of(b.k, all, load).left == side_of(b.k, load)));
}

BOOST_AUTO_TEST_CASE(identities_of_contractions) {
  const LoopKernel k = contraction();
  const std::vector<Change> changes{
      [](LoopKernel&) {},
      [](LoopKernel& k) { k.contraction.row = 1; },
      [](LoopKernel& k) { k.contraction.type = DType::float64; },
      [](LoopKernel& k) { k.contraction.left.value = 0; },
      [](LoopKernel& k) { k.contraction.right.value = 2; },
  };
  for (size_t i = 0; i < changes.size(); ++i)
    for (size_t j = 0; j < changes.size(); ++j) {
      LoopKernel x = k, y = k;
      changes[i](x);
      changes[j](y);
      BOOST_TEST((identity(x) == identity(y)) == (i == j));
    }
  const auto back = from_identity(identity(k));
  BOOST_REQUIRE(back);
  check(*back);
  BOOST_TEST(print(*back) == print(k));
}

/// x = x * x + c, a scalar for each iteration.
LoopKernel repeated() {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(DType::float32, {Stride::unit}), trips = b.scalar(DType::int64);
  b.begin_rolled_loop(trips, 1);
  const ValueId at = b.carried(x), c = b.scalar(DType::float32);
  const ValueId next = b.op(Op::add, b.op(Op::multiply, at, at), c);
  b.next(at, next);
  b.end_rolled_loop();
  b.store(b.op(Op::negative, next), {Stride::unit});
  return b.done();
}

BOOST_AUTO_TEST_CASE(rules_of_rolled_loops) {
  BOOST_CHECK_NO_THROW(check(repeated()));
  BOOST_TEST(print(repeated())
                 .find("  repeat argument 0 times, scalars step 1\n"
                       "  %2 = carried f32 %0, then %5\n") != std::string::npos);
  rejects(repeated(), "number of iterations is scalar 2 of 2",
          [](LoopKernel& k) { k.rolled_loops[0].trips = 2; });
  rejects(repeated(), "scalar 1 is read as two types", [](LoopKernel& k) { k.rolled_loops[0].trips = 1; });
  rejects(repeated(), "is out of place", [](LoopKernel& k) { k.rolled_loops.push_back(k.rolled_loops[0]); });
  rejects(repeated(), "%0 in a rolled loop is neither a carried value at its head",
          [](LoopKernel& k) { k.rolled_loops[0].first = 0; });
  rejects(repeated(), "%2 is carried, but not in a rolled loop",
          [](LoopKernel& k) { k.rolled_loops[0].first = 3; });
  rejects(repeated(), "does not begin with a value from before", [](LoopKernel& k) { k.body[2].a = 4; });
  rejects(repeated(), "does not go on with a value of its rolled loop",
          [](LoopKernel& k) { k.body[2].b = 6; });
  rejects(repeated(), "changes its type", [](LoopKernel& k) { k.body[2].a = 1; });
  rejects(repeated(), "%2 has a third operand", [](LoopKernel& k) { k.body[2].c = 0; });
  rejects(repeated(), "which is carried in another place", [](LoopKernel& k) { k.body[6].a = 2; });
  rejects(repeated(), "is given a carried value", [](LoopKernel& k) { k.stores[0].value = 2; });
  rejects(repeated(), "a scalar of less than 4 bytes", [](LoopKernel& k) { k.body[3].type = DType::int16; });
}

BOOST_AUTO_TEST_CASE(identity_tells_rolled_loops_apart) {
  const LoopKernel k = repeated();
  for (const auto change :
       {+[](LoopKernel& c) { c.rolled_loops.clear(); }, +[](LoopKernel& c) { c.rolled_loops[0].last--; },
        +[](LoopKernel& c) { c.rolled_loops[0].scalar_step = 2; },
        +[](LoopKernel& c) { c.rolled_loops[0].trips = 1; }, +[](LoopKernel& c) { c.body[2].b = 4; }}) {
    LoopKernel other = k;
    change(other);
    BOOST_CHECK(identity(other) != identity(k));
  }
}

BOOST_AUTO_TEST_CASE(rules_of_stores) {
  rejects(map(), "writes operand 4 of 4", [](LoopKernel& k) { k.stores[0].operand = 4; });
  rejects(map(), "writes operand 0, an input", [](LoopKernel& k) { k.stores[0].operand = 0; });
  rejects(map(), "output 3 is stored twice", [](LoopKernel& k) { k.stores.push_back(k.stores[1]); });
  rejects(map(), "output 2 is f32 but %2 is bool", [](LoopKernel& k) { k.stores[0].value = 2; });
  rejects(map(), "output 3 is never stored", [](LoopKernel& k) { k.stores.pop_back(); });
  rejects(map(), "a value that does not exist", [](LoopKernel& k) { k.stores[0].value = 40; });
  rejects(sample(), "stays in place along the reduced axis", [](LoopKernel& k) { k.stores[0].value = 3; });
  rejects(columns(), "stores %0, which is not of the epilogue", [](LoopKernel& k) {
    k.stores[0].value = 0;
    k.operands[1].stride[0] = Stride::any;
  });
  rejects(map(), "nothing is stored", [](LoopKernel& k) {
    k.stores.clear();
    k.operands.resize(2);
  });
}

/// y[at] += x[i], i being an index that is looked at.
LoopKernel scattered() {
  KernelBuilder b(Form::scatter, 2, 0);
  const ValueId i = b.input(DType::int64), zero = b.scalar(DType::int64), flag = b.scalar(DType::int64);
  b.check(b.op(Op::less, i, zero), flag);
  const ValueId x = b.load_at(b.operand(DType::float32, false, {Stride::zero, Stride::unit}), i);
  const int o = b.operand(DType::float32, true, {Stride::zero, Stride::unit});
  b.k.stores.push_back({static_cast<uint16_t>(o), x, i, Op::add});
  return b.done();
}

BOOST_AUTO_TEST_CASE(rules_of_computed_indices) {
  BOOST_TEST(print(scattered()) ==
             "scatter [a0 scattered, a1] scalars 2\n"
             "  operand 0: i64 in [any, any]\n"
             "  operand 1: f32 in [zero, unit]\n"
             "  operand 2: f32 out [zero, unit]\n"
             "  %0 = load i64 operand 0\n"
             "  %1 = scalar i64 argument 0\n"
             "  %2 = scalar i64 argument 1\n"
             "  %3 = less bool %0, %1\n"
             "  %4 = check bool %3, argument 1\n"
             "  %5 = load f32 operand 1 at %0\n"
             "  store operand 2, %5 at %0 by add\n");
  rejects(scattered(), "loads at an index that is not i64", [](LoopKernel& k) { k.body[5].a = 3; });
  rejects(scattered(), "not an earlier instruction", [](LoopKernel& k) { k.body[5].a = 6; });
  rejects(scattered(), "has operands but is not an op", [](LoopKernel& k) { k.body[5].b = 0; });
  rejects(scattered(), "loads from an output", [](LoopKernel& k) { k.body[5].imm = 2; });
  rejects(scattered(), "checks something else than a bool", [](LoopKernel& k) { k.body[4].a = 0; });
  rejects(scattered(), "reads scalar 2 of 2", [](LoopKernel& k) { k.body[4].imm = 2; });
  rejects(scattered(), "is stored at no i64", [](LoopKernel& k) { k.stores[0].at = 3; });
  rejects(scattered(), "a scatter, and no other kernel", [](LoopKernel& k) { k.stores[0].at = kNoValue; });
  rejects(scattered(), "moves along the scattered axis",
          [](LoopKernel& k) { k.operands[2].stride[0] = Stride::any; });
  rejects(scattered(), "does not combine by divide", [](LoopKernel& k) { k.stores[0].combine = Op::divide; });
  rejects(scattered(), "by an unknown op",
          [](LoopKernel& k) { k.stores[0].combine = static_cast<Op>(jit::kOpCount); });
  rejects(scattered(), "has one store", [](LoopKernel& k) { k.stores.push_back(k.stores[0]); });
  rejects(scattered(), "is not an axis of the kernel", [](LoopKernel& k) { k.sequential = -1; });
  rejects(map(), "a scatter, and no other kernel", [](LoopKernel& k) { k.stores[1].at = 4; });
}

BOOST_AUTO_TEST_CASE(identity_tells_computed_indices_apart) {
  const LoopKernel k = scattered();
  const auto again = from_identity(identity(k));
  BOOST_REQUIRE(again);
  BOOST_TEST(print(*again) == print(k));
  for (const auto change :
       {+[](LoopKernel& c) { c.body[5].a = 1; }, +[](LoopKernel& c) { c.body[4].imm = 0; },
        +[](LoopKernel& c) { c.stores[0].at = 1; },
        +[](LoopKernel& c) { c.stores[0].combine = Op::multiply; },
        +[](LoopKernel& c) { c.body[5].code = Code::load; }}) {
    LoopKernel other = k;
    change(other);
    BOOST_CHECK(identity(other) != identity(k));
  }
}

BOOST_AUTO_TEST_SUITE_END()
