// Compares the op table with the reference: every row has a meaning for every type that the rules allow, and
// for no other.
#include <boost/test/unit_test.hpp>

#include "backends/reference/accumulate.hpp"
#include "backends/reference/backend.hpp"
#include "backends/reference/ops.hpp"
#include "tests/common/kernel_builder.hpp"

using namespace lazy;
using namespace lazy::test;

BOOST_AUTO_TEST_SUITE(reference_coverage)

BOOST_AUTO_TEST_CASE(every_pointwise_row_has_a_meaning) {
  for (int i = 0; i < jit::kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    int types = 0;
    for (int t = 0; t < kDTypeCount; ++t) {
      const DType type = static_cast<DType>(t);
      const bool defined =
          reference::meaning(op, type, op == Op::cast ? DType::float32 : result_type(op, type)) != nullptr;
      const bool wanted = jit::kind_of(op) == jit::OpKind::pointwise && accepts(op, type);
      BOOST_CHECK_MESSAGE(defined == wanted, name_of(op)
                                                 << " on " << name_of(type) << ": defined " << defined);
      types += defined;
    }
    if (jit::kind_of(op) == jit::OpKind::pointwise) BOOST_CHECK_MESSAGE(types > 0, name_of(op));
  }
}

BOOST_AUTO_TEST_CASE(every_pair_of_types_can_be_cast) {
  for (int a = 0; a < kDTypeCount; ++a)
    for (int b = 0; b < kDTypeCount; ++b)
      BOOST_CHECK(reference::meaning(Op::cast, static_cast<DType>(a), static_cast<DType>(b)));
}

// Reduces one element by every reduction of every type it takes: the result is the element (or its position).
BOOST_AUTO_TEST_CASE(every_reduction_runs) {
  for (int i = 0; i < jit::kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (jit::kind_of(op) != jit::OpKind::reduce && op != Op::matmul) continue;
    for (int t = 0; t < kDTypeCount; ++t) {
      const DType type = static_cast<DType>(t);
      if (!accepts(op, type)) continue;
      for (bool inner : {false, true}) {
        const bool contracts = op == Op::matmul;
        if (contracts && inner) continue;
        KernelBuilder b(contracts ? Form::contract : Form::reduce, 2, inner ? 1 : 0);
        const ValueId v = b.input(type, {Stride::any, contracts ? Stride::zero : Stride::any});
        const int r = contracts ? b.contract(v, v) : b.reduce(op, v);
        b.begin_epilogue();
        b.store(b.result(r));
        uint64_t one = 1, out = 99;
        if (type == DType::float32) one = 0x3f800000;
        if (type == DType::float64) one = 0x3ff0000000000000;
        Launch args(b.done());
        args.extents({1, 1}).operand(0, &one, {0, 0}).operand(1, &out, {0, 0});
        reference::make_backend()->compile(b.k)->launch(args.data());
        const bool index = op == Op::argmax || op == Op::argmin;
        const uint64_t mask = index || size_of(type) == 8 ? ~0ull : (1ull << 8 * size_of(type)) - 1;
        BOOST_CHECK_MESSAGE((out & mask) == (index ? 0 : one),
                            name_of(op) << " of " << name_of(type) << " gives " << out);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_is_aligned_and_never_null) {
  auto backend = reference::make_backend();
  for (size_t n : {size_t{0}, size_t{1}, size_t{63}, size_t{1 << 20}}) {
    void* p = backend->allocate(n);
    BOOST_CHECK(p);
    BOOST_CHECK_EQUAL(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    backend->deallocate(p, n);
  }
  BOOST_CHECK_EQUAL(backend->name(), "reference");
}

BOOST_AUTO_TEST_SUITE_END()
