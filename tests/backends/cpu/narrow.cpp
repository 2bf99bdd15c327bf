// Tests rewrites of bodies that change no bit: narrow integers are extended only where somebody looks, and
// what is added where a condition holds is added under its mask.
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

constexpr DType kNarrow[] = {int8, int16, uint8, uint16};

/// Returns how many lines of the code have both words.
int lines_with(const LoopKernel& k, cpu_backend::Isa isa, std::string_view one, std::string_view two = "") {
  int n = 0;
  std::istringstream text(backend_of(isa).compile(k)->disassembly());
  for (std::string line; std::getline(text, line);)
    n += line.find(one) != std::string::npos && line.find(two) != std::string::npos;
  return n;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cpu_narrow)

BOOST_AUTO_TEST_CASE(sums_and_products_of_narrow_integers_are_not_extended) {
  for (const DType t : kNarrow) {
    KernelBuilder b(Form::map, 1);
    const ValueId x = b.input(t, {Stride::unit}), y = b.input(t, {Stride::unit});
    const ValueId sum = b.op(Op::add, b.op(Op::multiply, x, y), x);
    b.store(b.op(Op::subtract, b.op(Op::multiply, sum, b.scalar(t)), y), {Stride::unit});
    const LoopKernel k = b.done();
    for (const int64_t n : {0, 1, 17, 97, 1009}) compare(k, {n});
    for (const cpu_backend::Isa isa : levels()) {
      BOOST_CHECK_EQUAL(lines_with(k, isa, "vpsrad"), 0);
      BOOST_CHECK_EQUAL(lines_with(k, isa, "vpmulld"), 0);
      if (isa >= cpu_backend::Isa::avx512) BOOST_CHECK_EQUAL(lines_with(k, isa, "vpandd"), 0);
    }
  }
}

/// Chains of ops of which some look at low bits only and some at all.
BOOST_AUTO_TEST_CASE(chains_of_narrow_integers) {
  constexpr Op ops[] = {Op::add,        Op::subtract,    Op::multiply,    Op::bitwise_and,
                        Op::bitwise_or, Op::bitwise_xor, Op::left_shift,  Op::right_shift,
                        Op::maximum,    Op::minimum,     Op::floor_divide};
  for (int round = 0; round < 60; ++round) {
    const DType t = kNarrow[round % 4];
    KernelBuilder b(Form::map, 1);
    std::vector<ValueId> v{b.input(t, {Stride::unit}), b.input(t, {Stride::any}), b.scalar(t)};
    const auto any = [&] { return v[static_cast<size_t>(random_below(static_cast<int64_t>(v.size())))]; };
    for (int i = 0; i < 14; ++i) {
      switch (random_below(8)) {
        case 0: v.push_back(b.op(Op::where, b.op(Op::less, any(), any()), any(), any())); break;
        case 1: v.push_back(b.op(random_below(2) ? Op::negative : Op::bitwise_invert, any())); break;
        case 2: {
          const DType other = kNarrow[random_below(4)];
          v.push_back(b.cast(t, b.op(Op::multiply, b.cast(other, any()), b.cast(other, any()))));
          break;
        }
        default: v.push_back(b.op(ops[random_below(std::size(ops))], any(), any()));
      }
    }
    b.store(v.back(), {Stride::unit});
    b.store(b.cast(int32, v[v.size() - 2]), {Stride::unit});
    b.store(b.cast(float32, v[v.size() - 3]), {Stride::unit});
    const LoopKernel k = b.done();
    for (const int64_t n : {1, 33, 131}) compare(k, {n});
  }
}

/// Of -0 + where(m, y, 0) the result is +0 where m is false: only what cannot be -0 is left alone there.
BOOST_AUTO_TEST_CASE(what_is_chosen_is_added_under_a_mask) {
  for (const DType t : {float32, float64}) {
    for (const bool loaded : {false, true}) {
      KernelBuilder b(Form::map, 1);
      const ValueId x = b.input(t, {Stride::unit}), y = b.input(t, {Stride::unit});
      const auto counted = [&](Op op) { return b.cast(t, b.op(op, x, y)); };
      const ValueId first = loaded ? x : b.op(Op::add, x, counted(Op::less));
      b.store(b.op(Op::add, first, counted(Op::greater)), {Stride::unit});
      const LoopKernel k = b.done();
      for (const int64_t n : {0, 1, 17, 1009}) compare(k, {n});
      for (const cpu_backend::Isa isa : levels()) {
        if (isa < cpu_backend::Isa::avx512) continue;
        const int masked = lines_with(k, isa, t == float32 ? "vaddps" : "vaddpd", "{k");
        BOOST_CHECK_MESSAGE((masked > 0) != loaded, masked << " additions under a mask");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(counts_that_a_loop_carries) {
  for (const bool mask_first : {false, true}) {
    KernelBuilder b(Form::map, 1);
    const ValueId x = b.input(float32, {Stride::unit}), y = b.input(float32, {Stride::unit});
    const ValueId trips = b.scalar(int64), none = b.scalar(float32);
    const ValueId count = b.op(Op::add, none, b.cast(float32, b.op(Op::less, x, y)));
    b.begin_rolled_loop(trips);
    const ValueId counted = b.carried(count), value = b.carried(x);
    const ValueId inside = b.cast(float32, b.op(Op::less_equal, value, y));
    const ValueId more = mask_first ? b.op(Op::add, inside, counted) : b.op(Op::add, counted, inside);
    const ValueId moved = b.op(Op::add, b.op(Op::multiply, value, value), y);
    b.next(counted, more);
    b.next(value, moved);
    b.end_rolled_loop();
    b.store(more, {Stride::unit});
    b.store(moved, {Stride::unit});
    const LoopKernel k = b.done();
    for (const int64_t n : {1, 17, 131}) compare(k, {n});
    for (const cpu_backend::Isa isa : levels())
      if (isa >= cpu_backend::Isa::avx512) BOOST_CHECK_GT(lines_with(k, isa, "vaddps", "{k"), 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
