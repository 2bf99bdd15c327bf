// Memory for values: alignment, reuse, many threads.
#include "backends/cpu/allocator.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

using namespace lazy;

BOOST_AUTO_TEST_SUITE(cpu_allocator)

BOOST_AUTO_TEST_CASE(aligned_and_apart) {
  struct Block {
    char* p;
    size_t n;
  };
  std::vector<Block> all;
  std::vector<size_t> sizes{0,   1,    63,   64,   65,     80,     81,     96,      127,          128,
                            129, 4095, 4096, 5000, 100000, 262143, 262145, 1 << 20, (2 << 20) + 1};
  for (int round = 0; round < 3; ++round)
    for (size_t n : sizes) {
      auto* p = static_cast<char*>(cpu_backend::allocate(n));
      BOOST_REQUIRE(p);
      BOOST_CHECK_EQUAL(reinterpret_cast<uintptr_t>(p) % 64, 0u);
      std::memset(p, static_cast<int>(all.size()), n);
      all.push_back({p, n});
    }
  for (size_t i = 0; i < all.size(); ++i)
    BOOST_CHECK(std::all_of(all[i].p, all[i].p + all[i].n,
                            [i](char c) { return static_cast<unsigned char>(c) == i; }));
  for (const Block& b : all) cpu_backend::deallocate(b.p, b.n);
}

BOOST_AUTO_TEST_CASE(a_steady_state_asks_for_nothing) {
  const std::vector<size_t> sizes{16, 1000, 40000, 400000, 5 << 20};
  const auto round = [&] {
    std::vector<void*> p;
    for (size_t n : sizes) p.push_back(cpu_backend::allocate(n));
    for (size_t i = 0; i < p.size(); ++i) cpu_backend::deallocate(p[i], sizes[i]);
  };
  round();
  const size_t before = cpu_backend::allocator_stats().system_requests;
  for (int i = 0; i < 100; ++i) round();
  BOOST_CHECK_EQUAL(cpu_backend::allocator_stats().system_requests, before);
  BOOST_CHECK(cpu_backend::allocator_stats().kept_bytes >= 5 << 20);
  cpu_backend::release_kept_memory();
  BOOST_CHECK(cpu_backend::allocator_stats().kept_bytes < 1 << 20);
}

BOOST_AUTO_TEST_CASE(blocks_wander_between_threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([t] {
      std::mt19937 g(static_cast<unsigned>(t));
      std::vector<std::pair<void*, size_t>> mine;
      for (int i = 0; i < 20000; ++i) {
        if (mine.size() < 50 && g() % 3) {
          const size_t n = g() % (i % 100 ? 3000 : 600000);
          auto* p = static_cast<unsigned char*>(cpu_backend::allocate(n));
          if (n) p[0] = p[n - 1] = static_cast<unsigned char>(t);
          mine.emplace_back(p, n);
        } else if (!mine.empty()) {
          const auto [p, n] = mine.back();
          mine.pop_back();
          if (n && (static_cast<unsigned char*>(p)[0] != t || static_cast<unsigned char*>(p)[n - 1] != t))
            std::abort();
          cpu_backend::deallocate(p, n);
        }
      }
      for (const auto& [p, n] : mine) cpu_backend::deallocate(p, n);
    });
  for (auto& t : threads) t.join();
  BOOST_CHECK(true);
}

BOOST_AUTO_TEST_SUITE_END()
