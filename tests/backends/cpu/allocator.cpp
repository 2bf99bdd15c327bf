// Tests memory for values: alignment, reuse, many threads.
#include "backends/cpu/memory/allocator.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "support/error.hpp"

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

namespace {

/// Allocates blocks of these sizes together, touches them and frees them; again and again.
void use(const std::vector<size_t>& sizes, int times = 1) {
  for (int t = 0; t < times; ++t) {
    std::vector<void*> p;
    for (const size_t n : sizes)
      std::memset(p.emplace_back(cpu_backend::allocate(n)), t, std::min<size_t>(n, 4096));
    for (size_t i = 0; i < p.size(); ++i) cpu_backend::deallocate(p[i], sizes[i]);
  }
}
size_t requests() { return cpu_backend::allocator_stats().system_requests; }
size_t kept() { return cpu_backend::allocator_stats().kept_bytes; }
constexpr size_t MiB = size_t{1} << 20;

}  // namespace

// Blocks of sizes that are not needed any more make room for those of others.
BOOST_AUTO_TEST_CASE(sizes_that_grow_leave_little_behind) {
  cpu_backend::release_kept_memory();
  const size_t before = cpu_backend::allocator_stats().held_bytes;
  for (size_t i = 1; i <= 40; ++i) use({i * 4 * MiB});
  BOOST_TEST(kept() <= 400 * MiB);  // twice the largest
  BOOST_TEST(cpu_backend::release_kept_memory() >= 160 * MiB);
  BOOST_TEST(kept() == 0u);
  BOOST_TEST(cpu_backend::allocator_stats().held_bytes <= before + MiB);
}

// Phases that use different sizes, more in all than is ever in use at once: after a few rounds all stay
// cached.
BOOST_AUTO_TEST_CASE(phases_of_a_loop_keep_their_blocks) {
  cpu_backend::release_kept_memory();
  const auto round = [] {
    for (size_t phase = 0; phase < 9; ++phase)
      use({(20 + 7 * phase) * MiB, (21 + 7 * phase) * MiB, 3000, 70000});
  };
  for (int i = 0; i < 20; ++i) round();
  const size_t before = requests();
  for (int i = 0; i < 50; ++i) round();
  BOOST_TEST(requests() == before);
  cpu_backend::release_kept_memory();
}

// A loop in which seconds pass keeps its blocks cached; blocks that it doesn't use return to the system.
BOOST_AUTO_TEST_CASE(what_is_idle_goes_back) {
  cpu_backend::release_kept_memory();
  use({200 * MiB, 3 * MiB, 100000});
  use({30 * MiB, 300000, 1000});
  const size_t before = requests();
  for (int second = 0; second < 30; ++second) {
    use({30 * MiB, 300000, 1000}, 5);
    cpu_backend::let_time_pass(1000);
  }
  BOOST_TEST(requests() == before);
  BOOST_TEST(kept() < 40 * MiB);
  // Small values alone are enough to notice the time.
  for (int second = 0; second < 15; ++second) {
    use({64}, 300);
    cpu_backend::let_time_pass(1000);
  }
  BOOST_TEST(kept() < MiB);
}

// Blocks that a thread caches for itself age, too, and serve others at its end.
BOOST_AUTO_TEST_CASE(threads_own_blocks) {
  cpu_backend::release_kept_memory();
  std::thread([] { use({200000, 200000, 200000, 64, 64, 4096}, 3); }).join();
  BOOST_TEST(kept() >= 600000u);
  const size_t before = requests();
  use({200000, 200000, 200000, 64, 64, 4096});
  BOOST_TEST(requests() == before);
  for (int second = 0; second < 15; ++second) {
    use({32}, 300);
    cpu_backend::let_time_pass(1000);
  }
  BOOST_TEST(kept() < 100000u);
}

BOOST_AUTO_TEST_CASE(impossible_sizes) {
  for (const size_t n : {size_t{1} << 49, size_t{1} << 62, ~size_t{0}, ~size_t{0} / 2})
    BOOST_CHECK_THROW(cpu_backend::allocate(n), DeviceError);
  BOOST_CHECK_THROW(cpu_backend::allocate(size_t{1} << 47), DeviceError);
}

BOOST_AUTO_TEST_SUITE_END()
