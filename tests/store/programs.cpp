// Tests programs on disk: a loaded program is the one that was compiled, and nonsense is rejected.
#include <boost/test/unit_test.hpp>
#include <random>

#include "jit/backend/registry.hpp"
#include "jit/compile/disk.hpp"
#include "lazy/lazy.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/fresh.hpp"
#include "tests/common/program_cache.hpp"

using namespace lazy;
using config::Override;
using test::ProgramCache;
using test::records;

namespace {

Tensor counted(const Shape& shape) {
  std::vector<float> v(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 23) / 7 - 1;
  return from_span<float>(v, shape);
}

/// Runs programs of every kind of step: maps, reductions, scans, products, updates, tile groups, rolled
/// loops, products of integers.
std::vector<std::vector<double>> everything() {
  std::vector<std::vector<double>> results;
  const auto keep = [&](const Tensor& t) { results.push_back(astype(t, float64).to_vector<double>()); };
  Tensor x = counted({6, 50});
  keep(tanh(x * 2 + 1));
  keep(x.T() + counted({50, 6}));
  keep(exp(x - max(x, {-1}, keepdims)) / sum(exp(x - max(x, {-1}, keepdims)), {-1}, keepdims));
  keep(cumsum(x, 0));
  keep(argmax(x, 1));
  keep(matmul(x, counted({50, 20})) + 1);
  keep(matmul(astype(x * 9, int8), astype(counted({50, 20}) * 9, int8), int32));
  keep(matmul(astype(x, bfloat16), astype(counted({50, 20}), bfloat16)));
  keep(scaled_dot_product_attention(counted({2, 40, 16}), counted({2, 40, 16}), counted({2, 40, 16})));
  keep(conv2d(counted({1, 3, 9, 9}), counted({4, 3, 3, 3})));
  Tensor u = counted({30});
  u(slice(1, 29)) = u(slice(2, 30)) * 0.5f;
  u(slice(none, none, 3)) += 1;
  keep(u);
  Tensor z = counted({40});
  for (int i = 0; i < 60; ++i) z = z * z * 0.3f + 0.1f;
  keep(z);
  keep(einsum("ij,kj->ik", x, x));
  {
    const Override never("LAZY_DYNAMIC", "never");
    for (int64_t n = 3; n < 6; ++n) keep(sin(counted({n})) * 2);
  }
  keep(where(x > 0, sqrt(abs(x)), x));
  return results;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(programs)

// Another source may record the same graph: a program on disk contains no lines.
BOOST_AUTO_TEST_CASE(loaded_ones_go_by_the_lines_of_who_runs_them) {
  const ProgramCache c;
  const Tensor x = counted({40});
  const auto texts = [] {
    std::string all;
    for (const auto& p : cache::programs())
      for (const std::string& t : p.kernel_texts) all += t + "\n";
    return all;
  };
  tanh(x * 2 + 1).eval();
  const int first = __LINE__ - 1;
  BOOST_TEST(texts().find("programs.cpp_" + std::to_string(first)) != std::string::npos, texts());
  for (const auto& [key, value] : records()) BOOST_TEST(value.find("programs.cpp") == std::string::npos);
  cache::clear();
  reset_metrics();
  tanh(x * 2 + 1).eval();
  const int second = __LINE__ - 1;
  BOOST_TEST(metrics().kernels_compiled == 0u);
  BOOST_TEST(texts().find("map_tanh_programs.cpp_" + std::to_string(second) + ": 3 ops") != std::string::npos,
             texts());
  cache::clear();
  cache::warmup();  // before anybody needs them
  BOOST_TEST(texts().find("map_tanh: 3 ops") != std::string::npos, texts());
}

BOOST_AUTO_TEST_CASE(loaded_ones_give_the_same_bits) {
  if (jit::backends().main->target().empty()) return;  // the reference stores nothing
  const ProgramCache cached;
  const auto first = everything();
  cache::clear();
  const Metrics before = metrics();
  BOOST_TEST((everything() == first));
  const Metrics after = metrics();
  BOOST_TEST(after.kernels_compiled == before.kernels_compiled);
  BOOST_TEST(after.kernels_loaded > before.kernels_loaded);
  BOOST_TEST(after.disk_hits > before.disk_hits);
  BOOST_TEST(after.disk_misses == before.disk_misses);
  // Loads all at once, ahead.
  cache::clear();
  BOOST_TEST(cache::warmup() > 15u);
  const uint64_t hits = metrics().disk_hits;
  BOOST_TEST((everything() == first));
  BOOST_TEST(metrics().disk_hits == hits);
  BOOST_TEST(metrics().kernels_compiled == before.kernels_compiled);
  // Compiles again and compares.
  cache::clear();
  const Override verify("LAZY_CACHE_VERIFY", "1");
  BOOST_TEST((everything() == first));
  BOOST_TEST(metrics().kernels_loaded > after.kernels_loaded);
  for (const auto& [key, value] : records()) {
    jit::StoredProgram s;
    std::string why;
    if (key.starts_with("machine")) continue;
    BOOST_TEST(jit::take_apart(key, value, s, why), why);
    BOOST_TEST(jit::recompiles_alike(s, *jit::backends().main, why), why);
  }
}

BOOST_AUTO_TEST_CASE(settings_have_programs_of_their_own) {
  if (jit::backends().main->target().empty()) return;
  const ProgramCache cached;
  const auto run = [] {
    cache::clear();
    const uint64_t before = metrics().kernels_compiled;
    (counted({100}) * counted({100}) + 1).eval();
    return metrics().kernels_compiled - before;
  };
  BOOST_TEST(run() > 0u);
  BOOST_TEST(run() == 0u);
  {
    const Override contract("LAZY_FP_CONTRACT", "1");
    BOOST_TEST(run() > 0u);
    BOOST_TEST(run() == 0u);
  }
  {
    const Override off("LAZY_CACHE", "off");
    BOOST_TEST(run() > 0u);
  }
  {
    const Override dump("LAZY_DUMP_DIR", cached.folder / "dumps");
    BOOST_TEST(run() > 0u);  // dumps need compiling
  }
  BOOST_TEST(run() == 0u);
}

// Bytes with a right checksum that no compiler wrote are parsed without harm, and what is accepted makes
// sense.
BOOST_AUTO_TEST_CASE(nonsense_is_turned_down) {
  if (jit::backends().main->target().empty()) return;
  const uint64_t seed = test::asked_seed();
  const auto cases = static_cast<int>(test::asked_cases(20000));
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed << " LAZY_TEST_CASES=" << cases);
  const ProgramCache cached;
  everything();
  const auto all = records();
  BOOST_REQUIRE(all.size() > 15u);
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int turned_down = 0;
  for (int i = 0; i < cases; ++i) {
    auto [key, value] = all[below(all.size())];
    if (key.starts_with("machine")) continue;
    std::string& changed = below(8) == 0 ? key : value;
    switch (below(4)) {
      case 0: changed[below(changed.size())] ^= static_cast<char>(1 << below(8)); break;
      case 1: changed.resize(below(changed.size())); break;
      case 2:
        changed.insert(below(changed.size()), std::string(1 + below(9), static_cast<char>(random())));
        break;
      default: changed[below(changed.size())] = static_cast<char>(0xff);
    }
    if (below(16) == 0) value = all[below(all.size())].second;  // another key's value
    jit::StoredProgram s;
    std::string why;
    if (!jit::take_apart(key, value, s, why)) {
      BOOST_TEST(!why.empty());
      ++turned_down;
      continue;
    }
    for (const jit::StoredKernel& k : s.kernels)
      if (const auto loop = jit::loop::from_identity(k.identity)) {
        try {
          jit::loop::check(*loop);
        } catch (const CompileError&) {}
      }
  }
  BOOST_TEST(turned_down > cases / 10);
}

// A line that compiles one program after another, each for one run, keeps no more of them; another line does.
BOOST_AUTO_TEST_CASE(programs_in_vain_are_not_kept) {
  const ProgramCache cache;
  const Tensor x = counted({8});
  const uint64_t before = metrics().disk_writes;
  const auto sum_of = [&](int terms, int kind) {
    Tensor y = x;
    for (int i = 0; i < terms; ++i) y = kind == 0 ? y + x : y * x;
    return y;
  };
  const std::string text = fresh::standard_error_of([&] {
    for (int i = 1; i <= 60; ++i) sum_of(i, 0).eval();
  });
  BOOST_TEST(fresh::contains(text, "grows each time"), text);
  const uint64_t kept = metrics().disk_writes - before;
  BOOST_TEST(kept >= 30u);
  BOOST_TEST(kept < 40u);
  sum_of(7, 1).eval();
  BOOST_TEST(metrics().disk_writes - before == kept + 1);
}

BOOST_AUTO_TEST_SUITE_END()
