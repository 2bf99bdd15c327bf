// Tests what a kernel's text contains, and what it doesn't.
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <map>
#include <set>

#include "backends/cuda/emitter/module.hpp"
#include "support/error.hpp"
#include "tests/backends/cuda/representative.hpp"
#include "tests/common/kernel_builder.hpp"
#include "tests/differential/random_kernel.hpp"

using namespace lazy;
using namespace lazy::test;
using cuda_backend::Schedule;

namespace {

std::string text_of(const LoopKernel& k) { return cuda_backend::emit(k, Schedule::of(k)); }
std::string text_of(const char* name) { return text_of(representative(name)); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Returns device functions that are defined but never called.
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
  // The test itself detects one.
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
  // A cubin from the disk is found by functions' names, which do not contain the kernel's name.
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

/// Returns the launches of a box whose operands all lie at `address`.
std::vector<cuda_backend::Launch> plan(const LoopKernel& k, std::vector<int64_t> extents,
                                       size_t* scratch = nullptr, uint64_t address = 0x1000) {
  test::Launch args(k);
  args.extents(std::move(extents));
  for (int i = 0; i < static_cast<int>(k.operands.size()); ++i)
    args.operand(i, reinterpret_cast<void*>(address), std::vector<int64_t>(k.rank, 4));
  std::vector<cuda_backend::Launch> launches;
  size_t bytes = 1;
  Schedule::of(k).plan(args.data(), launches, bytes);
  if (scratch) *scratch = bytes;
  return launches;
}
/// Returns the end of the name of the function that a box's first launch runs, from its layout on.
std::string runs(const char* name, std::vector<int64_t> extents, uint64_t address = 0x1000) {
  const auto launches = plan(representative(name), std::move(extents), nullptr, address);
  if (launches.empty()) return "nothing";
  const std::string f = Schedule::of(representative(name)).functions.at(launches[0].function);
  return f.substr(f.rfind('_') + 1);
}

BOOST_AUTO_TEST_CASE(wide_loads_need_alignment) {
  BOOST_TEST(runs("add", {100}) == "wide");
  BOOST_TEST(runs("add", {101}) == "wide");  // the last elements are separate
  BOOST_TEST(runs("add", {100}, 0x1004) == "add");
  BOOST_TEST(runs("add", {0}) == "nothing");
}

BOOST_AUTO_TEST_CASE(long_rows_are_combined_by_a_second_launch) {
  const LoopKernel& k = representative("row_sums");
  size_t scratch = 1;
  BOOST_TEST(plan(k, {3, 16384}, &scratch).size() == 1u);
  BOOST_TEST(scratch == 0u);
  BOOST_TEST(plan(k, {3, 16385}, &scratch).size() == 2u);
  BOOST_TEST(scratch == 3u * 2 * 8);
  BOOST_TEST(plan(k, {1000, 16})[0].blocks == 1000u * 16 / 256 + 1);  // 16 rows a block
  BOOST_TEST(plan(k, {1000, 100})[0].blocks == 1000u / 8);            // a warp each
}

BOOST_AUTO_TEST_CASE(few_results_have_ways_of_their_own) {
  BOOST_TEST(runs("row_sums", {100, 5000}) == "staged");
  BOOST_TEST(runs("row_sums", {100000, 5000}) == "sum");
  BOOST_TEST(runs("row_sums", {100, 50}) == "sum");
  BOOST_TEST(runs("row_sums", {100, 8}) == "short");
  BOOST_TEST(runs("row_sums", {100, 0}) == "sum");
  BOOST_TEST(runs("column_sums", {5000, 100}) == "staged");
  BOOST_TEST(runs("column_sums", {5000, 100000}) == "sum");
  BOOST_TEST(runs("product", {1, 5000, 1000}) == "staged");
  BOOST_TEST(runs("product", {64, 5000, 1000}) == "matmul");
  BOOST_TEST(runs("scan", {5000, 3}) == "warp");
  BOOST_TEST(runs("scan", {5000, 30000}) == "cumsum");
  BOOST_TEST(runs("scan", {0, 30000}) == "nothing");
}

BOOST_AUTO_TEST_CASE(tensor_cores_are_for_products_of_16_bit_floats) {
  const LoopKernel& k = representative("product_f16_gelu");
  // Plans m x k times k x n, packed, on so many multiprocessors; `shift`: bytes of the right side's address.
  const auto runs = [&](int64_t m, int64_t steps, int64_t n, int multiprocessors, uint64_t shift = 0) {
    test::Launch args(k);
    args.extents({m, steps, n});
    args.operand(0, reinterpret_cast<void*>(0x1000), {steps * 2, 2, 0});
    args.operand(1, reinterpret_cast<void*>(0x1000 + shift), {0, n * 2, 2});
    std::vector<cuda_backend::Launch> launches;
    size_t scratch = 0;
    const Schedule s = Schedule::of(k);
    s.plan(args.data(), launches, scratch, multiprocessors);
    const std::string name = s.functions.at(launches.at(0).function);
    return name.substr(s.functions[0].size()) + " " + std::to_string(launches[0].blocks);
  };
  BOOST_TEST(runs(1024, 64, 1000, 64) == "_mma 64");
  BOOST_TEST(runs(1024, 64, 1000, 132) == "_mma_small 256");  // too few large tiles
  BOOST_TEST(runs(1024, 64, 1001, 64) == "_mma_small 256");   // rows that are not aligned
  BOOST_TEST(runs(1024, 60, 1000, 64) == "_mma_small 256");
  BOOST_TEST(runs(1024, 64, 1000, 64, 8) == "_mma_small 256");  // an address that is not
  BOOST_TEST(runs(1024, 64, 1000, 0) == " 256");                // in the loop IR's order
  BOOST_TEST(runs(16, 16, 16, 64) == " 1");                     // not worth it
  BOOST_TEST(runs(1024, 7, 1024, 64) == " 256");
  BOOST_TEST(runs(2, 4096, 1024, 64) == "_staged 64");  // few rows
  for (const char* other : {"product", "product_i8", "computed_product"})
    BOOST_TEST(!Schedule::of(representative(other)).has_mma(), other);
}

BOOST_AUTO_TEST_CASE(tiles_follow_the_shape) {
  const LoopKernel& k = representative("transposed");
  BOOST_TEST(plan(k, {1, 64, 64})[0].blocks == 4u);
  BOOST_TEST(plan(k, {1, 3, 4096})[0].blocks == 16u);  // 4 rows of 256
  BOOST_TEST(plan(k, {1, 4096, 3})[0].blocks == 16u);
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
