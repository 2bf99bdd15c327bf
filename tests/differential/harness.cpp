// Tests the differential test: kernels that are wrong on purpose must be detected, and right ones must pass.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <functional>

#include "backends/reference/kernel.hpp"
#include "tests/common/kernel_builder.hpp"
#include "tests/differential/trial.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Runs the reference's kernel, with a change to the arguments before it runs or to memory after.
class Spoilt final : public jit::Kernel {
 public:
  using Change = std::function<void(uint64_t* args, const ArgLayout&)>;
  Spoilt(const LoopKernel& k, Change before, Change after)
      : k_(k), layout_(layout_of(k)), before_(before), after_(after) {}
  void launch(uint64_t* args) const override {
    if (before_) before_(args, layout_);
    k_.launch(args);
    if (after_) after_(args, layout_);
  }

 private:
  reference::LoopsKernel k_;
  ArgLayout layout_;
  Change before_, after_;
};

Contestant spoilt(Spoilt::Change before, Spoilt::Change after) {
  return {"spoilt", [=](const LoopKernel& k) { return std::make_unique<Spoilt>(k, before, after); }};
}
Contestant right() { return spoilt({}, {}); }

/// Returns a case of out = -x over 100 floats.
Case negation() {
  KernelBuilder b(Form::map, 1);
  b.store(b.op(Op::negative, b.input(DType::float32, {Stride::unit})), {Stride::unit});
  Case c;
  c.kernel = b.done();
  c.extents = {100};
  c.origins = {0};
  c.plans.resize(2);
  for (uint32_t i = 0; i < 2; ++i) {
    c.plans[i].strides = {4};
    c.plans[i].tag = i;
    c.plans[i].values = Values::range;
  }
  return c;
}

std::string verdict(const Case& c, const Contestant& one) {
  return in_child([&] { return trial(c, right(), {one}); });
}
bool says(const std::string& text, const char* part) { return text.find(part) != text.npos; }

float* output(uint64_t* args, const ArgLayout& l) { return reinterpret_cast<float*>(args[l.pointer(1)]); }

}  // namespace

BOOST_AUTO_TEST_SUITE(harness)

BOOST_AUTO_TEST_CASE(what_is_right_passes) {
  BOOST_CHECK_EQUAL(verdict(negation(), right()), "");
  for (uint64_t seed = 0; seed < 30; ++seed) BOOST_CHECK_EQUAL(verdict(random_case(seed), right()), "");
}

BOOST_AUTO_TEST_CASE(one_wrong_bit_is_seen) {
  const auto flip = spoilt({}, [](uint64_t* args, const ArgLayout& l) {
    uint32_t bits;
    std::memcpy(&bits, output(args, l) + 57, 4);
    bits ^= 1;
    std::memcpy(output(args, l) + 57, &bits, 4);
  });
  BOOST_CHECK(says(verdict(negation(), flip), "operand 1 at [57]"));
}

BOOST_AUTO_TEST_CASE(accesses_past_either_end_die) {
  const auto longer = spoilt([](uint64_t* args, const ArgLayout& l) { args[l.extent(0)] += 1; }, {});
  const auto earlier = spoilt([](uint64_t* args, const ArgLayout& l) { args[l.pointer(0)] -= 4; }, {});
  Case at_start = negation();
  for (OperandPlan& p : at_start.plans) p.at_end = false;
  BOOST_CHECK(says(verdict(negation(), longer), "died"));
  BOOST_CHECK(says(verdict(at_start, earlier), "died"));
}

BOOST_AUTO_TEST_CASE(a_write_to_an_input_dies) {
  const auto write = spoilt(
      {}, [](uint64_t* args, const ArgLayout& l) { *reinterpret_cast<float*>(args[l.pointer(0)]) = 1; });
  BOOST_CHECK(says(verdict(negation(), write), "died"));
}

BOOST_AUTO_TEST_CASE(stray_writes_beside_the_output_are_seen) {
  const auto before = spoilt(
      {}, [](uint64_t* args, const ArgLayout& l) { reinterpret_cast<char*>(output(args, l))[-1] = 0; });
  BOOST_CHECK(says(verdict(negation(), before), "overwritten"));
  // Writes into the gaps of a strided output are detected, too.
  Case gaps = negation();
  gaps.kernel.operands[1].stride[0] = Stride::any;
  gaps.plans[1].strides = {12};
  const auto between = spoilt({}, [](uint64_t* args, const ArgLayout& l) { output(args, l)[4] = 0; });
  BOOST_CHECK(says(verdict(gaps, between), "overwritten"));
}

BOOST_AUTO_TEST_CASE(a_missing_element_is_seen) {
  const auto shorter = spoilt([](uint64_t* args, const ArgLayout& l) { args[l.extent(0)] -= 1; }, {});
  BOOST_CHECK(says(verdict(negation(), shorter), "operand 1 at [99]"));
}

BOOST_AUTO_TEST_CASE(exceptions_and_their_texts_are_reported) {
  const Contestant throws{"thrower", [](const LoopKernel&) -> std::unique_ptr<jit::Kernel> {
                            throw std::runtime_error("no such luck");
                          }};
  BOOST_CHECK(says(verdict(negation(), throws), "thrower throws: no such luck"));
}

BOOST_AUTO_TEST_CASE(nan_payloads_do_not_count_and_signs_of_zero_do) {
  Case c = negation();
  c.plans[0].values = Values::special;
  c.extents = {4000};
  const auto payload = spoilt({}, [](uint64_t* args, const ArgLayout& l) {
    for (int i = 0; i < 4000; ++i)
      if (output(args, l)[i] != output(args, l)[i]) {
        const uint32_t other = 0x7fc12345;
        std::memcpy(output(args, l) + i, &other, 4);
      }
  });
  BOOST_CHECK_EQUAL(verdict(c, payload), "");
  const auto zeros = spoilt({}, [](uint64_t* args, const ArgLayout& l) {
    for (int i = 0; i < 4000; ++i)
      if (output(args, l)[i] == 0) output(args, l)[i] = 0;
  });
  BOOST_CHECK(says(verdict(c, zeros), "operand 1 at"));
  BOOST_CHECK(!in_child([&] { return trial(c, right(), {zeros}, {4, 4}); }).empty());
}

BOOST_AUTO_TEST_CASE(tolerance_is_counted_in_steps) {
  const auto steps = [](uint32_t n) {
    return spoilt({}, [n](uint64_t* args, const ArgLayout& l) {
      uint32_t bits;
      std::memcpy(&bits, output(args, l) + 5, 4);
      bits += n;
      std::memcpy(output(args, l) + 5, &bits, 4);
    });
  };
  BOOST_CHECK_EQUAL(in_child([&] { return trial(negation(), right(), {steps(2)}, {2, 0}); }), "");
  BOOST_CHECK(!in_child([&] { return trial(negation(), right(), {steps(3)}, {2, 0}); }).empty());
}

// A backend gets only tanh wrong: a long kernel shrinks to that one instruction.
BOOST_AUTO_TEST_CASE(shrinking_finds_the_culprit) {
  const auto wrong_tanh = [](const Case& c) {
    for (const Instr& i : c.kernel.body)
      if (i.code == Code::op && i.op == Op::tanh) return std::string("differs");
    return std::string();
  };
  int tried = 0;
  for (uint64_t seed = 0; tried < 5; ++seed) {
    const Case c = random_case(seed);
    if (wrong_tanh(c).empty() || c.kernel.body.size() < 8) continue;
    ++tried;
    const Case least = shrink(c, [&](const Case& s) {
      check(s.kernel);  // every smaller case is well formed
      return wrong_tanh(s);
    });
    BOOST_CHECK(!wrong_tanh(least).empty());
    BOOST_CHECK_MESSAGE(least.kernel.body.size() <= 8, describe(c) << "shrunk to\n" << describe(least));
    BOOST_CHECK_LE(least.kernel.stores.size(), 1u);
    for (int64_t e : least.extents) BOOST_CHECK_LE(e, 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
