// Tests programs for GPUs on disk: loaded by the next process, compiled ahead for a GPU that is elsewhere,
// refused when damaged, and shown by lazy-cache.
#include <fstream>
#include <iterator>

#include "backends/cuda/backend.hpp"
#include "jit/compile/disk.hpp"
#include "tests/backends/cuda/on_gpu.hpp"
#include "tests/common/processes.hpp"
#include "tests/common/program_cache.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

struct Cached : OnGpu, ProgramCache {};

/// Runs programs of every kind of kernel: maps, rows as one kernel, columns, products with and without an
/// epilogue and of converted sides, attentions, convolutions, scans, updates, several kernels.
std::vector<std::vector<uint64_t>> everything() {
  std::vector<std::vector<uint64_t>> results;
  const auto keep = [&](const Tensor& t) { results.push_back(bits(t)); };
  const Tensor x = varied({60, 50}).to(default_device()), y = varied({50, 70}).to(default_device());
  keep(tanh(x * 2 + 1));
  const Tensor e = exp(x - max(x, {-1}, keepdims));
  keep(e / sum(e, {-1}, keepdims));
  keep(x - sum(x, {0}, keepdims));
  keep(cumsum(x, 0));
  keep(argmax(x, 1));
  keep(matmul(x, y));
  keep(maximum(matmul(x, y) + y(0), 0));
  keep(matmul(astype(x * 9, int8), astype(y * 9, int8), int32));
  keep([&] { return matmul(astype(x, float16), astype(y, float16)) * 2; }());
  const Tensor heads = reshape(matmul(x, swapaxes(x, 0, 1)), {1, 60, 60}).copy();
  keep(scaled_dot_product_attention(heads, reshape(matmul(x, swapaxes(x, 0, 1)), {1, 60, 60}).copy(), heads,
                                    {}, true));
  keep(conv1d(heads, ones({7, 60, 3}).to(x.device()), {.padding = {1}}));
  Tensor u = x(0).copy();
  u(slice(1, 29)) = u(slice(2, 30)) * 0.5f;
  keep(u);
  Tensor z = y;
  for (int i = 0; i < 60; ++i) z = z * z * 0.3f + 0.1f;
  keep(z);
  return results;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(disk, Cached)

BOOST_AUTO_TEST_CASE(what_is_loaded_gives_the_same_bits) {
  const auto first = everything();
  cache::clear();
  const Metrics before = metrics();
  BOOST_TEST((everything() == first));
  const Metrics after = metrics();
  BOOST_TEST(after.kernels_compiled == before.kernels_compiled);
  BOOST_TEST(after.kernels_loaded > before.kernels_loaded);
  BOOST_TEST(after.disk_misses == before.disk_misses);
  BOOST_TEST(after.tile_groups == 2 * before.tile_groups);  // including rows
  cache::clear();
  BOOST_TEST(cache::warmup() >= 9u);
  BOOST_TEST((everything() == first));
  BOOST_TEST(metrics().kernels_compiled == before.kernels_compiled);
}

BOOST_AUTO_TEST_CASE(compiled_again_it_is_the_same) {
  const auto first = everything();
  const auto again = cuda_backend::make_cross_compiler(gpu().architecture);
  int programs = 0, tile_groups = 0;
  for (const auto& [key, value] : records()) {
    jit::StoredProgram s;
    std::string why;
    BOOST_TEST(jit::take_apart(key, value, s, why), why);
    if (s.target != again->target()) continue;
    BOOST_TEST(jit::recompiles_alike(s, *again, why), why);
    for (size_t b = 0; b < s.rows.size(); ++b)
      if (!s.rows[b].empty()) {
        const auto rows = jit::rows_kernel(s, b, *again);
        BOOST_TEST((rows && contains(rows->disassembly(), "__global__")));
        ++tile_groups;
      }
    ++programs;
  }
  BOOST_TEST(programs >= 9);
  BOOST_TEST(tile_groups >= 1);
  cache::clear();
  const Override verify("LAZY_CACHE_VERIFY", "1");
  const uint64_t loaded = metrics().kernels_loaded;
  BOOST_TEST((everything() == first));
  BOOST_TEST(metrics().kernels_loaded > loaded);
}

BOOST_AUTO_TEST_CASE(another_architecture_has_programs_of_its_own) {
  everything();
  const auto other = cuda_backend::make_cross_compiler(gpu().architecture == 80 ? 90 : 80);
  for (const auto& [key, value] : records()) {
    jit::StoredProgram s;
    std::string why;
    BOOST_REQUIRE(jit::take_apart(key, value, s, why));
    BOOST_TEST(s.target != other->target());
    BOOST_TEST(!jit::recompiles_alike(s, *other, why));
    BOOST_TEST(contains(why, "it is for "), why);
  }
}

BOOST_AUTO_TEST_CASE(code_that_makes_no_sense_is_not_loaded) {
  everything();
  for (const auto& [key, value] : records()) {
    jit::StoredProgram s;
    std::string why;
    BOOST_REQUIRE(jit::take_apart(key, value, s, why));
    for (const jit::StoredKernel& k : s.kernels) {
      const auto loop = jit::loop::from_identity(k.identity);
      BOOST_REQUIRE(loop.has_value());
      const auto compiler = cuda_backend::make_cross_compiler(gpu().architecture);
      if (s.target != compiler->target()) continue;
      BOOST_TEST((compiler->load(*loop, k.stored) != nullptr));
      BOOST_TEST((compiler->load(*loop, "") == nullptr));
      BOOST_TEST((compiler->load(*loop, std::string_view(k.stored).substr(0, 5)) == nullptr));
      BOOST_TEST((compiler->load(*loop, std::string(64, '\xff')) == nullptr));
    }
  }
}

#ifdef LAZY_VICTIM
namespace {
/// Returns the output of a process that stores its programs in the folder.
std::string said(const std::vector<std::string>& command, const Folder& in, const Environment& more = {}) {
  return said_by(command, with(cached_in(in / "p"), more));
}
const Environment on_gpu{{"LAZY_DEVICE", "cuda"}};
}  // namespace

BOOST_AUTO_TEST_CASE(the_next_process_compiles_nothing) {
  const std::string first = said({LAZY_VICTIM}, folder, on_gpu);
  BOOST_TEST(contains(first, " loaded 0"), first);
  const std::string second = said({LAZY_VICTIM}, folder, on_gpu);
  BOOST_TEST(contains(second, "compiled 0 loaded "), second);
}

BOOST_AUTO_TEST_CASE(a_machine_without_a_gpu_compiles_ahead) {
  const std::string arch = "sm_" + std::to_string(gpu().architecture);
  const std::string ahead = said({LAZY_VICTIM}, folder, {{"LAZY_CUDA_ARCHS", arch}, {"LAZY_DEVICE", "cpu"}});
  BOOST_TEST(!contains(ahead, "compiled 0"), ahead);
  const std::string there = said({LAZY_VICTIM}, folder, on_gpu);
  BOOST_TEST(contains(there, "compiled 0 loaded "), there);
  const std::string here = said({LAZY_VICTIM}, folder, {{"LAZY_DEVICE", "cpu"}});
  BOOST_TEST(contains(here, "compiled 0 loaded "), here);
}

BOOST_AUTO_TEST_CASE(damaged_records_are_compiled_again) {
  said({LAZY_VICTIM}, folder, on_gpu);
  for (const std::string& pack : folder.files(".pack", "p")) {
    std::fstream f(folder / ("p/" + pack), std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(0, std::ios::end);
    const auto size = static_cast<int64_t>(f.tellg());
    for (int64_t at = 600; at < size; at += 30'000) {
      f.seekp(at);
      f.write("damage", 6);
    }
  }
  const std::string again = said({LAZY_VICTIM}, folder, on_gpu);
  BOOST_TEST(!contains(again, "compiled 0"), again);
}

BOOST_AUTO_TEST_CASE(the_tool_reads_them) {
  said({LAZY_VICTIM}, folder, on_gpu);
  const std::string target = "cuda-sm_" + std::to_string(gpu().architecture);
  const std::string listed = said({LAZY_CACHE_TOOL, "ls"}, folder);
  const size_t at = listed.find("\n");
  BOOST_REQUIRE(contains(listed, target));
  const std::string key = listed.substr(at + 1, 16);
  const std::string shown = said({LAZY_CACHE_TOOL, "show", key}, folder);
  for (const char* part : {"\ntrace\n  v0 = ", "\nguards", "\nsteps\n  0: kernel 0", "\nkernel 0\n",
                           "extern \"C\" __global__", " registers, "})
    BOOST_TEST(contains(shown, part), part);
  const std::string checked = said({LAZY_CACHE_TOOL, "verify", "--recompile"}, folder);
  BOOST_TEST(contains(checked, " records good and recompiled alike, 0 damaged"), checked);
  said({LAZY_CACHE_TOOL, "export", folder / "file"}, folder);
  const Folder other;
  const std::string imported = said({LAZY_CACHE_TOOL, "import", folder / "file"}, other);
  BOOST_TEST(contains(imported, "compiled again and found alike"), imported);
  BOOST_TEST(contains(said({LAZY_VICTIM}, other, on_gpu), "compiled 0 loaded "));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
