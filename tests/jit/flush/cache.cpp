// Tests the cache of programs: never a wrong hit, bounded, filled once.
#include <barrier>
#include <thread>

#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;
using fresh::Probe;

namespace {

// Computes a different graph for each number below 512.
float walk(int number, float x) {
  for (int bit = 0; bit < 9; ++bit) x = number >> bit & 1 ? x + 1 : x * 2;
  return x;
}
Tensor walk(int number, Tensor x) {
  for (int bit = 0; bit < 9; ++bit) x = number >> bit & 1 ? x + 1 : x * 2;
  return x;
}

void all_right(int count) {
  const Tensor x = numbers({3});
  for (int i = 0; i < count; ++i) {
    const std::vector<float> y = walk(i, x).to_vector<float>();
    for (int k = 0; k < 3; ++k)
      BOOST_REQUIRE_EQUAL(y[static_cast<size_t>(k)], walk(i, static_cast<float>(k + 1)));
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(program_cache, fresh::Fixture)

BOOST_AUTO_TEST_CASE(hashes_of_4_bits_never_give_a_wrong_program) {
  const Override bits("LAZY_CACHE_HASH_BITS", "4");
  cache::clear();
  all_right(400);
  BOOST_TEST(jit::program_cache_stats().collisions > 300u);
  const uint64_t compiled = metrics().program_misses;
  all_right(400);
  BOOST_TEST(metrics().program_misses == compiled);
  cache::clear();
}

BOOST_AUTO_TEST_CASE(the_number_of_entries_is_bounded) {
  cache::set_limits(10, 256u << 20);
  all_right(100);
  BOOST_TEST(cache::stats().entries == 10u);
  BOOST_TEST(metrics().programs_evicted >= 90u);
  all_right(100);  // none of them is left when it is needed again
  BOOST_TEST(cache::stats().entries == 10u);
}

BOOST_AUTO_TEST_CASE(the_last_used_stay) {
  cache::set_limits(10, 256u << 20);
  const Tensor x = numbers({3});
  walk(0, x).eval();
  for (int i = 1; i < 40; ++i) {
    walk(i, x).eval();
    const uint64_t before = metrics().program_misses;
    walk(0, x).eval();
    BOOST_TEST(metrics().program_misses == before);
  }
}

BOOST_AUTO_TEST_CASE(bytes_are_bounded) {
  cache::set_limits(4096, 20000);
  all_right(200);
  BOOST_TEST(cache::stats().bytes <= 20000u);
  BOOST_TEST(cache::stats().entries > 0u);
  BOOST_TEST(metrics().programs_evicted > 0u);
  all_right(200);
}

BOOST_AUTO_TEST_CASE(no_room_at_all_still_computes) {
  cache::set_limits(0, 0);
  all_right(20);
  BOOST_TEST(cache::stats().entries == 0u);
}

BOOST_AUTO_TEST_CASE(clearing_forgets_everything) {
  all_right(5);
  const uint64_t kernels = metrics().kernels_compiled;
  all_right(5);
  BOOST_TEST(metrics().kernels_compiled == kernels);
  cache::clear();
  BOOST_TEST(cache::stats().entries == 0u);
  all_right(5);
  BOOST_TEST(metrics().kernels_compiled == 2 * kernels);
}

BOOST_AUTO_TEST_CASE(threads_that_miss_at_once_compile_once) {
  const Probe::Hooks hooks;
  Probe& probe = Probe::instance();
  std::vector<Tensor> inputs;
  for (int64_t i = 0; i < 8; ++i) inputs.push_back(numbers({10 + i}));
  cache::clear();
  reset_metrics();
  std::atomic<int> compiles{0};
  probe.on_compile = [&](jit::loop::LoopKernel&) {
    ++compiles;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  std::barrier start(8);
  std::vector<std::thread> threads;
  std::vector<float> last(8);
  for (size_t i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const Tensor y = inputs[i] * 3 + 1;
      start.arrive_and_wait();
      last[i] = y.to_vector<float>().back();
    });
  for (auto& t : threads) t.join();
  for (size_t i = 0; i < 8; ++i) BOOST_TEST(last[i] == static_cast<float>(3 * (10 + i) + 1));
  BOOST_TEST(compiles == 1);
  BOOST_TEST(metrics().kernels_compiled == 1u);
  BOOST_TEST(metrics().program_misses == 1u);
  BOOST_TEST(metrics().program_hits == 7u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(dynamic, fresh::Fixture)

namespace {
void grow(int64_t from, int64_t to) {
  for (int64_t n = from; n < to; ++n) {
    const Tensor x = numbers({n});
    BOOST_TEST((x * 2 + x).to_vector<float>().back() == static_cast<float>(3 * n));
  }
}
uint64_t programs_for(const char* dynamic) {
  const Override how("LAZY_DYNAMIC", dynamic);
  const Tensor one = numbers({2});  // what numbers() itself needs is compiled now
  std::vector<Tensor> inputs;
  for (int64_t n = 2; n < 7; ++n) inputs.push_back(numbers({n}));
  const uint64_t before = metrics().program_misses;
  for (const Tensor& x : inputs) (x * 2 - x).eval();
  return metrics().program_misses - before;
}
}  // namespace

BOOST_AUTO_TEST_CASE(always_and_auto_compile_once_and_never_per_shape) {
  BOOST_TEST(programs_for("always") == 1u);
  BOOST_TEST(programs_for("auto") == 1u);
  BOOST_TEST(programs_for("never") == 5u);
}

BOOST_AUTO_TEST_CASE(the_recompile_limit_warns_once_and_the_general_program_serves_the_rest) {
  const Override how("LAZY_DYNAMIC", "never"), limit("LAZY_RECOMPILE_LIMIT", "3");
  std::vector<Tensor> inputs;
  for (int64_t n = 2; n < 20; ++n) inputs.push_back(numbers({n}));
  uint64_t compiled = 0;
  const std::string said = fresh::standard_error_of([&] {
    const uint64_t before = metrics().program_misses;
    for (const Tensor& x : inputs) BOOST_TEST((x * 2 / x).to_vector<float>().back() == 2);
    compiled = metrics().program_misses - before;
  });
  BOOST_TEST(compiled == 3u);
  BOOST_TEST(
      said ==
      "lazy: a graph needed 3 programs (LAZY_RECOMPILE_LIMIT=3): from now on its most general one runs\n");
  // This works for any layout, too.
  const Tensor strided = Tensor(inputs.back()(slice(none, none, -3)));
  const uint64_t before = metrics().program_misses;
  BOOST_TEST((strided * 2 / strided).to_vector<float>().back() == 2);
  BOOST_TEST(metrics().program_misses == before);
}

BOOST_AUTO_TEST_CASE(sizes_grow_without_recompiling) {
  grow(2, 4);
  const uint64_t before = metrics().program_misses;
  grow(4, 40);
  BOOST_TEST(metrics().program_misses == before);
}

BOOST_AUTO_TEST_SUITE_END()
