// Tests that LAZY_VERIFY finds a wrong backend, names the op and its line, and is silent on a right one.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/common/folder.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::Override;
using fresh::Probe;

namespace {

// Makes a backend replace one op by another.
void swap_op(jit::loop::LoopKernel& k, jit::Op from, jit::Op to) {
  for (auto& i : k.body)
    if (i.code == jit::loop::Code::op && i.op == from) i.op = to;
}
size_t ops_in(const jit::loop::LoopKernel& k) {
  size_t n = 0;
  for (const auto& i : k.body) n += i.code == jit::loop::Code::op;
  return n;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(verify, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_wrong_op_is_named_with_its_line) {
  const Probe::Hooks hooks;
  const Tensor x = numbers({20});
  cache::clear();
  Probe::instance().on_compile = [](jit::loop::LoopKernel& k) { swap_op(k, jit::Op::sin, jit::Op::cos); };
  const Override on("LAZY_VERIFY", "1");
  const Tensor y = x * 0.1;
  const Tensor s = sin(y);
  const int sin_line = __LINE__ - 1;
  const Tensor z = s * 2 + y;
  int line = 0;
  const std::string said = fresh::standard_error_of([&] {
    line = __LINE__ + 1;
    z.eval();
  });
  BOOST_TEST(contains(said, "LAZY_VERIFY: flush at verify.cpp:" + std::to_string(line)), said);
  BOOST_TEST(
      contains(said, "first op that differs when run alone: sin at verify.cpp:" + std::to_string(sin_line)),
      said);
  BOOST_TEST(metrics().verify_failures == 1u);
  BOOST_TEST(metrics().verify_runs == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_only_when_fused_is_said_to_be) {
  const Probe::Hooks hooks;
  const Tensor x = numbers({20});
  cache::clear();
  Probe::instance().on_compile = [](jit::loop::LoopKernel& k) {
    if (ops_in(k) > 1) swap_op(k, jit::Op::add, jit::Op::subtract);
  };
  const Override on("LAZY_VERIFY", "1");
  const Tensor z = x * 2 + x;
  const std::string said = fresh::standard_error_of([&] { z.eval(); });
  BOOST_TEST(contains(said, "value of add recorded at verify.cpp:"), said);
  BOOST_TEST(contains(said, "it differs only when fused"), said);
  BOOST_TEST(metrics().verify_failures == 1u);
}

// cos of 1e26 may be anything once its operand has rounded otherwise, as the reference's sinh does.
BOOST_AUTO_TEST_CASE(errors_that_grow_are_no_alarm) {
  cache::clear();
  const Override on("LAZY_VERIFY", "1");
  const std::string said = fresh::standard_error_of([] {
    sum(cos(sinh(linspace(10, 60, 4000)))).eval();
    const Tensor x = linspace(1, 700, 999, true, float64);
    sin(exp(x)).eval();
    (exp(x * 10 % 7) % 3).eval();
    (tan(exp(x)) > 0).eval();
  });
  BOOST_TEST(said == "");
  BOOST_TEST(metrics().verify_runs >= 4u);
  BOOST_TEST(metrics().verify_failures == 0u);
}

BOOST_AUTO_TEST_CASE(a_wrong_fusion_is_found_among_errors_that_grow) {
  const Probe::Hooks hooks;
  cache::clear();
  Probe::instance().on_compile = [](jit::loop::LoopKernel& k) {
    if (ops_in(k) > 1) swap_op(k, jit::Op::cos, jit::Op::sin);
  };
  const Override on("LAZY_VERIFY", "1");
  const Tensor y = cos(sinh(linspace(10, 60, 400)));
  const std::string said = fresh::standard_error_of([&] { y.eval(); });
  BOOST_TEST(contains(said, "it differs only when fused"), said);
  BOOST_TEST(metrics().verify_failures == 1u);
}

BOOST_AUTO_TEST_CASE(integers_must_agree_exactly) {
  const Probe::Hooks hooks;
  const Tensor x = numbers({20}, int32);
  cache::clear();
  Probe::instance().on_compile = [](jit::loop::LoopKernel& k) {
    swap_op(k, jit::Op::bitwise_or, jit::Op::add);
  };
  const Override on("LAZY_VERIFY", "1");
  const std::string said = fresh::standard_error_of([&] { (x | 1).eval(); });
  BOOST_TEST(contains(said, "bitwise_or at verify.cpp:"), said);
}

BOOST_AUTO_TEST_CASE(silent_when_all_is_well) {
  const Override on("LAZY_VERIFY", "1");
  const std::string said = fresh::standard_error_of([&] {
    Tensor x = numbers({13, 7});
    const Tensor y = tanh(x * 0.1) - mean(x, {1}, keepdims);
    const Tensor n = sqrt(x - 20) + x / 0.0;  // NaN and infinity on both sides
    x(slice(2, 5), _) = 1;
    x(x > 50) *= 2;
    const Tensor z = matmul(permute(y, {1, 0}), x);
    eval(y, n, z, argmax(x, {0}), cumsum(flip(x), {1}));
    astype(astype(y, float16) * 3, float32).eval();
    (numbers({5}) * 2).eval();
    const Tensor close = sin(x) * cos(x) - tan(x), nearly = floor(close * 1e6);
    eval(close > 0, astype(nearly, int32), argmax(close, {1}));
  });
  BOOST_TEST(said == "");
  BOOST_TEST(metrics().verify_failures == 0u);
  BOOST_TEST(metrics().verify_runs > 0u);
}

// The backend is wrong where a kernel both multiplies and subtracts.
BOOST_AUTO_TEST_CASE(bisecting_leaves_the_ops_that_differ) {
  const Probe::Hooks hooks;
  const Tensor x = numbers({20}), y = numbers({20});
  cache::clear();
  Probe::instance().on_compile = [](jit::loop::LoopKernel& k) {
    for (const auto& i : k.body)
      if (i.code == jit::loop::Code::op && i.op == jit::Op::multiply)
        return swap_op(k, jit::Op::subtract, jit::Op::add);
  };
  const lazy::test::Folder folder;
  const Override on("LAZY_VERIFY", "bisect"), where("LAZY_DUMP_DIR", folder.path());
  const Tensor z = exp(tanh((maximum(sqrt(x), y) + 1) * y - x) + cos(y)) / (1 + x);
  const std::string said = fresh::standard_error_of([&] { z.eval(); });
  BOOST_TEST(contains(said, "LAZY_VERIFY=bisect: 2 of "), said);
  std::string source;
  for (const auto& e : std::filesystem::directory_iterator(folder.path()))
    if (e.path().extension() == ".cpp" && e.path().filename().string().starts_with("lazy-verify-")) {
      std::ifstream in(e.path());
      source.assign(std::istreambuf_iterator<char>(in), {});
    }
  BOOST_TEST_MESSAGE(source);
  for (const char* part : {"Op::multiply", "Op::subtract", "verify.cpp:", "evaluate(wanted"})
    BOOST_TEST(contains(source, part), part);
  for (const char* part : {"Op::maximum", "Op::sqrt", "Op::cos", "Op::tanh", "Op::divide"})
    BOOST_TEST(!contains(source, part), part);
}

BOOST_AUTO_TEST_CASE(inputs_are_not_taken_over_while_verifying) {
  const Override on("LAZY_VERIFY", "1");
  Tensor x = numbers({100});
  const std::string said = fresh::standard_error_of([&] {
    x = x + 1;
    x(0) = 7;
    x.eval();
  });
  BOOST_TEST(said == "");
  BOOST_TEST(x.to_vector<float>()[0] == 7);
  BOOST_TEST(x.to_vector<float>()[1] == 3);
}

BOOST_AUTO_TEST_SUITE_END()
