// What is in a kernel's text, and what isn't.
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <map>
#include <set>

#include "backends/cuda/emitter/module.hpp"
#include "support/error.hpp"
#include "tests/cuda/representative.hpp"
#include "tests/differential/random_kernel.hpp"
#include "tests/kernel_builder.hpp"

using namespace lazy;
using namespace lazy::test;
using cuda_backend::Schedule;

namespace {

std::string text_of(const LoopKernel& k) { return cuda_backend::emit(k, Schedule::of(k)); }
std::string text_of(const char* name) { return text_of(representative(name)); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Device functions that are defined but never called.
std::set<std::string> unused(const std::string& text) {
  std::map<std::string, int> defined, seen;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!in_name(text[i]) || (i > 0 && in_name(text[i - 1]))) continue;
    size_t end = i;
    while (in_name(text[end])) ++end;
    if (text[end] != '(' && text[end] != '<') continue;
    const std::string name = text.substr(i, end - i);
    const size_t line = text.rfind('\n', i) + 1;
    const bool defines = text.compare(line, 17, "static __device__") == 0 && text.find('(', line) == end;
    ++(defines ? defined : seen)[name];
  }
  std::set<std::string> names;
  for (const auto& [name, times] : defined)
    if (seen[name] == 0) names.insert(name);
  return names;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_text)

BOOST_AUTO_TEST_CASE(only_what_is_called_is_defined) {
  for (const Representative& r : representatives())
    for (const std::string& name : unused(text_of(r.kernel))) BOOST_ERROR(r.name << " does not use " << name);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string text = text_of(random_case(seed).kernel);
    for (const std::string& name : unused(text))
      BOOST_ERROR("case " << seed << " does not use " << name << "\n" << text);
  }
  // The test itself sees one.
  BOOST_TEST(unused("static __device__ __forceinline__ float f(float x) { return x; }").count("f") == 1u);
}

BOOST_AUTO_TEST_CASE(includes_nothing_and_restricts_no_pointer) {
  for (const Representative& r : representatives()) {
    const std::string text = text_of(r.kernel);
    BOOST_TEST(!has(text, "#include"));
    BOOST_TEST(!has(text, "restrict"));
    for (const std::string& f : Schedule::of(r.kernel).functions) BOOST_TEST(has(text, " " + f + "("));
  }
}

BOOST_AUTO_TEST_CASE(says_which_kernel_it_is) {
  LoopKernel k = representative("add");
  k.name = "add", k.at = "demo/main.cpp:14";
  BOOST_TEST(text_of(k).rfind("// add at demo/main.cpp:14\n", 0) == 0u);
  // A cubin from the disk is found by functions' names, of which a kernel's own is no part.
  BOOST_TEST(Schedule::of(k).functions == Schedule::of(representative("add")).functions,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_are_named_after_their_ops) {
  const std::string text = text_of("exp");
  BOOST_TEST(has(text, "const float exp1 = exp_f32(load0);"));
  BOOST_TEST(has(text, "y1.at[j] = exp1;"));
}

BOOST_AUTO_TEST_CASE(packed_maps_have_a_wide_form) {
  BOOST_TEST(Schedule::of(representative("add")).vector == 4);
  BOOST_TEST(Schedule::of(representative("float16")).vector == 8);
  BOOST_TEST(Schedule::of(representative("mixed_widths")).vector == 2);  // by the widest
  BOOST_TEST(Schedule::of(representative("strided")).vector == 1);
}

BOOST_AUTO_TEST_CASE(wide_loads_need_alignment) {
  const LoopKernel& k = representative("add");
  const Schedule s = Schedule::of(k);
  const auto function = [&](uint64_t address, int64_t n) {
    test::Launch args(k);
    args.extents({n});
    for (int i = 0; i < 3; ++i) args.operand(i, reinterpret_cast<void*>(address), {4});
    std::vector<cuda_backend::Launch> launches;
    size_t scratch = 1;
    s.plan(args.data(), launches, scratch);
    BOOST_TEST(scratch == 0u);
    return launches.empty() ? -1 : static_cast<int>(launches.at(0).function);
  };
  BOOST_TEST(function(0x1000, 100) == 1);
  BOOST_TEST(function(0x1000, 101) == 1);  // the last vector is short
  BOOST_TEST(function(0x1004, 100) == 0);
  BOOST_TEST(function(0x1000, 0) == -1);
}

BOOST_AUTO_TEST_CASE(long_rows_are_combined_by_a_second_launch) {
  const LoopKernel& k = representative("row_sums");
  const Schedule s = Schedule::of(k);
  const auto plan = [&](int64_t rows, int64_t n, size_t& scratch) {
    test::Launch args(k);
    args.extents({rows, n});
    std::vector<cuda_backend::Launch> launches;
    s.plan(args.data(), launches, scratch);
    return launches;
  };
  size_t scratch = 0;
  BOOST_TEST(plan(3, 16384, scratch).size() == 1u);
  BOOST_TEST(scratch == 0u);
  BOOST_TEST(plan(3, 16385, scratch).size() == 2u);
  BOOST_TEST(scratch == 3u * 2 * 8);
  BOOST_TEST(plan(1000, 4, scratch)[0].blocks == 1000u * 4 / 256 + 1);  // 64 rows a block
}

BOOST_AUTO_TEST_CASE(many_arguments_go_through_memory) {
  KernelBuilder b(Form::map, 1);
  ValueId x = b.input(float32, {Stride::unit});
  for (int i = 0; i < 500; ++i) x = b.op(Op::add, x, b.scalar(float32));
  b.store(x, {Stride::unit});
  const Schedule s = Schedule::of(b.done());
  BOOST_TEST(s.args_in_memory);
  BOOST_TEST(has(cuda_backend::emit(b.k, s), "(const Args* const memory)"));
  BOOST_TEST(!Schedule::of(representative("add")).args_in_memory);
}

BOOST_AUTO_TEST_SUITE_END()
