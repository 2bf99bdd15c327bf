// Tests executable memory: private, separate pages for each kernel, reused.
#include "backends/cpu/memory/code_pages.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/common/forked.hpp"

using namespace lazy::cpu_backend;
using lazy::test::good_in_child;

namespace {

/// Returns code of `bytes` bytes, at least 6, of a function that returns n.
std::string returns(uint32_t n, size_t bytes) {
  std::string code("\xb8\0\0\0\0\xc3", 6);  // mov eax, n; ret
  std::memcpy(code.data() + 1, &n, sizeof n);
  code.resize(std::max(bytes, code.size()), '\xcc');
  return code;
}
uint32_t call(const char* at) { return reinterpret_cast<uint32_t (*)()>(const_cast<char*>(at))(); }

struct Added {
  const char* at;
  size_t bytes;
  uint32_t n;
};

/// Adds and removes code of all sizes; true if existing code never changes.
bool lives_through_changes(uint64_t seed, int rounds) {
  std::mt19937_64 random(seed);
  std::vector<Added> all;
  bool good = true;
  for (int i = 0; i < rounds; ++i) {
    if (!all.empty() && random() % 3 == 0) {
      const size_t k = random() % all.size();
      remove_code(all[k].at, all[k].bytes);
      all[k] = all.back();
      all.pop_back();
    } else {
      const size_t bytes = random() % 4 ? 6 + random() % 3000 : 6 + random() % 30000;
      const auto n = static_cast<uint32_t>(random());
      all.push_back({add_code(returns(n, bytes)), bytes, n});
      good &= reinterpret_cast<uintptr_t>(all.back().at) % 64 == 0;
    }
    if (i % 16 == 0)
      for (const Added& a : all) good &= call(a.at) == a.n;
  }
  for (const Added& a : all) {
    good &= call(a.at) == a.n && a.at[a.bytes - 1] == (a.bytes > 6 ? '\xcc' : '\xc3');
    remove_code(a.at, a.bytes);
  }
  return good;
}

size_t mapped_bytes() {
  std::ifstream in("/proc/self/statm");
  size_t pages = 0;
  in >> pages;
  return pages * 4096;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(code_pages)

BOOST_AUTO_TEST_CASE(code_comes_and_goes) { BOOST_TEST(lives_through_changes(1, 3000)); }

BOOST_AUTO_TEST_CASE(sizes_around_whole_pages) {
  for (const size_t bytes : {6u, 63u, 64u, 65u, 4032u, 4033u, 4095u, 4096u, 4097u, 8192u, 2000000u}) {
    const char* const at = add_code(returns(7, bytes));
    BOOST_TEST(call(at) == 7u);
    BOOST_TEST(std::string(at, bytes) == returns(7, bytes));
    remove_code(at, bytes);
  }
}

BOOST_AUTO_TEST_CASE(memory_is_used_again) {
  BOOST_TEST(lives_through_changes(2, 200));
  const size_t before = mapped_bytes();
  for (uint64_t i = 0; i < 20; ++i) BOOST_TEST(lives_through_changes(2, 200));
  BOOST_TEST(mapped_bytes() <= before + (size_t{4} << 20));
}

BOOST_AUTO_TEST_CASE(threads_run_code_while_others_add_and_remove) {
  const char* const at = add_code(returns(5, 100));
  std::atomic<bool> over{false}, good{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!over)
        if (call(at) != 5) good = false;
    });
  for (uint64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      if (!lives_through_changes(t, 1500)) good = false;
    });
  for (size_t t = 2; t < threads.size(); ++t) threads[t].join();
  over = true;
  for (size_t t = 0; t < 2; ++t) threads[t].join();
  BOOST_TEST(good.load());
  remove_code(at, 100);
}

BOOST_AUTO_TEST_CASE(a_child_has_its_own) {
  const char* const old = add_code(returns(1, 100));
  BOOST_TEST(good_in_child([&] {
    const char* const mine = add_code(returns(2, 100));
    remove_code(old, 100);
    return call(mine) == 2 && lives_through_changes(3, 500);
  }));
  const char* const mine = add_code(returns(3, 100));
  BOOST_TEST(call(old) == 1u);
  BOOST_TEST(call(mine) == 3u);
  remove_code(mine, 100);
  remove_code(old, 100);
}

// A system that lets no memory become executable still lets files be mapped.
BOOST_AUTO_TEST_CASE(where_memory_may_not_become_executable) {
  constexpr int kSetMdwe = 65;
  constexpr unsigned long kRefuseExecGain = 1;
  const auto forbid = [] { return ::prctl(kSetMdwe, kRefuseExecGain, 0L, 0L, 0L) == 0; };
  if (!good_in_child(forbid)) return;  // this system can't forbid it
  BOOST_TEST(good_in_child([&] { return forbid() && lives_through_changes(4, 300); }));
  BOOST_TEST(good_in_child([&] {
    const char* const before = add_code(returns(9, 50));
    const bool good = forbid() && lives_through_changes(5, 300) && call(before) == 9;
    remove_code(before, 50);
    return good && lives_through_changes(6, 100);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
